import { fileURLToPath } from 'node:url'
import { agoText, dueText } from '../../base/text/age-text.ts'
import { fewText } from '../../base/text/first-few.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import { failureUrgency, URGENCIES } from '../../sync/model/item.ts'
import type { Item, ItemProblem, ITEM_STATES, Urgency } from '../../sync/model/item.ts'
import { isAwaitingDecision, isByChoice, LOCK_UNREADABLE } from '../../sync/model/sync-error.ts'
import { stateText } from '../../sync/model/verdict/verdict.ts'
import type { SkillProblem } from '../../sync/model/verdict/verdict.ts'
import type { ExpiringToken } from '../access/tokens.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { lockOriginText } from './lock-text.ts'
import { unreadyText } from './readiness.ts'
import { isKept } from './source-facts.ts'
import type { SourceProblem, HttpStatus, SourceStatus, Status } from './status.ts'

/** The items of a status. Those of features come from their `items`. */
export type ItemsOf = (status: Status, now: Date) => readonly Item[]

/** The items of the core: the sources, and what is wrong with the hub itself. */
export const coreItems: ItemsOf = (status, now) => [
  ...decisionItems(status),
  ...writerItems(status),
  ...contentItems(status),
  ...lockItems(status, now),
  ...(status.http === undefined ? [] : httpItems(status.http, now)),
  ...status.sources.map((source) => sourceItem(source, now)),
]

/** The items in the order in which people should read them. */
export function byUrgency(items: readonly Item[]): readonly Item[] {
  return items.toSorted((a, b) => URGENCIES.indexOf(a.urgency) - URGENCIES.indexOf(b.urgency))
}

/** The items that are not well, by their names, the most urgent first: one text for each urgency. */
export function attentionTexts(
  items: readonly Item[],
): readonly { readonly urgency: Urgency; readonly text: string }[] {
  return ATTENTION.flatMap(([urgency, words]) => {
    const names = items.filter((item) => item.urgency === urgency).map(({ kind, id }) => `${kind} ${id}`)
    return names.length === 0 ? [] : [{ urgency, text: printableLine(`${words}: ${fewText(names, MOST_NAMED)}`) }]
  })
}

const ATTENTION = [
  ['person', 'needs a person'],
  ['retried', 'tried again'],
  ['chosen', 'kept by choice'],
] as const

const MOST_NAMED = 5

function decisionItems({ decisionsLost }: Status): readonly Item[] {
  if (decisionsLost === undefined) return []
  const problems = [
    { code: 'decisions-lost', message: decisionsLost, fix: 'Decide again as the message explains' },
  ] as const
  return [{ kind: 'decisions', id: 'decisions.json', state: 'lost', urgency: 'person', problems }]
}

/** Less is served than was, until a poll restores it: a person should know, though it may mend itself. */
function contentItems({ servedLost }: Status): readonly Item[] {
  return servedLost.map(({ source, message }): Item => {
    const problems = [{ code: 'served-lost', message, fix: `skillsyncd sync ${source} fetches it again` }] as const
    return { kind: 'content', id: source, source, state: 'lost', urgency: 'person', problems }
  })
}

function writerItems({ readOnly, state }: Status): readonly Item[] {
  if (readOnly === undefined) return []
  return [{ kind: 'writer', id: state, state: 'read-only', urgency: 'person', problems: [problemOf(readOnly)] }]
}

function lockItems({ lock }: Status, now: Date): readonly Item[] {
  if (lock === undefined) return []
  const problem = lock.from?.problem
  if (lock.from !== undefined && problem !== undefined) {
    const { code, since } = problem
    const of = { kind: 'lock', id: lockOriginText(lock.from), state: 'not-taken', since } as const
    const { url } = lock.from
    const place = url.startsWith('file:') ? { place: fileURLToPath(url) } : {}
    return [{ ...of, ...place, urgency: failureUrgency(code, since, now), problems: [problemOf(problem)] }]
  }
  if (lock.error === undefined) return []
  const problems = [{ code: 'lock-unreadable', message: lock.error, fix: LOCK_UNREADABLE }] as const
  return [{ kind: 'lock', id: lock.file, state: 'unreadable', urgency: 'person', problems }]
}

