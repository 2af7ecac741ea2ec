import type { Clock } from '../../base/async/clock.ts'
import { inParallel } from '../../base/async/parallel.ts'
import { resultWithin } from '../../base/async/wait-at-most.ts'
import { countOf } from '../../base/text/plural.ts'
import { isSyncErrorCode, mendOf, SyncError } from '../../sync/model/sync-error.ts'
import type { Environment } from '../config/environment.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import type { CheckName } from './check-names.ts'
import { fixOfCheck } from './check-names.ts'
import { paintFor } from './colors.ts'
import type { Paint } from './colors.ts'
import { printJson, printLines } from './command.ts'
import type { Context, ExitStatus } from './command.ts'
import type { AskedParty, CommandFeatures } from './feature.ts'

/** One result of a check: of `doctor`, `doctor --connect`, `verify` and `hub enroll --check`. */
export interface CheckResult {
  readonly check: CheckName
  /** The part of the machine, the configuration or the store that it concerns. */
  readonly subject?: string
  readonly verdict: CheckVerdict
  readonly message: string
  /** A remedy for the operator; present unless all is well. */
  readonly fix?: string
}

/** `warn`: it works, but may fail later. `fail`: it does not work. `unknown`: the check could not find out. */
export type CheckVerdict = 'ok' | 'warn' | 'fail' | 'unknown'

/** One check. An error that it throws is its result. */
export interface Check {
  readonly name: CheckName
  readonly subject?: string
  look(signal: AbortSignal): Promise<readonly CheckResult[]>
}

/** The input of the checks of this machine. They change nothing permanently. */
export interface Ground<Whole extends ServedConfig = ServedConfig> {
  /** The configuration with the sources to check. */
  readonly config: Whole
  /** The configuration with all its sources: the one of a running daemon. */
  readonly whole: Whole
  /** True if the file cannot be used: the configuration has no sources then. */
  readonly isUnusable?: boolean
  readonly environment: Environment
  /** Gets every secret that is read, before any output. */
  readonly redactor: Redactor
  readonly clock: Clock
  /** The programs and addresses that keys of features name. */
  readonly asked: readonly AskedParty[]
  readonly features: CommandFeatures<Whole>
}

/** The possible results of one check on one subject. Without a fix of its own, a result has that of its check. */
export type CheckVerdicts = Readonly<Record<CheckVerdict, (message: string, fix?: string) => CheckResult>>

export function verdicts(check: CheckName, subject?: string): CheckVerdicts {
  const about = { check, ...(subject !== undefined && subject !== '' && { subject }) }
  const bad =
    (verdict: CheckVerdict) =>
    (message: string, fix: string = fixOf(check)): CheckResult => ({ ...about, verdict, message, fix })
  return {
    ok: (message) => ({ ...about, verdict: 'ok', message }),
    warn: bad('warn'),
    fail: bad('fail'),
    unknown: bad('unknown'),
  }
}

function fixOf(check: CheckName): string {
  return fixOfCheck(check) ?? (isSyncErrorCode(check) ? mendOf({ code: check }) : 'The message names the cause')
}

/** The result for an error that a check met; an unexpected one is thrown again. */
export function failedCheck(error: unknown, subject?: string, check?: CheckName): CheckResult {
  const about = subject === undefined ? undefined : { source: subject }
  if (error instanceof SyncError)
    return verdicts(check ?? error.code, subject).fail(error.message, mendOf(error, about))
  if (error instanceof OperatorError) return verdicts(check ?? error.code, subject).fail(error.message, error.fix)
  throw error
}

/** The number of checks at once, and the time for each. Each source can add a host, so hundreds of them take turns. */
const BOUNDS = { atOnce: 64, mostMs: 10_000 }

