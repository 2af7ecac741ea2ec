import { systemClock } from '../../../base/async/clock.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import type { Item, ItemProblem } from '../../../sync/model/item.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { isAwaitingDecision, isByChoice, isSyncErrorCode, SyncError } from '../../../sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../sync/model/sync-error.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import { failedCheck, verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import { expectNotRecalled } from '../../pull/trust/recalled-lock.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { lockOriginText } from '../../status/lock-text.ts'
import type { LockOriginStatus } from '../../status/status.ts'
import { statusNow } from '../show/status.ts'
import { lockAgrees } from '../verify/lock-checks.ts'
import { verifyingOf } from '../verify/verify-context.ts'

/** Tells all that `status` shows as needing a person, and each skill that is withheld or disabled. */
export function statusChecks(ground: Ground): Check[] {
  return ground.config.sources.length === 0
    ? []
    : [
        { name: 'status', look: async (signal) => statusChecked(ground, signal) },
        { name: 'lock', look: async (signal) => lockChecked(ground, signal) },
      ]
}

async function statusChecked(
  { config, whole, features }: Ground,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const ids = new Set<string>(config.sources.map(({ source }) => source.id))
  const status = await statusNow({ config: whole, features, signal }, ids).catch(unlessUnanswered)
  if (status === undefined) return []
  const now = { ...status, sources: status.sources.filter(({ id }) => ids.has(id)) }
  const itemsOf = await features.items()
  return [...itemsOf(now, systemClock.now()).flatMap(resultsOf), ...lockOriginResults(status.lock?.from)]
}

/** Another check reports a daemon that does not answer, and a state folder that cannot be read. */
function unlessUnanswered(error: unknown): undefined {
  if (!(error instanceof OperatorError || error instanceof SyncError)) throw error
  return undefined
}

/** The results of an item and of its parts: what a person chose is well. */
export function resultsOf(item: Item): readonly CheckResult[] {
  const { kind, source, parts = [] } = item
  const skills = [...Map.groupBy(parts, ({ state }) => state).values()]
  return [
    ...item.problems.map((problem) => resultOf(item, problem, kind === 'source' ? source : undefined)),
    ...skills.flatMap((alike) => few(alike, (skill) => skill.problems.map((problem) => resultOf(skill, problem)))),
  ]
}

/** A warning where what is served stays: an item waits, will expire, or is tried again. */
function resultOf(item: Item, { code, message, fix }: ItemProblem, pulled?: string): CheckResult {
  const { ok, warn, fail } = verdicts(code, item.id)
  const text = pulled === undefined ? message : `${AT_LAST}${message}`
  if (item.kind === 'skill' && item.urgency === 'chosen') return ok(`${message}; ${fix}`)
  if (item.urgency === 'chosen' || item.urgency === 'well') return ok(message)
  if (isSyncErrorCode(code) && isByChoice(code)) return ok(message)
  const isMild = item.urgency === 'retried' || MILD.has(code) || (isSyncErrorCode(code) && isAwaitingDecision(code))
  return (isMild ? warn : fail)(text, fix)
}

/** A person has to act, and until then what is served stays in service. */
const MILD: ReadonlySet<ItemProblem['code']> = new Set<ItemProblem['code']>(['source-moved', 'token-expiring'])

/** The repository of the lock; a problem of it is an item. */
function lockOriginResults(origin: LockOriginStatus | undefined): readonly CheckResult[] {
  if (origin === undefined || origin.problem !== undefined) return []
  const { ok, warn } = verdicts('lock-origin')
  const text = lockOriginText(origin)
  return [origin.commit === undefined ? warn(text, 'The daemon takes it when it runs: skillsyncd start') : ok(text)]
}

/** The beginning of the message of a problem: it is as old as the last pull. */
const AT_LAST = 'at the last pull: '

/** The results without problems that another check has found too, and with those mild that it finds no more. */
export function withoutPast(results: readonly CheckResult[]): readonly CheckResult[] {
  const isWell = (name: string, about?: string): boolean =>
    results.some(({ check, verdict, subject }) => check === name && verdict === 'ok' && subject === about)
  return results.flatMap((result) => {
    const { check, subject = '', message } = result
    if (!message.startsWith(AT_LAST)) return [result]
    if (results.some((other) => other !== result && other.check === check && other.subject === subject)) return []
    const isOver = check === 'lock-mismatch' ? isWell('lock') : REACHED.has(check) && isWell('source', subject)
    return isOver
      ? [verdicts(check, subject).warn(`${message}; it is well now`, `skillsyncd sync ${subject}`)]
      : [result]
  })
}

/** The failures of the first request of a pull. */
const REACHED: ReadonlySet<string> = new Set([
  'source-unreachable',
  'dns-failed',
  'tls-failed',
  'rate-limited',
  'credentials-rejected',
  'repository-not-found',
  'protocol-not-spoken',
  'ref-not-found',
  'ref-ambiguous',
  'git-missing',
] satisfies SyncErrorCode[])

/** The lock as `verify` compares it, and the recalled skills that it names. */
async function lockChecked({ config, whole }: Ground, signal: AbortSignal): Promise<readonly CheckResult[]> {
  const { lock } = whole
  if (lock === undefined) return []
  using store = await Store.openExisting(whole.state).catch(unlessUnanswered)
  await store?.decisions.read().catch(unlessUnanswered)
  const named = new Set<string>(config.sources.map(({ source }) => source.id))
  const verifying = await verifyingOf({ ...whole, sources: config.sources }, store, { named, show: () => {} }, signal)
  const results: CheckResult[] = []
  for await (const result of lockAgrees(verifying)) results.push(result)
  if (store !== undefined && whole.lockUse === 'follow')
    for (const snapshot of verifying.snapshots) results.push(...(await recalledIn(snapshot, store)))
  const isThere = results.length > 0 || (await readLock(lock)) !== undefined
  return results.length > 0 || !isThere ? results : [verdicts('lock').ok(`${lock} fits what is configured and served`)]
}

async function recalledIn(snapshot: Snapshot, store: Store): Promise<readonly CheckResult[]> {
  try {
    await expectNotRecalled(snapshot, store)
    return []
  } catch (error) {
    return [failedCheck(error, snapshot.source)]
  }
}

/** The results of the first few items, and the number of the others. */
function few(all: readonly Item[], resultsOfOne: (one: Item) => readonly CheckResult[]): readonly CheckResult[] {
  const shown = all.slice(0, MOST_NAMED).flatMap(resultsOfOne)
  const last = shown.at(-1)
  const left = all.length - MOST_NAMED
  const source = all[0]?.source
  if (last === undefined || source === undefined || left <= 0) return shown
  const fix = `skillsyncd status ${shellWord(source)} --findings names all`
  return [...shown, { ...last, subject: source, message: `${left} more`, fix }]
}

const MOST_NAMED = 10