function httpItems({ unready, tokens }: HttpStatus, now: Date): readonly Item[] {
  const items: Item[] = []
  if (unready.length > 0) {
    const fix = 'Fix the problem of the source, or remove `required`; it is ready as soon as all of them are served'
    const problems = unready.map((reason) => ({ code: 'not-ready', message: unreadyText(reason), fix }) as const)
    // A source that needs a person for it says so.
    items.push({ kind: 'readiness', id: '/readyz', state: 'not-ready', urgency: 'retried', problems })
  }
  if (tokens.count === undefined) {
    const message = 'The tokens cannot be read, so no token is accepted'
    const problems = [{ code: 'tokens-unreadable', message, fix: 'skillsyncd hub token list says why' }] as const
    items.push({ kind: 'token', id: 'tokens', state: 'unreadable', urgency: 'person', problems })
  }
  return [...items, ...(tokens.expiring ?? []).map((token) => tokenItem(token, now))]
}

function tokenItem({ name, expires }: ExpiringToken, now: Date): Item {
  const isExpired = Date.parse(expires) <= now.getTime()
  const when = isExpired ? `it expired ${agoText(expires, now)}` : `it expires ${dueText(expires, now)}`
  const fix = `skillsyncd hub token renew ${shellWord(name)}, or skillsyncd hub token revoke ${shellWord(name)}`
  const problems = [{ code: 'token-expiring', message: `${when} (${expires})`, fix }] as const
  return {
    kind: 'token',
    id: name,
    isPrivate: true,
    state: isExpired ? 'expired' : 'expiring',
    urgency: 'person',
    problems,
  }
}

/** The item of a source, with those of its skills. */
export function sourceItem(source: SourceStatus, now: Date): Extract<Item, { readonly kind: 'source' }> {
  const { id, movedTo, problem } = source
  const problems = [
    ...(problem === undefined ? [] : [problemOf(problem)]),
    ...(movedTo === undefined ? [] : [movedProblem(movedTo)]),
  ]
  const [state, urgency] = [sourceStateOf(source), urgencyOf(source, now)]
  return { kind: 'source', id, source: id, state, urgency, problems, parts: skillItems(source) }
}

type SourceState = (typeof ITEM_STATES)['source'][number]

function movedProblem(movedTo: string): ItemProblem {
  return {
    code: 'source-moved',
    message: `its host redirects to ${movedTo}`,
    fix: 'Write that into `url`',
  }
}

function sourceStateOf(source: SourceStatus): SourceState {
  const { problem, decision, served, lastAttempt, lookingSince } = source
  if (problem !== undefined && isAwaitingDecision(problem.code)) return 'waiting'
  if (problem !== undefined && !isByChoice(problem.code)) return 'failing'
  if (problem !== undefined || isKept(decision)) return 'held'
  if (served !== undefined) return 'served'
  return lastAttempt === undefined || lookingSince !== undefined ? 'empty' : 'failing'
}

/** The most urgent of what is to be said of the source. A skill that waits or mismatches stays so until a person acts. */
function urgencyOf(source: SourceStatus, now: Date): Urgency {
  const { problem, decision, lastSuccess, movedTo, tally, mismatched } = source
  const code = problem?.code
  if (movedTo !== undefined || tally.waiting > 0 || mismatched > 0) return 'person'
  if (code !== undefined && !isByChoice(code)) return failureUrgency(code, lastSuccess, now)
  if (sourceStateOf(source) === 'failing') return 'retried'
  return code !== undefined || isKept(decision) ? 'chosen' : 'well'
}

/** The skills of a source that are not served, with what its survey found beside them. */
function skillItems({ id, verdicts, findings }: SourceStatus): readonly Item[] {
  const out = verdicts.flatMap(({ path, state, reasons: [decisive] }): readonly Item[] => {
    const isOut = state === 'waiting' || state === 'withheld' || state === 'disabled'
    if (!isOut || decisive === undefined || decisive.code === 'stray-link') return []
    // The next commit may repair what is withheld.
    const isPersons = state === 'waiting' || decisive.code === 'content-mismatch'
    const urgency = state === 'disabled' ? 'chosen' : isPersons ? 'person' : 'retried'
    return [skillItem(id, `${id}/${path}`, [state, urgency], decisive)]
  })
  return [...out, ...findings.map((problem) => skillItem(id, problem.place, ['withheld', 'retried'], problem))]
}

type SkillState = readonly [state: (typeof ITEM_STATES)['skill'][number], urgency: Urgency]

function skillItem(
  source: string,
  place: string,
  [state, urgency]: SkillState,
  { code, message, fix }: SkillProblem,
): Item {
  const problems = [{ code, message: `${stateText(state)}: ${message}`, fix }]
  return { kind: 'skill', id: place, source, state, urgency, problems }
}

/** The problem of a source; the credential that it concerns stands in the fix. */
function problemOf({ code, message, fix, credential }: SourceProblem): ItemProblem {
  return { code, message, fix: credential === undefined ? fix : `${fix}: ${credential}` }
}
