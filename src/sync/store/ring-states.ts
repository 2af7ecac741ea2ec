import { isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import type { Generation, GenerationEntry, RingStates, RingStep, RingTrail } from '../model/generation.ts'
import { isObjectId } from '../model/revision.ts'
import { isSourceId } from '../model/source-id.ts'
import { isDigest } from './skills/stored-path.ts'

/** The snapshots that the rings of a generation serve or may still take, in addition to those of its sources. */
export function snapshotsInTrails({
  rings,
}: {
  readonly rings?: Generation['rings'] | undefined
}): readonly GenerationEntry[] {
  return (rings?.trails ?? []).flatMap(({ source, steps }) => steps.map(({ snapshot }) => ({ source, snapshot })))
}

/** True if the value has the form of the rings of a generation. */
export function isRingStates(value: unknown): value is RingStates {
  if (!isObject(value)) return false
  const { order, trails } = value
  if (!Array.isArray(order) || !order.every((ring) => typeof ring === 'string' && isSourceId(ring))) return false
  return Array.isArray(trails) && trails.every(isTrail)
}

function isTrail(value: unknown): value is RingTrail {
  if (!isObject(value)) return false
  const { source, steps } = value
  return typeof source === 'string' && isSourceId(source) && Array.isArray(steps) && steps.every(isStep)
}

function isStep(value: unknown): value is RingStep {
  if (!isObject(value)) return false
  const { snapshot, commit, content, since, reverted } = value
  if (typeof snapshot !== 'string' || !isDigest(snapshot)) return false
  if (typeof content !== 'string' || !isDigest(content)) return false
  if (typeof commit !== 'string' || !isObjectId(commit)) return false
  if (!isObject(since) || !Object.values(since).every(isTime)) return false
  return reverted === undefined || reverted === true
}