/** Runs all checks in parallel, in bounded time. The failure or duration of one does not affect another. */
export async function runChecks(
  checks: readonly Check[],
  clock: Pick<Clock, 'wait'>,
  signal: AbortSignal,
  { atOnce, mostMs }: { readonly atOnce: number; readonly mostMs: number | undefined } = BOUNDS,
): Promise<readonly CheckResult[]> {
  const found = new Map<Check, readonly CheckResult[]>()
  const run = async (check: Check): Promise<void> => void found.set(check, await runCheck(check, mostMs, clock, signal))
  await inParallel(checks, atOnce, run, signal)
  return checks.flatMap((check) => found.get(check) ?? [])
}

async function runCheck(
  check: Check,
  mostMs: number | undefined,
  clock: Pick<Clock, 'wait'>,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const { name, subject } = check
  const over = new AbortController()
  const limited = AbortSignal.any([signal, over.signal])
  try {
    if (mostMs === undefined) return await check.look(limited)
    // Resolvers and connections time out by themselves only after minutes.
    const late = `no answer within ${mostMs / 1000} s`
    const fix = 'Try again; if it stays, a disk or the network does not answer'
    return (await resultWithin(mostMs, check.look(limited), clock, signal)) ?? [verdicts(name, subject).fail(late, fix)]
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SyncError || error instanceof OperatorError) return [failedCheck(error, subject, name)]
    const why = error instanceof Error ? error.message : String(error)
    return [verdicts(name, subject).unknown(`this check failed to run: ${why}`, 'The message names the cause')]
  } finally {
    over.abort()
  }
}

/** The results as data, with their counts: the same members for every command that checks. */
export function checksJson(all: readonly CheckResult[]): object {
  const counts = countsOf(all)
  return { ok: counts.fail === 0, counts, checks: all }
}

/** Prints the results, with `about` in JSON, and `what` before the sum of the text. Returns the exit status. */
export function printChecks(
  context: Context,
  all: readonly CheckResult[],
  { what = countOf(all.length, 'check'), more = [], end = '', about = {} }: Conclusion = {},
): ExitStatus {
  const { fail, warn, unknown } = countsOf(all)
  if (context.json) printJson(context, { ...about, ...checksJson(all) })
  else {
    const shown = context.quiet ? all.filter(({ verdict }) => verdict !== 'ok') : all
    const sums = [countOf(fail, 'fault'), countOf(warn, 'warning'), `${unknown} not known`]
    const sum = [fail, warn, unknown].some((count) => count > 0)
      ? sums.filter((_, index) => index < 2 || unknown > 0).join(', ')
      : 'nothing found'
    printLines(context, [...checkLines(shown, paintFor(context)), ...more, `${what}: ${sum}${end}`])
  }
  return fail > 0 || (context.values['strict'] === true && warn + unknown > 0) ? 3 : 0
}

export interface Conclusion {
  readonly what?: string
  /** Lines between the results and the sum. */
  readonly more?: readonly string[]
  /** The end of the sum. */
  readonly end?: string
  /** Members of the JSON before the results. */
  readonly about?: object
}

function countsOf(all: readonly CheckResult[]): Readonly<Record<CheckVerdict, number>> {
  const count = (wanted: CheckVerdict): number => all.filter(({ verdict }) => verdict === wanted).length
  return { ok: count('ok'), warn: count('warn'), fail: count('fail'), unknown: count('unknown') }
}

const SIGNS = {
  ok: ['ok', 'green'],
  warn: ['warn', 'yellow'],
  fail: ['fail', 'red'],
  unknown: ['?', 'yellow'],
} as const

/** The results as lines, each with its verdict first. */
export function checkLines(all: readonly CheckResult[], paint: Paint): readonly string[] {
  return all.flatMap(({ check, verdict, subject, message, fix }) => {
    const [sign, colour] = SIGNS[verdict]
    const about = subject === undefined ? check : `${check} ${printableLine(subject)}`
    const [first = '', ...rest] = message.split('\n').map(printableLine)
    return [
      `${paint(colour, sign.padEnd(4))}  ${about}: ${first}`,
      ...rest.map((line) => `        ${line}`),
      ...(fix === undefined ? [] : [`        → ${printableLine(fix)}`]),
    ]
  })
}
