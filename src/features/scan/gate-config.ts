import { z } from 'zod'
import { isObject } from '../../base/json-object.ts'
import type { FixedAccess, ProgramValue } from '../../daemon/config/auth.ts'
import { authMisuse } from '../../daemon/config/rules/auth-rules.ts'
import type { Fault } from '../../daemon/config/rules/config-error.ts'
import { valueAt } from '../../daemon/config/rules/entries.ts'
import { duration, later, line, mapping, path, times, webUrl } from '../../daemon/config/schema/scalars.ts'
import {
  AUTH,
  fixedAccessOf,
  oneOf,
  PROGRAM,
  programOf,
  programValuesOf,
  referenceOf,
} from '../../daemon/config/sections/access.ts'
import type { Absolute } from '../../daemon/config/sections/access.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'
import type { Schedule } from '../../sync/model/source.ts'
import { isKnownScanner, SCANNER_NAMES, SCANNER_PRESETS } from './scanner-presets.ts'
import type { ScannerName } from './scanner-presets.ts'

const SCAN_LEVEL = z.enum(['error', 'warning', 'note', 'never']).optional()

const SARIF = mapping(() => ({
  refuse: SCAN_LEVEL.describe('The least level of a result that refuses the commit. Default: error.'),
  hold: SCAN_LEVEL.describe('The least level of a result for which the commit waits. Default: warning.'),
}))

const RESCAN = mapping(() => ({
  every: times({ least: '1m', most: '365d' })
    .optional()
    .describe('The time between two scans of everything, or their times as a cron expression.'),
  on_finding: z
    .enum(['withhold', 'alert'])
    .optional()
    .describe(
      'A served skill with a result of level `sarif.refuse`: it goes out of service, or is only reported. Default: withhold.',
    ),
  most_withheld: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'The percentage of the skills that scans may take out of service; above it, an operator decides. Default: 10.',
    ),
}))

/** The credentials that are for git hosts alone are left out. */
const GATE_AUTH = later(() => {
  const { token, basic, header } = AUTH.unwrap().shape
  return z.strictObject({ token, basic, header }).refine(...oneOf('token', 'basic', 'header'))
})

const GATE = later(() =>
  z
    .strictObject({
      ...PROGRAM,
      command: PROGRAM.command.optional(),
      scanner: z
        .enum(SCANNER_NAMES)
        .optional()
        .describe(
          'A scanner, or `command` for any other one that writes SARIF. It runs for the folder of each new or changed skill; `args` are added to those that it needs.',
        ),
      sarif: SARIF.optional().describe('The levels of results. Without `scanner`, the command writes SARIF.'),
      rules: z
        .array(path())
        .max(100)
        .optional()
        .describe(
          'The files and folders with its rules, for `semgrep` each a `--config`. A change in them ends the use of earlier scans.',
        ),
      version_args: z
        .array(line())
        .min(1)
        .max(100)
        .optional()
        .describe('The arguments with which it prints its version. Another output ends the use of earlier scans.'),
      rescan: RESCAN.optional().describe('Scans all served skills again when the rules change, and at set times.'),
      url: webUrl().optional().describe('In place of `command`: the address that gets the candidate, as a POST.'),
      auth: GATE_AUTH.optional().describe('The credential for that address.'),
      timeout: duration().optional().describe('The time limit. Default: 10s.'),
      on_failure: z
        .enum(['refuse', 'publish'])
        .optional()
        .describe('The action if it gives no answer. Default: refuse.'),
    })
    .refine(
      ({ command, scanner, url }) =>
        url === undefined
          ? command !== undefined || isKnownScanner(scanner)
          : command === undefined && scanner === undefined,
      { error: 'needs exactly one of `command`, `url`, or a `scanner` that is known by name' },
    ),
)

/** The keys of the gate. */
export const GATE_KEYS = {
  gate: GATE.optional().describe('A program or an address that is asked before each new content is published.'),
}

/** The gate in the configuration. */
export interface GateSettings {
  readonly gate: GateConfig | undefined
}

/** The configuration, with the gate. */
export type GatedConfig = ServedConfig & GateSettings

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
  readonly env: Readonly<Record<string, ProgramValue>>
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

export interface GateAddress {
  readonly kind: 'address'
  readonly url: string
  readonly access: FixedAccess
}

type GateEntry = z.output<typeof GATE>

const TIMEOUT_MS = 10_000

/** The gate that the checked file configures. */
export function gateOf(entry: GateEntry, absolute: Absolute): GateConfig {
  return {
    asked: entry.url === undefined ? gateProgramOf(entry, absolute) : addressOf(entry.url, entry.auth, absolute),
    timeoutMs: entry.timeout ?? TIMEOUT_MS,
    onFailure: entry.on_failure ?? 'refuse',
  }
}

function gateProgramOf(entry: GateEntry, absolute: Absolute): GateProgram | GateScanner {
  const { scanner, sarif, args = [], env } = entry
  const preset = scanner === undefined ? undefined : SCANNER_PRESETS[scanner]
  const command = programOf(entry.command ?? preset?.command ?? '', absolute)
  const program = { command, args, env: programValuesOf(env, absolute) }
  if (scanner === undefined && sarif === undefined) return { kind: 'program', ...program }
  const rules = (entry.rules ?? []).map((path) => absolute(path))
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

function rescanOf({ every, on_finding, most_withheld }: NonNullable<GateEntry['rescan']>): RescanRules {
  return {
    schedule: every,
    onFinding: on_finding ?? 'withhold',
    mostWithheld: most_withheld ?? 10,
  }
}

function addressOf(url: string, auth: GateEntry['auth'], absolute: Absolute): GateAddress {
  const { token } = auth ?? {}
  const access: FixedAccess =
    token === undefined ? fixedAccessOf(auth, absolute) : { kind: 'bearer', token: referenceOf(token, absolute) }
  return { kind: 'address', url, access }
}

/** Finds keys that do not go together, and a credential that would be sent in clear. */
export function gateFaults(value: unknown): Fault[] {
  const gate = valueAt(value, 'gate')
  if (!isObject(gate)) return []
  const misplaced = (keys: readonly string[], partner: string): Fault[] =>
    keys
      .filter((key) => Object.hasOwn(gate, key))
      .map((key) => ({ path: ['gate', key], at: 'key', message: `goes with ${partner} alone` }))
  const isScanner = ['scanner', 'sarif', 'url'].some((key) => Object.hasOwn(gate, key))
  const faults = Object.hasOwn(gate, 'url')
    ? misplaced(['args', 'env', 'sarif', ...OF_SCANNERS], '`command`')
    : misplaced(['auth'], '`url`')
  if (!isScanner) faults.push(...misplaced(OF_SCANNERS, '`scanner` or `sarif`'))
  const misuse = Object.hasOwn(gate, 'auth') ? authMisuse(gate['url'], gate['auth'], undefined) : undefined
  return misuse === undefined ? faults : [...faults, { path: ['gate', 'auth'], at: 'key', message: misuse }]
}

/** The keys of a gate that only a scanner has. */
const OF_SCANNERS = ['rules', 'version_args', 'rescan'] as const
