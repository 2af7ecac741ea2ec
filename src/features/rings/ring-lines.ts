import { agoText, dueText } from '../../base/text/age-text.ts'
import type { Paint } from '../../daemon/cli/colors.ts'
import { durationText } from '../../daemon/config/schema/scalars.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import type { ItemsOf } from '../../daemon/status/items.ts'
import type { RingSourceStatus, RingStatus, Status } from '../../daemon/status/status.ts'
import type { Item } from '../../sync/model/item.ts'

/** The lines of the status about the rings. */
export function ringLines({ rings = [] }: Pick<Status, 'rings'>, now: Date, paint: Paint): readonly string[] {
  return rings.flatMap((ring, at) => linesOfRing(ring, at, now, paint))
}

/** One line for the ring at this place, and one for each source of which it serves other content than the first ring. */
export function linesOfRing(ring: RingStatus, at: number, now: Date, paint: Paint): readonly string[] {
  const behind = ring.sources.length === 0 ? 'has what the first ring has' : 'has other content of:'
  const head = `ring ${ring.id} (${ringText(ring, at)}): ${at === 0 ? 'gets each commit at once' : behind}`
  return [head, ...ring.sources.map((source) => sourceLine(source, now, paint))]
}

/** The share of a ring, and what it asks of a commit, in words. */
function ringText({ share, minAgeMs, mostFailures }: RingStatus, at: number): string {
  const age = at === 0 || minAgeMs === 0 ? 'no minimum age' : `minimum age ${durationText(minAgeMs)}`
  const failures = mostFailures === undefined ? '' : `, most failures ${percentText(mostFailures)}`
  return `${percentText(share)} of those that no ring names, ${age}${failures}`
}

/** A fraction as a percentage. */
export function percentText(fraction: number): string {
  return `${Math.round(fraction * 10_000) / 100}%`
}

/** One source in a ring: its commit, what comes next, and what stops that. */
export function sourceLine(source: RingSourceStatus, now: Date, paint: Paint): string {
  const { next, nextAt, problem } = source
  const due = nextAt === undefined ? '' : ` ${dueText(nextAt, now)}`
  const coming = next === undefined ? '' : `, then ${next.slice(0, 12)}${due}`
  const text = printableLine(`  ${source.source}: ${contentText(source, now)}${coming}`)
  return problem === undefined
    ? text
    : `${text}${paint('yellow', printableLine(`, stopped: ${problem.code}: ${problem.message}`))}`
}

function contentText({ commit, since = '', heldAt }: RingSourceStatus, now: Date): string {
  if (commit !== undefined) return `${commit.slice(0, 12)} since ${agoText(since, now)}`
  return heldAt === undefined ? 'nothing yet' : 'held'
}

/** The rings that take no commit of a source now. Each takes one as soon as the reason is over. */
export const ringItems: ItemsOf = ({ rings = [] }) =>
  rings.flatMap(({ id, sources }) =>
    sources.flatMap(({ source, problem, heldAt }): Item[] => {
      if (problem === undefined) return []
      const fix = 'skillsyncd status --rings shows what it serves, and what comes next'
      const problems = [{ code: 'ring-stopped', message: `${problem.code}: ${problem.message}`, fix }] as const
      const of = { kind: 'ring', id: `${id}, ${source}`, source, problems, isPrivate: true } as const
      return heldAt === undefined
        ? [{ ...of, state: 'stopped', urgency: 'retried' }]
        : [{ ...of, state: 'held', urgency: 'chosen', since: heldAt }]
    }),
  )
