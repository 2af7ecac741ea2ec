import { agoText } from '../../base/text/age-text.ts'
import type { ReplicaRow } from '../../daemon/runtime/hub-replica.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import type { ItemsOf } from '../../daemon/status/items.ts'
import type { Status } from '../../daemon/status/status.ts'

/** The processes of a hub of several, with the generation that each serves. */
export function replicaLines({ replicas }: Pick<Status, 'replicas'>, now: Date): readonly string[] {
  if (replicas === undefined) return []
  const { id, leader, processes, away } = replicas
  const newest = Math.max(0, ...processes.map(({ generation }) => generation))
  const roleOf = (one: ReplicaRow): string =>
    one.id === leader?.id ? `leads since ${agoText(leader.since, now)}` : 'follows'
  const living = processes.filter(({ isLiving }) => isLiving)
  const lines = living.map((one) => {
    const behind = one.generation < newest ? `, ${newest - one.generation} behind` : ''
    const other = one.hasOtherConfig ? ', different configuration' : ''
    const seen = away === undefined ? '' : `, last seen ${agoText(one.seenAt, now)}`
    const here = one.id === id ? ' (this one)' : ''
    return printableLine(
      `process ${one.id.slice(0, 8)} on ${one.machine}${here}: ${roleOf(one)}; generation ${one.generation}${behind}${other}${seen}`,
    )
  })
  return [...lines, ...goneLines(processes, now)]
}

/** The database of the hub, and the process that leads. */
export const replicaItems: ItemsOf = ({ replicas }) => {
  if (replicas === undefined) return []
  const { leader, away } = replicas
  const of = { kind: 'database', id: 'store.postgres', isPrivate: true } as const
  if (away !== undefined) {
    const { since, message } = away
    const fix = 'skillsyncd doctor checks the database; what is served stays meanwhile'
    return [{ ...of, state: 'away', urgency: 'person', since, problems: [{ code: 'database-away', message, fix }] }]
  }
  if (leader !== undefined) return []
  const message = 'no process of the hub leads'
  const fix = 'It is retried; the log of each process says why it does not lead'
  return [{ ...of, state: 'without-leader', urgency: 'retried', problems: [{ code: 'leader-missing', message, fix }] }]
}

/** The processes that were killed, or have lost the database. One that was stopped cleanly is not among them. */
function goneLines(processes: readonly ReplicaRow[], now: Date): readonly string[] {
  const gone = processes.filter(({ isLiving }) => !isLiving).toSorted((a, b) => (a.seenAt < b.seenAt ? 1 : -1))
  const [last] = gone
  if (last === undefined) return []
  const name = `${last.id.slice(0, 8)} on ${last.machine}, seen ${agoText(last.seenAt, now)}`
  const head = gone.length === 1 ? '1 process has' : `${gone.length} processes have`
  return [printableLine(`${head} gone within the last hour without a stop; the last one is ${name}`)]
}
