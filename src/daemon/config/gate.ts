import { isAbsolute } from 'node:path'
import type { FixedAccess, SecretReference } from './auth.ts'
import type { ConfigFile } from './schema.ts'

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

/** A program that scans one folder, and writes a SARIF log to its standard output. */
export interface GateScanner extends Omit<GateProgram, 'kind'> {
  readonly kind: 'scanner'
  /** A result of this level, or a worse one, refuses the commit. */
  readonly refuse: ScanLevel
  /** A result of this level, or a worse one, holds the commit. */
  readonly hold: ScanLevel
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

function programOf(
  { command = '', args = [], env = {}, sarif }: GateEntry,
  settling: Settling,
): GateProgram | GateScanner {
  const isPath = isAbsolute(command) || command.includes('/')
  const values = Object.entries(env).map(([name, value]) => {
    return [
      name,
      'value' in value ? { kind: 'value' as const, value: value.value } : settling.reference(value),
    ] as const
  })
  const program = { command: isPath ? settling.absolute(command) : command, args, env: Object.fromEntries(values) }
  if (sarif === undefined) return { kind: 'program', ...program }
  return { kind: 'scanner', ...program, refuse: sarif.refuse ?? 'error', hold: sarif.hold ?? 'warning' }
}

function addressOf(url: string, auth: AuthEntry | undefined, { access, reference }: Settling): GateAddress {
  const bearer = auth?.token !== undefined && auth.username === undefined ? auth.token : undefined
  return {
    kind: 'address',
    url,
    access: bearer === undefined ? access(auth) : { kind: 'bearer', token: reference(bearer) },
  }
}
