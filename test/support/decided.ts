import type { Decided, Decider } from '../../src/sync/model/decisions/decided.ts'
import type { SourceDecision } from '../../src/sync/model/decisions/decisions.ts'
import { isDecidedAt, isRecall, firstPlace } from '../../src/sync/model/decisions/out-of-service.ts'
import type { OutOfService } from '../../src/sync/model/decisions/out-of-service.ts'
import type { RecallRule, WithdrawnPlace, StayRule, WithdrawRule } from '../../src/sync/model/decisions/rules.ts'
import type { Snapshot } from '../../src/sync/model/snapshot.ts'
import type { SourceId } from '../../src/sync/model/source-id.ts'
import type { DecisionStore } from '../../src/sync/store/decision-store.ts'

/** A person who decides. */
export const ADA: Decider = { at: '2026-06-15T10:00:00.000Z', by: 'person', who: 'ada' }

/** Disables or enables a skill. */
export async function setDisabled(
  decisions: DecisionStore,
  source: SourceId,
  path: string,
  isDisabled: boolean,
  snapshots?: readonly Snapshot[],
): Promise<boolean> {
  const about = { source, path, decider: ADA }
  return isDisabled ? decisions.disable(about, snapshots) : decisions.enable(about, snapshots)
}

type Held = Pick<StayRule, 'at' | 'noPoll' | 'commit'>

/** Holds a source, or releases it. */
export async function setHold(
  decisions: DecisionStore,
  source: SourceId,
  held: Held | undefined,
  decided?: Decided,
): Promise<SourceDecision> {
  return decisions.decide(source, () => (held === undefined ? [] : [stayRule(source, held)]), decided)
}

export function stayRule(source: SourceId, held: Held): StayRule {
  return { ...ADA, ...held, effect: 'stay', on: { source } }
}

/** A rule of a person that keeps a skill with these places out of service. */
export function disableRule(places: readonly WithdrawnPlace[]): WithdrawRule {
  return { ...ADA, effect: 'withdraw', reach: 'hub', on: { places, beside: [], contents: [] } }
}

/** A rule of a scan about one content of a skill. */
export function scanRule(place: WithdrawnPlace, digest: string, at = ADA.at): WithdrawRule {
  const on = { places: [place], beside: [], contents: [digest] }
  return { at, by: 'scan', effect: 'withdraw', reach: 'source', on }
}

/** The paths that are disabled here of a source, sorted. */
export function disabledPaths({ outOfService }: DecisionStore, source: SourceId): readonly string[] {
  const paths = outOfService.flatMap((rule) => firstPlace(rule)?.path ?? [])
  return paths.filter((path) => outOfService.some((rule) => isDecidedAt(rule, source, path))).toSorted()
}

export function recallsIn(out: OutOfService): readonly RecallRule[] {
  return out.filter(isRecall)
}
