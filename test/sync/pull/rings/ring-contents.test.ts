import { expect, test } from 'vitest'
import type { Generation, RingStep } from '../../../../src/sync/model/generation.ts'
import { isObjectId } from '../../../../src/sync/model/revision.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { heldInRing, loadRings } from '../../../../src/sync/pull/rings/ring-contents.ts'
import type { RingPolicy } from '../../../../src/sync/pull/rings/ring-contents.ts'
import { sample, snapshotOf } from '../../store/samples.ts'

const AT = '2026-06-15T12:00:00.000Z'
const SNAPSHOTS = new Map(
  ['a', 'b', 'c'].map((body) => [digest(body), snapshotOf(sample('pdf', { 'SKILL.md': body }))]),
)

test.each([
  ['nothing', [], 'a'],
  ['what it serves', ['a'], 'b'],
  ['that and what waits for it', ['a', 'b'], 'c'],
])('a ring of which the disk has lost %s is not emptied', async (_, lost, serves) => {
  expect(await servedByStable(lost, () => true)).toBe(digest(serves))
})

test('a ring serves nothing in place of content that it must not serve', async () => {
  expect(await servedByStable([], (snapshot) => snapshot !== SNAPSHOTS.get(digest('a')))).toBeUndefined()
})

/** The last ring serves `a`, `b` waits for it, and `c` is in the first one. */
async function servedByStable(
  lost: readonly string[],
  admits: (snapshot: Snapshot) => boolean,
): Promise<string | undefined> {
  const first = snapshotAt('c')
  const held = { source: first.source, snapshot: digest('c') }
  const trail = {
    source: first.source,
    steps: [step('a', 'canary', 'stable'), step('b', 'canary'), step('c', 'canary')],
  }
  const rings = { order: ['canary', 'stable'], trails: [trail] }
  const generation: Generation = { number: 1, createdAt: AT, sources: [held], rings }
  const isLost = (one: string): boolean => lost.some((body) => digest(body) === one)
  const readWhole = async (one: string) => (isLost(one) ? undefined : SNAPSHOTS.get(one))
  const policy: RingPolicy = {
    rings: rings.order.map((id) => ({ id, minAgeMs: 0 })),
    isTogether: () => false,
    admits: async (snapshot) => admits(snapshot),
  }
  const contents = await loadRings(generation, policy, { snapshots: { readWhole } })
  return heldInRing('stable', [{ held, snapshot: first }], contents)[0]?.held.snapshot
}

function step(body: string, ...rings: readonly string[]): RingStep {
  const since = Object.fromEntries(rings.map((ring) => [ring, AT]))
  const commit = body.repeat(40)
  if (!isObjectId(commit)) throw new TypeError(commit)
  return { snapshot: digest(body), commit, content: digest(body), since }
}

function snapshotAt(body: string): Snapshot {
  const snapshot = SNAPSHOTS.get(digest(body))
  if (snapshot === undefined) throw new TypeError(body)
  return snapshot
}

function digest(body: string): string {
  return body.repeat(64)
}
