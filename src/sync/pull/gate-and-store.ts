import { changesBetween } from '../model/changes/skill-changes.ts'
import { isWanted } from '../model/decisions/decisions.ts'
import type { Updated, Waiting } from '../model/outcome.ts'
import { plainProblemOf } from '../model/sync-error.ts'
import type { SurveyedPull } from './pull-context.ts'

/** Runs the operator's own check on a snapshot, and stores the snapshot so that it can be served. */
export async function gateAndStore(pull: SurveyedPull): Promise<Updated | Waiting> {
  return (await judgeByGate(pull)) ?? storeSnapshot(pull)
}

/** Throws if the gate refuses the snapshot; holds it if a person decides, and has not approved this revision yet. */
export async function judgeByGate(pull: SurveyedPull): Promise<Waiting | undefined> {
  const { current, orders, io, snapshot, signal } = pull
  const { revision } = snapshot
  const veto = await io.gate?.(snapshot, current?.snapshot, signal)
  if (veto?.code === 'awaiting-approval' && !isWanted(orders.decision, revision))
    return { kind: 'waiting', revision, reason: plainProblemOf(veto) }
  if (veto !== undefined && veto.code !== 'awaiting-approval') throw veto
  return undefined
}

/** Stores the snapshot. Nothing serves it before a generation names it. */
export async function storeSnapshot({
  source,
  current,
  io,
  snapshot,
  rewritten,
  signal,
}: SurveyedPull): Promise<Updated> {
  const { revision } = snapshot
  const held = { source: source.id, snapshot: await io.store.snapshots.keep(snapshot, signal) }
  const changes = changesBetween(current?.snapshot, snapshot)
  return { kind: 'updated', revision, snapshot, held, from: current?.snapshot.revision, changes, rewritten }
}
