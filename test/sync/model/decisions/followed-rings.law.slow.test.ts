import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { disabledAt, following, identityAt } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import type { FollowedEntries } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import { disabledIn } from '../../../../src/sync/model/decisions/disabled-matches.ts'
import type { OutOfService } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { newRecall } from '../../../../src/sync/model/decisions/recalled-skills.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { ADA } from '../../../support/decided.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { sample, sampleDocs, snapshotOf, sourceId } from '../../store/samples.ts'

/** The versions that a ring serves of one source: of each folder the name and the text, or no skill. */
const rings = fc.array(fc.record({ source: fc.constantFrom('team', 'other'), skills: skillsAt(), docs: text() }), {
  minLength: 1,
  maxLength: 5,
})

const decisions = fc.array(
  fc.record({ path: path(), source: fc.constantFrom('team', 'other'), sourceOnly: fc.boolean(), content: text() }),
  { minLength: 1, maxLength: 3 },
)

test('following ends whatever versions the rings serve, finds nothing more then, and takes no knowledge away that a ring still needs', () => {
  fc.assert(
    fc.property(decisions, fc.array(rings, { minLength: 1, maxLength: 6 }), (decided, walk) => {
      let out = outOf(decided, walk[0]!.map(snapshotIn))
      for (const round of walk) {
        const snapshots = round.map(snapshotIn)
        const before = out
        out = followed(before, snapshots).out

        expect(followed(out, snapshots).out).toBe(out)
        for (const [index, { on }] of before.entries())
          expect(documentsOf(out[index]!.on, snapshots)).toEqual(expect.arrayContaining(documentsOf(on, snapshots)))
        for (const snapshot of snapshots)
          expect([...disabledIn(snapshot, out).keys()]).toEqual(
            expect.arrayContaining([...disabledIn(snapshot, before).keys()]),
          )
      }
    }),
    { numRuns: lawRuns(3_000, 0.1) },
  )
})

function path(): fc.Arbitrary<string> {
  return fc.constantFrom('pdf', 'deep/pdf', 'deep', 'xls', 'deep/xls')
}

function text(): fc.Arbitrary<string> {
  return fc.constantFrom('', 'one', 'two', 'three', 'four')
}

function skillsAt(): fc.Arbitrary<readonly (readonly [string, Written])[]> {
  const written = fc.record({ name: fc.constantFrom('pdf', 'xls', undefined), text: text(), inner: text() })
  return fc.uniqueArray(fc.tuple(path(), written), { selector: ([at]) => at, maxLength: 5 })
}

interface Written {
  /** `undefined` for a SKILL.md that is none. */
  readonly name: string | undefined
  readonly text: string
  /** A second file. */
  readonly inner: string
}

/** The same SKILL.md has the same name, at whatever path it is. */
function snapshotIn(ring: {
  readonly source: string
  readonly skills: readonly (readonly [string, Written])[]
  readonly docs: string
}): Snapshot {
  const samples = ring.skills.map(([at, { name, text: body, inner }]) => {
    const one = sample(at, { 'SKILL.md': documentIn(name, body), 'inner.md': documentIn('pdf', inner) })
    const broken = { name, description: undefined, servedPath: undefined, standing: 'withheld' as const }
    return { ...one, skill: { ...one.skill, ...(name === undefined ? broken : { name }) } }
  })
  return {
    ...snapshotOf(...samples, sampleDocs({ 'a.md': documentIn('pdf', ring.docs) })),
    source: sourceId(ring.source),
  }
}

function documentIn(name: string | undefined, body: string): string {
  return name === undefined ? body : `---\nname: ${name}\n---\n${body}`
}

function outOf(
  decided: readonly { path: string; source: string; sourceOnly: boolean; content: string }[],
  snapshots: readonly Snapshot[],
): OutOfService {
  let out: OutOfService = []
  for (const [index, { source, path: at, sourceOnly, content }] of decided.entries()) {
    const { digest = '' } = sample(at, {
      'SKILL.md': documentIn('pdf', content),
      'inner.md': documentIn('pdf', ''),
    }).skill
    if (index === 2) {
      const recall = newRecall([digest], 'harmful', { ...ADA, at: '2026-01-01T00:00:00.000Z' })
      const { places, beside } = identityAt(sourceId(source), at, snapshots)
      out = out.concat({ ...recall, on: { ...recall.on, places, beside } })
    } else out = disabledAt(out, { source: sourceId(source), path: at, sourceOnly, decider: ADA }, snapshots)
  }
  return out
}

/** Following in bounded steps: a law that hangs says nothing. */
function followed(out: OutOfService, snapshots: readonly Snapshot[]): FollowedEntries {
  const steps = following(out, snapshots)
  for (let step = 0; step < 10_000; step += 1) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
  throw new Error('following does not end')
}

/** The documents of a rule that a snapshot of their source has. */
function documentsOf({ places }: OutOfService[number]['on'], snapshots: readonly Snapshot[]): string[] {
  return places.flatMap(({ source, document }) => {
    const files = snapshots.flatMap((one) =>
      one.source === source ? [...one.skills, ...(one.docs === undefined ? [] : [one.docs])] : [],
    )
    const isThere = files.some((one) => one.files.some(({ sha256 }) => sha256 === document))
    return isThere && document !== undefined ? [`${source} ${document}`] : []
  })
}
