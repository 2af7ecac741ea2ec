import { agoText } from '../../../base/text/age-text.ts'
import { printableLine } from '../../base/log-line.ts'
import type { ReplicaRow, ReplicasStatus } from '../../replicas/hub-replica.ts'
import type { Paint } from '../colors.ts'

/** The processes of a hub of several, with the generation that each serves. */
export function replicaLines(replicas: ReplicasStatus | undefined, now: Date, paint: Paint): readonly string[] {
  if (replicas === undefined) return []
  const { id, leader, processes, away } = replicas
  const newest = Math.max(0, ...processes.map(({ generation }) => generation))
  const roleOf = (one: ReplicaRow): string =>
    one.id === leader?.id ? `leads since ${agoText(leader.since, now)}` : 'follows'
  const lines = processes.map((one) => {
    const behind = one.generation < newest ? `, ${newest - one.generation} behind` : ''
    const other = one.isConfiguredOtherwise ? ', configured otherwise' : ''
    const here = one.id === id ? ' (this one)' : ''
    const seen = now.getTime() - Date.parse(one.seenAt) > SILENT_MS ? `, last seen ${agoText(one.seenAt, now)}` : ''
    return printableLine(
      `process ${one.id.slice(0, 8)} on ${one.machine}${here}: ${roleOf(one)}; generation ${one.generation}${behind}${other}${seen}`,
    )
  })
  const since = away && agoText(away.since, now)
  return [
    ...lines,
    ...(away === undefined
      ? []
      : [paint('red', printableLine(`! the database cannot be used since ${since}: ${away.message}`))]),
    ...(away === undefined && leader === undefined ? [paint('yellow', '~ no process of the hub leads')] : []),
  ]
}

/** A process is seen each five seconds. */
const SILENT_MS = 20_000
