import { hash } from 'node:crypto'
import type { Generation, GenerationCause, RingStates, RingStep, RingTrail } from '../../model/generation.ts'
import type { ServedSource, Snapshot } from '../../model/snapshot.ts'
import type { SourceId } from '../../model/source-id.ts'
import type { SnapshotStore } from '../../store/snapshot-store.ts'
import { promoted } from './promotion.ts'
import type { PromotionStep, RingRule } from './promotion.ts'
import type { EnteringStep } from './ring-trail.ts'
import { positionIn, trailAfterRollback, trailAfterUpdate, trailForRings } from './ring-trail.ts'

/** The rules by which content passes from ring to ring. */
export interface RingPolicy {
  /** The rings, that of the newest content first. Two at least. */
  readonly rings: readonly RingRule[]
  /** True for a source whose content all rings have at once. */
  readonly isTogether: (source: SourceId) => boolean
  /** True if a stored snapshot may be served in a ring. */
  readonly admits: (snapshot: Snapshot) => Promise<boolean>
}

/** The content of the rings after the first, as far as it differs from that of the first. */
export interface RingContents {
  readonly trails: ReadonlyMap<SourceId, RingTrail>
  /** The snapshots that these rings serve, by their digests. */
  readonly served: ReadonlyMap<string, Snapshot>
}

export const SAME_CONTENTS: RingContents = { trails: new Map(), served: new Map() }

/** The step of the trail that the ring serves; `undefined` if it serves nothing of the source. */
export function stepIn(trail: RingTrail, ring: string): RingStep | undefined {
  return trail.steps[positionIn(trail, ring)]
}

/** The content of a ring: that of the first ring, but for the sources of which it serves another snapshot. */
export function heldInRing(
  ring: string | undefined,
  first: readonly ServedSource[],
  { trails, served }: RingContents,
): readonly ServedSource[] {
  if (ring === undefined || trails.size === 0) return first
  return first.flatMap((current) => {
    const { source } = current.held
    const trail = trails.get(source)
    if (trail === undefined) return current
    const step = stepIn(trail, ring)
    if (step === undefined) return []
    if (step.snapshot === current.held.snapshot) return current
    const snapshot = served.get(step.snapshot)
    return snapshot === undefined ? [] : { held: { source, snapshot: step.snapshot }, snapshot }
  })
}

/** Reads the content of the rings of a generation, for the rings of the configuration. `known`: what is in memory. */
export async function loadRings(
  generation: Generation,
  policy: RingPolicy,
  store: { readonly snapshots: Pick<SnapshotStore, 'readWhole'> },
  known: RingContents = SAME_CONTENTS,
): Promise<RingContents> {
  const { order: before = [], trails = [] } = generation.rings ?? {}
  const order = orderOf(policy)
  const first = new Map(generation.sources.map(({ source, snapshot }) => [source, snapshot]))
  const loaded = new Map<SourceId, RingTrail>()
  const served = new Map<string, Snapshot>()
  for (const stored of trails) {
    const { source } = stored
    if (!first.has(source) || policy.isTogether(source)) continue
    const trail = trailForRings(endingWith(stored, first.get(source)), before, order, generation.createdAt)
    if (trail === undefined) continue
    const steps: RingStep[] = []
    // The rings whose content the disk has lost. A failure empties none: they serve the next newer content.
    let fallen: readonly string[] = []
    for (const [index, step] of trail.steps.entries()) {
      const rings = [...fallen, ...order.slice(1).filter((ring) => positionIn(trail, ring) === index)]
      const next = { ...step, since: { ...sinceOf(fallen, generation.createdAt), ...step.since } }
      fallen = []
      if (rings.length === 0 || step.snapshot === first.get(source)) {
        steps.push(next)
        continue
      }
      const snapshot = known.served.get(step.snapshot) ?? (await store.snapshots.readWhole(step.snapshot))
      if (snapshot === undefined) fallen = rings
      else if (await policy.admits(snapshot)) {
        served.set(step.snapshot, snapshot)
        steps.push(next)
      }
    }
    loaded.set(source, { source, steps })
  }
  return { trails: loaded, served }
}

function sinceOf(rings: readonly string[], at: string): RingStep['since'] {
  return Object.fromEntries(rings.map((ring) => [ring, at]))
}

/** The last step is what the first ring serves, also if that is older content in place of what the disk has lost. */
function endingWith(trail: RingTrail, snapshot: string | undefined): RingTrail {
  const last = trail.steps.at(-1)
  if (last === undefined || snapshot === undefined || last.snapshot === snapshot) return trail
  return { ...trail, steps: [...trail.steps.slice(0, -1), { ...last, snapshot }] }
}

/** The sources that change in the first ring, before and after. */
export interface FirstRingChange {
  readonly before: ReadonlyMap<SourceId, ServedSource>
  readonly after: ReadonlyMap<SourceId, ServedSource>
  readonly changed: Iterable<SourceId>
  readonly action: GenerationCause['action']
  /** The time of the generation before; `undefined` if there is none. */
  readonly heldAt: string | undefined
  readonly at: string
}

/** Returns the content of the rings after the first one changed. What is withdrawn there is withdrawn in all. */
export function ringsAfterChange(contents: RingContents, change: FirstRingChange, policy: RingPolicy): RingContents {
  const order = orderOf(policy)
  const trails = new Map(contents.trails)
  const served = new Map(contents.served)
  for (const source of change.changed) {
    const trail = trailAfterChange(source, trails.get(source), change, policy)
    const before = change.before.get(source)
    if (before !== undefined) served.set(before.held.snapshot, before.snapshot)
    const after = change.after.get(source)
    if (after !== undefined) served.set(after.held.snapshot, after.snapshot)
    if (trail === undefined) trails.delete(source)
    else trails.set(source, trail)
  }
  return withServed({ trails, served }, order)
}

