import { expect, test } from 'vitest'
import { disabledAt, following, followEntries } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import { disabledIn } from '../../../../src/sync/model/decisions/disabled-matches.ts'
import type { OutOfService } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { MOST_PLACES } from '../../../../src/sync/model/decisions/rules.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { ADA } from '../../../support/decided.ts'
import { sample, snapshotOf, sourceId } from '../../store/samples.ts'

const TEAM = sourceId('team')

test('many skills of its name leave a disabled one known by all else that it is', () => {
  const others = Array.from({ length: MOST_PLACES + 1 }, (_, index) => at(`o${index}/pdf`, `other ${index}`))
  const before = snapshot(at('pdf', 'bad'), ...others)
  const disabled = outAt('pdf', before)

  const after = followEntries(disabled, [snapshot(at('moved/pdf', 'bad'), at('new/pdf', 'other'), ...others)])

  expect([...disabledIn(before, disabled).keys()]).toEqual(['pdf'])
  expect(after.returned.map(({ at: { path } }) => path)).toEqual(['moved/pdf'])
})

test('a disabled skill that is changed every day is one place, with its first content and its newest', () => {
  const days = Array.from({ length: 300 }, (_, day) => snapshot(at('pdf', `day ${day}`)))
  let disabled = outAt('pdf', days[0]!)

  for (const day of days) {
    const { full, ...after } = followEntries(disabled, [day])
    expect([full, after.returned]).toEqual([undefined, []])
    disabled = after.out
  }

  const documents = disabled.flatMap(({ on }) => on.places.map(({ document }) => document))
  expect(documents).toEqual([documentIn(days[0]!), documentIn(days[299]!)])
})

test('of a disabled skill of which rings serve several versions, each is known for as long as one serves it', () => {
  const version = (day: number): Snapshot => snapshot(at('pdf', `day ${day}`))
  let out = outAt('pdf', version(0))

  for (let day = 1; day < 9; day += 1) {
    const steps = following(out, [version(day + 1), version(day), version(day - 1)])
    const ends = Array.from({ length: 1_000 }, () => steps.next()).find(({ done }) => done)
    out = (ends!.value as ReturnType<typeof followEntries>).out
  }

  const documents = out.flatMap(({ on }) => on.places.map(({ document }) => document))
  expect(new Set(documents)).toEqual(new Set([0, 7, 8, 9].map((day) => documentIn(version(day)))))
  expect(documents).toHaveLength(4)
})

test('an empty SKILL.md stands for no skill: many files are empty', () => {
  const empty = { ...at('pdf', ''), standing: 'withheld' as const, name: undefined, description: undefined }
  const before = snapshot(empty, at('good', 'text'))
  const files = [...at('good', 'text').files, { ...empty.files[0]!, path: '__init__.py' }]

  const matches = disabledIn(snapshot({ ...at('good', 'text'), files }), outAt('pdf', before))

  expect([...matches.keys()]).toEqual([])
})

test('what is learnt in one skill of a commit is known in the next, in whatever order they lie', () => {
  const before = snapshot(at('pdf', 'bad'))
  const next = snapshot(at('a', 'changed'), at('pdf', 'changed'))

  const { out, returned } = followEntries(outAt('pdf', before), [next])

  expect(returned).toEqual([{ source: TEAM, path: 'pdf', by: 'content', at: { source: TEAM, path: 'a' } }])
  expect([...disabledIn(next, out).keys()].toSorted()).toEqual(['a', 'pdf'])
})

function outAt(path: string, one: Snapshot): OutOfService {
  return disabledAt([], { source: TEAM, path, decider: ADA }, [one])
}

/** A skill that has the name of its folder and one file. */
function at(path: string, text: string): Skill {
  const { skill } = sample(path.slice(path.lastIndexOf('/') + 1), { 'SKILL.md': text })
  return { ...skill, path, servedPath: path }
}

function snapshot(...skills: readonly Skill[]): Snapshot {
  return { ...snapshotOf(), source: TEAM, skills }
}

function documentIn({ skills }: Snapshot): string | undefined {
  return skills[0]?.files[0]?.sha256
}
