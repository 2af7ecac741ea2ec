import { isAbsolute } from 'node:path'
import type { FixedAccess, SecretReference } from '../../daemon/config/auth.ts'
import type { ConfigFile } from '../../daemon/config/schema/schema.ts'
import type { Schedule } from '../../sync/model/source.ts'
import { SCANNER_PRESETS } from './scanner-presets.ts'
import type { ScannerName } from './scanner-presets.ts'

/** The gate that is queried before each publish. */
export interface GateConfig {
  readonly asked: GateProgram | GateScanner | GateAddress
  readonly timeoutMs: number
  /** The action if there is no answer. */
  readonly onFailure: 'refuse' | 'publish'
}

export interface GateProgram {
  readonly kind: 'program'
  /** A path, or a name that is looked up in PATH. */
  readonly command: string
  readonly args: readonly string[]
  /** The variables of its environment in addition to PATH and HOME. */
  readonly env: Readonly<Record<string, PlainValue | SecretReference>>
}

/** The least level of a result that counts. */
export type ScanLevel = 'error' | 'warning' | 'note' | 'never'

/** A program that scans one folder, and writes its results to its standard output. */
export interface GateScanner extends Omit<GateProgram, 'kind'> {
  readonly kind: 'scanner'
  readonly name: ScannerName
  /** The paths of its rules, absolute. */
  readonly rules: readonly string[]
  /** The arguments with which it prints its version; `undefined` if it has none. */
  readonly versionArgs: readonly string[] | undefined
  readonly rescan: RescanRules | undefined
  /** A result of this level, or a worse one, refuses the commit. */
  readonly refuse: ScanLevel
  /** A result of this level, or a worse one, holds the commit. */
  readonly hold: ScanLevel
}

/** When and how everything that is served is scanned again. */
export interface RescanRules {
  /** `undefined`: only when the rules of the scanner change. */
  readonly schedule: Schedule | undefined
  readonly onFinding: 'withhold' | 'alert'
  /** In percent of the served skills. */
  readonly mostWithheld: number
}

interface PlainValue {
  readonly kind: 'value'
  readonly value: string
}

export interface GateAddress {
  readonly kind: 'address'
  readonly url: string
  readonly access: GateAccess
}

/** A token without a user name is not a git credential: it is sent as a bearer token. */
export type GateAccess = FixedAccess | { readonly kind: 'bearer'; readonly token: SecretReference }

type GateEntry = NonNullable<ConfigFile['gate']>
type AuthEntry = NonNullable<GateEntry['auth']>
type SecretEntry = NonNullable<AuthEntry['token']>

/** The functions by which the rest of the configuration resolves an `auth` entry, a secret and a path. */
export interface Settling {
  readonly access: (auth: AuthEntry | undefined) => FixedAccess
  readonly reference: (entry: SecretEntry) => SecretReference
  readonly absolute: (path: string) => string
}

const TIMEOUT_MS = 10_000

/** The gate that the checked file configures. */
export function gateOf(entry: GateEntry, settling: Settling): GateConfig {
  return {
    asked: entry.url === undefined ? programOf(entry, settling) : addressOf(entry.url, entry.auth, settling),
    timeoutMs: entry.timeout ?? TIMEOUT_MS,
    onFailure: entry.on_failure ?? 'refuse',
  }
}

function programOf(entry: GateEntry, settling: Settling): GateProgram | GateScanner {
  const { scanner, sarif, args = [], env = {} } = entry
  const preset = scanner === undefined ? undefined : SCANNER_PRESETS[scanner]
  const command = entry.command ?? preset?.command ?? ''
  const isPath = isAbsolute(command) || command.includes('/')
  const values = Object.entries(env).map(([name, value]) => {
    return [
      name,
      'value' in value ? { kind: 'value' as const, value: value.value } : settling.reference(value),
    ] as const
  })
  const program = { command: isPath ? settling.absolute(command) : command, args, env: Object.fromEntries(values) }
  if (scanner === undefined && sarif === undefined) return { kind: 'program', ...program }
  const rules = (entry.rules ?? []).map((path) => settling.absolute(path))
  const ofRules = rules.flatMap((path) => preset?.argsOfRules(path) ?? [])
  return {
    kind: 'scanner',
    ...program,
    args: [...(preset?.args ?? []), ...ofRules, ...args],
    name: scanner ?? 'command',
    rules,
    versionArgs: entry.version_args ?? preset?.versionArgs,
    rescan: entry.rescan && rescanOf(entry.rescan),
    refuse: sarif?.refuse ?? 'error',
    hold: sarif?.hold ?? 'warning',
  }
}

function rescanOf({ schedule, every, on_finding, most_withheld }: NonNullable<GateEntry['rescan']>): RescanRules {
  return {
    schedule: scheduleIn(schedule, every),
    onFinding: on_finding ?? 'withhold',
    mostWithheld: most_withheld ?? 10,
  }
}

function scheduleIn(expression: string | undefined, periodMs: number | undefined): Schedule | undefined {
  if (expression !== undefined) return { kind: 'cron', expression }
  return periodMs === undefined ? undefined : { kind: 'every', periodMs }
}

function addressOf(url: string, auth: AuthEntry | undefined, { access, reference }: Settling): GateAddress {
  const bearer = auth?.token !== undefined && auth.username === undefined ? auth.token : undefined
  return {
    kind: 'address',
    url,
    access: bearer === undefined ? access(auth) : { kind: 'bearer', token: reference(bearer) },
  }
}