function trailAfterChange(
  source: SourceId,
  trail: RingTrail | undefined,
  { before, after, action, heldAt, at }: FirstRingChange,
  policy: RingPolicy,
): RingTrail | undefined {
  const next = after.get(source)
  if (next === undefined || policy.isTogether(source)) return undefined
  const entering = { ...enteringOf(next), at }
  const order = orderOf(policy)
  if (action === 'rollback') return trailAfterRollback(trail, entering, order)
  const now = before.get(source)
  const held = now && { ...enteringOf(now), at: heldAt ?? at }
  return trailAfterUpdate(source, { held, trail }, entering, order)
}

function enteringOf({ held, snapshot }: ServedSource): EnteringStep {
  return { snapshot: held.snapshot, commit: snapshot.revision.commit, content: contentOf(snapshot) }
}

/** The digest of the skills and documents of a snapshot: what its clients can notice, but for its commit. */
function contentOf({ skills, docs, marketplace }: Snapshot): string {
  const parts = skills.map(({ path, servedPath, standing, digest, name }) => [path, servedPath, standing, digest, name])
  return hash('sha256', JSON.stringify([parts, docs?.digest, marketplace]))
}

/** Keeps of the snapshots in memory those that a ring serves. */
function withServed({ trails, served }: RingContents, order: readonly string[]): RingContents {
  const kept = new Map<string, Snapshot>()
  for (const trail of trails.values()) {
    for (const { snapshot: digest } of servedSteps(trail, order)) {
      const snapshot = served.get(digest)
      if (snapshot !== undefined) kept.set(digest, snapshot)
    }
  }
  return { trails, served: kept }
}

/** The steps that the rings after the first serve, each once. */
function servedSteps(trail: RingTrail, order: readonly string[]): readonly RingStep[] {
  return [...new Set(order.slice(1).flatMap((ring) => stepIn(trail, ring) ?? []))]
}

/** A ring that took the content of the ring before it. */
export interface RingPromotion {
  readonly source: SourceId
  readonly ring: string
  readonly from: RingStep | undefined
  readonly to: RingStep
}

/** The reasons against a promotion, and the sources and rings that it is limited to. */
export interface PromotionRules {
  readonly now: Date
  /** The sources that are promoted; by default, all. */
  readonly sources?: ReadonlySet<SourceId> | undefined
  /** Reason for which a ring must not take a snapshot now; `undefined` if it may. `from`: what the ring serves. */
  readonly stopOf: (candidate: RingCandidate) => string | undefined | Promise<string | undefined>
  /** True for a ring whose minimum age does not count now. */
  readonly isAged: (ring: string) => boolean
}

/** A snapshot that a ring would take. */
export interface RingCandidate {
  readonly source: SourceId
  readonly ring: string
  readonly snapshot: Snapshot
  readonly from: Snapshot | undefined
}

/** Promotes each source, by the rules of `promoted`. A snapshot that the store has lost is not taken. */
export async function promoteRings(
  contents: RingContents,
  first: ReadonlyMap<SourceId, ServedSource>,
  { policy, store }: { readonly policy: RingPolicy; readonly store: { readonly snapshots: SnapshotStore } },
  rules: PromotionRules,
): Promise<{ readonly contents: RingContents; readonly promotions: readonly RingPromotion[] }> {
  const trails = new Map(contents.trails)
  const served = new Map([...contents.served, ...[...first.values()].map(inMemory)])
  const read = async ({ snapshot: digest }: RingStep): Promise<Snapshot | undefined> => {
    const snapshot = served.get(digest) ?? (await store.snapshots.readWhole(digest))
    if (snapshot !== undefined) served.set(digest, snapshot)
    return snapshot
  }
  const promotions: RingPromotion[] = []
  for (const [source, before] of contents.trails) {
    if (rules.sources?.has(source) === false) continue
    const isStopped = async ({ ring, step, from }: PromotionStep): Promise<boolean> => {
      const snapshot = await read(step)
      if (snapshot === undefined || !(await policy.admits(snapshot))) return true
      const candidate = { source, ring, snapshot, from: from && (await read(from)) }
      return (await rules.stopOf(candidate)) !== undefined
    }
    const { trail, moves } = await promoted(before, policy.rings, rules.now, { ...rules, isStopped })
    promotions.push(...moves.map(({ ring, from, step }) => ({ source, ring, from: before.steps[from], to: step })))
    if (trail === undefined) trails.delete(source)
    else trails.set(source, trail)
  }
  return { contents: withServed({ trails, served }, orderOf(policy)), promotions }
}

function inMemory({ held, snapshot }: ServedSource): readonly [string, Snapshot] {
  return [held.snapshot, snapshot]
}

/** The stored form of the content of the rings. */
export function ringStatesOf({ trails }: RingContents, policy: RingPolicy, sources: readonly SourceId[]): RingStates {
  return { order: orderOf(policy), trails: sources.flatMap((source) => trails.get(source) ?? []) }
}

/** Leaves out the steps that no ring serves, and whose snapshots the store has lost. */
export function withoutLost(contents: RingContents, missing: ReadonlySet<string>): RingContents {
  if (missing.size === 0) return contents
  const isKept = ({ snapshot }: RingStep): boolean => !missing.has(snapshot)
  const trails = [...contents.trails].map(
    ([source, trail]) => [source, { ...trail, steps: trail.steps.filter(isKept) }] as const,
  )
  return { ...contents, trails: new Map(trails) }
}

function orderOf({ rings }: RingPolicy): readonly string[] {
  return rings.map(({ id }) => id)
}
