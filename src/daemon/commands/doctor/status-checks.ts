import { systemClock } from '../../../base/async/clock.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import { expectNotRecalled } from '../../../features/channel/recall/recalled-lock.ts'
import { describeSkillCode } from '../../../sync/model/code-descriptions.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { isAwaitingDecision, isByChoice, isPassing, SyncError } from '../../../sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../sync/model/sync-error.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import { failedCheck, verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import { mendLine } from '../../cli/status-block.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { disabledText, pendingText, skillOperand } from '../../status/decision-text.ts'
import { lockOriginText } from '../../status/lock-text.ts'
import type { Condition, LockOriginStatus, SourceStatus, Status } from '../../status/status.ts'
import { urgencyOf } from '../../status/urgency.ts'
import { statusNow } from '../show/status.ts'
import type { StatusConfig } from '../show/status.ts'
import { lockAgrees } from '../verify/lock-checks.ts'
import { verifyingOf } from '../verify/verify-context.ts'

/** Tells all that `status` shows as needing a person, and each skill that is withheld or disabled. */
export function statusChecks(ground: Ground<StatusConfig>): Check[] {
  return ground.config.sources.length === 0
    ? []
    : [
        { name: 'status', look: async (signal) => statusChecked(ground, signal) },
        { name: 'lock', look: async (signal) => lockChecked(ground, signal) },
      ]
}

async function statusChecked(
  { config, whole }: Ground<StatusConfig>,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const ids = new Set<string>(config.sources.map(({ source }) => source.id))
  const status = await statusNow(whole, signal, ids).catch(unlessUnanswered)
  if (status === undefined) return []
  const now = systemClock.now()
  return [
    ...status.sources.filter(({ id }) => ids.has(id)).flatMap((one) => sourceResults(one, now)),
    ...hubResults(status),
  ]
}

/** Another check reports a daemon that does not answer, and a state folder that cannot be read. */
function unlessUnanswered(error: unknown): undefined {
  if (!(error instanceof OperatorError || error instanceof SyncError)) throw error
  return undefined
}

function sourceResults(source: SourceStatus, now: Date): readonly CheckResult[] {
  const { id, condition, findings, pending, mismatched, disabled } = source
  const at = (path: string): string => `${id}/${path}`
  const isOld = urgencyOf(source, now) === 'person'
  return [
    ...(condition === undefined ? [] : [conditionResult(condition, id, isOld)]),
    ...few(
      findings.filter(({ standing }) => standing === 'withheld' || standing === 'source'),
      ({ rule, path, message }) => verdicts(rule, at(path)).warn(`withheld: ${message}`, describeSkillCode(rule).mend),
    ),
    ...few(pending.paths, (path) =>
      verdicts('awaiting-approval', at(path)).warn(
        pendingText(id, path),
        `skillsyncd approve ${skillOperand(id, path)}`,
      ),
    ),
    ...few(mismatched.paths, (path) =>
      verdicts('content-mismatch', at(path)).fail(
        'its server sent other bytes than it declares',
        `skillsyncd mcp-source mirror ${skillOperand(id, path)} has its files read again`,
      ),
    ),
    ...few(disabled.matches, ({ path, ...by }) => {
      const isRecalled = by.recall !== undefined
      return verdicts(isRecalled ? 'skill-recalled' : 'disabled', at(path)).ok(disabledText(id, path, by))
    }),
  ]
}

/** A decision and a host that may return keep what is served in service. */
function conditionResult(condition: Condition, source: string, isOld: boolean): CheckResult {
  const { code, message } = condition
  const { ok, warn, fail } = verdicts(code, source)
  if (isByChoice(code)) return ok(message)
  const isMild = isAwaitingDecision(code) || (isPassing(code) && !isOld)
  return (isMild ? warn : fail)(`${AT_LAST}${message}`, mendLine(condition))
}

/** The beginning of the message of a condition: it is as old as the last pull. */
const AT_LAST = 'at the last pull: '

/** The results without conditions that another check has found too, and with those mild that it finds no more. */
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

/** The problems that belong to no source. */
function hubResults(status: Status): readonly CheckResult[] {
  const { decisionsLost, servedLost, readOnly, publications = [], channels = [], scans, hub, lock } = status
  const conditions = [
    ...publications.map(({ url, branch, condition }) => ({ to: `${url} ${branch}`, condition })),
    ...channels.map(({ to = 'the channel', condition }) => ({ to, condition })),
    ...(hub === undefined ? [] : [{ to: hub.url, condition: hub.condition }]),
  ]
  return [
    ...(decisionsLost === undefined ? [] : [verdicts('decisions-lost').fail(decisionsLost)]),
    ...servedLost.map(({ source, message }) =>
      verdicts('snapshot-damaged', source).fail(message, `skillsyncd sync ${source} fetches it again`),
    ),
    ...(readOnly === undefined ? [] : [verdicts(readOnly.code).fail(readOnly.message, readOnly.mend)]),
    ...conditions.flatMap(({ to, condition }) =>
      condition === undefined
        ? []
        : [
            verdicts(condition.code, to)[isPassing(condition.code) ? 'warn' : 'fail'](
              condition.message,
              condition.mend,
            ),
          ],
    ),
    ...(lock?.from === undefined ? [] : [lockOriginResult(lock.from)]),
    ...(scans?.held === undefined
      ? []
      : [
          verdicts('scan-held').fail(
            'scans refuse more skills than may be withheld at once',
            'skillsyncd scan --withhold takes them out, or a scan by better rules ends it',
          ),
        ]),
  ]
}

/** The newest lock of its repository is in force, as far as the daemon knows. */
function lockOriginResult(origin: LockOriginStatus): CheckResult {
  const { ok, warn, fail } = verdicts('lock-origin')
  const { commit, condition } = origin
  const text = lockOriginText(origin)
  if (condition === undefined)
    return commit === undefined ? warn(text, 'The daemon takes it when it runs: skillsyncd start') : ok(text)
  const message = `${text}; ${condition.code}: ${condition.message}`
  return (isPassing(condition.code) ? warn : fail)(message, condition.mend)
}

/** The lock as `verify` compares it, and the recalled skills that it names. */
async function lockChecked(
  { config, whole }: Ground<StatusConfig>,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
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

/** The results of the first few, and the number of the others. */
function few<One>(all: readonly One[], resultOf: (one: One) => CheckResult): readonly CheckResult[] {
  const shown = all.slice(0, MOST_NAMED).map(resultOf)
  const last = shown.at(-1)
  const left = all.length - shown.length
  if (last === undefined || left === 0) return shown
  const [source = ''] = (last.subject ?? '').split('/')
  return [
    ...shown,
    {
      ...last,
      subject: source,
      message: `${left} more`,
      fix: `skillsyncd status ${shellWord(source)} --findings names all`,
    },
  ]
}

const MOST_NAMED = 10
