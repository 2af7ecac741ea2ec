import type { Clock } from '../../../base/async/clock.ts'
import { inParallel } from '../../../base/async/parallel.ts'
import { SyncError, mendOf } from '../../../sync/model/sync-error.ts'
import { verdicts } from '../../cli/check.ts'
import type { DoctorCheck, CheckResult } from '../../cli/check.ts'

/** Runs all checks in parallel, in bounded time. The failure or duration of one does not affect another. */
export async function examine(
  checks: readonly DoctorCheck[],
  clock: Pick<Clock, 'wait'>,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const found = new Map<DoctorCheck, readonly CheckResult[]>()
  await inParallel(
    checks,
    AT_ONCE,
    async (check) => void found.set(check, await runCheck(check, clock, signal)),
    signal,
  )
  return checks.flatMap((check) => found.get(check) ?? [])
}

/** Each source can add a host, so hundreds of them are checked in turns. */
const AT_ONCE = 64

/** Resolvers and connections time out by themselves only after minutes. */
const MOST_MS = 10_000

async function runCheck(
  check: DoctorCheck,
  clock: Pick<Clock, 'wait'>,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const over = new AbortController()
  const limited = AbortSignal.any([signal, over.signal])
  const late = clock.wait(MOST_MS, limited).then(() => [noAnswer(check)])
  try {
    return await Promise.race([check.look(limited), late])
  } catch (error) {
    signal.throwIfAborted()
    return [failedCheck(check, error)]
  } finally {
    over.abort()
    // The rejection of the timer is irrelevant now.
    late.catch(() => {})
  }
}

function noAnswer({ name, subject }: DoctorCheck): CheckResult {
  const message = `no answer within ${MOST_MS / 1000} s`
  return verdicts(name, subject).fail(message, 'Try again; if it stays, a disk or the network does not answer')
}

function failedCheck({ name, subject }: DoctorCheck, error: unknown): CheckResult {
  const { fail } = verdicts(name, subject)
  if (error instanceof SyncError) return fail(error.message, mendOf(error))
  const why = error instanceof Error ? error.message : String(error)
  return fail(`this check failed to run: ${why}`, 'The message names the cause')
}
