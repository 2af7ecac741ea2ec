import { expect, test } from 'vitest'
import { skillChanges, skillStatesOf } from '../../../src/sync/model/changes/skill-changes.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import { MOST_TEXT_BYTES, RECORD_MS } from '../../../src/sync/store/objects/object-store.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { changeDatabase, damageObject, servedIn } from '../../support/damage.ts'
import { listed } from '../../support/listed.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, never, numbered, objectId, publishSamples, sample, snapshotOf, sourceId } from './samples.ts'
import type { Sample } from './samples.ts'

const NOW = new Date('2026-01-02T03:04:05.006Z')
const DAY_MS = 86_400_000

test('a generation has a record of what changed: names, digests and commits', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const [one, two] = [numbered(1), numbered(2)]

  await publishSamples(store, NOW, one)
  await publishSamples(store, NOW, one, two)
  await publishSamples(store, NOW, two)

  const { digest, name } = two.skill
  const revision = { ref: 'refs/heads/main', commit: '1'.repeat(40) }
  const added = { path: 'skill-2', change: 'added', to: { path: 'skill-2', name, digest } }
  expect(await store.generations.records.numbers()).toEqual([3, 2, 1])
  expect(await store.generations.records.read(2)).toEqual({
    number: 2,
    createdAt: NOW.toISOString(),
    before: 1,
    moves: [{ source: 'team', from: revision, to: revision, skills: [added] }],
  })
  expect(await store.generations.records.read(1)).toMatchObject({ before: 0, moves: [{ to: revision }] })
  expect(await store.generations.records.read(3)).toMatchObject({ moves: [{ skills: [{ change: 'removed' }] }] })
})

test('the reason for which a commit breaks a skill is in its record', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const one = numbered(1)
  const finding = {
    rule: 'description-missing',
    path: 'SKILL.md',
    message: 'The frontmatter has no description',
  } as const
  await publishSamples(store, NOW, one)

  await publishSamples(store, NOW, { ...one, skill: { ...one.skill, standing: 'withheld', findings: [finding] } })

  const reason = { code: finding.rule, message: finding.message }
  expect(await store.generations.records.read(2)).toMatchObject({
    moves: [{ skills: [{ change: 'withheld', reason }] }],
  })
})

test('a source that is gone has all its skills removed', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1), numbered(2))

  await store.generations.publish([], NOW)

  const [move] = (await store.generations.records.read(2))?.moves ?? []
  expect(move?.to).toBeUndefined()
  expect(move?.skills.map(({ change, path }) => [change, path])).toEqual([
    ['removed', 'skill-1'],
    ['removed', 'skill-2'],
  ])
})

test('a collection takes the contents of a generation that retention leaves, and its record stays', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  for (const number of [1, 2, 3]) await publishSamples(store, NOW, numbered(number))

  await store.collect(
    { now: NOW, retention: { generations: 2, youngerThanMs: -1, bytes: 2 ** 33 }, keep: new Set() },
    never(),
  )

  expect(await store.generations.numbers()).toEqual([3, 2])
  expect(await store.generations.records.numbers()).toEqual([3, 2, 1])
  const own = numbered(1).skill.files.find(({ path }) => path === 'SKILL.md')
  expect(await store.objects.missing([own!.sha256])).toEqual([own!.sha256])
  for (const number of [3, 2])
    for (const file of numbered(number).skill.files) expect(await store.objects.missing([file.sha256])).toEqual([])
})

test('a source of a generation whose contents are gone is known by the records since', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const renamed = sample('skill-9', { 'SKILL.md': 'the same text' })
  await publishSamples(store, NOW, numbered(1), sample('skill-8', { 'SKILL.md': 'the same text' }))
  await publishSamples(store, NOW, numbered(2), renamed)
  await publishSamples(store, NOW, numbered(2), sample('skill-9', { 'SKILL.md': 'another text' }))
  const served = (await store.generations.current())!

  const [first, second] = [
    await store.generations.records.sourcesAt(1, served),
    await store.generations.records.sourcesAt(2, served),
  ]

  expect(new Set(first!.get(sourceId('team'))!.skills.keys())).toEqual(new Set(['skill-1', 'skill-8']))
  expect(second!.get(sourceId('team'))!.skills).toMatchObject(
    new Map([
      ['skill-2', { digest: numbered(2).skill.digest }],
      ['skill-9', { digest: renamed.skill.digest }],
    ]),
  )
  expect(await store.generations.records.sourcesAt(0, served)).toEqual(new Map())
})

test('a skill whose text changed, or stayed for a commit that broke it, is known again under its next name', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const described = (path: string, text: string, more: Partial<Skill> = {}): Sample => {
    const one = sample(path, { 'SKILL.md': text })
    return { ...one, skill: { ...one.skill, description: `About ${text[0]}`, ...more } }
  }
  const commit = objectId('4'.repeat(40))
  const kept = {
    commit,
    since: commit,
    faults: [{ rule: 'description-missing', path: 'SKILL.md', message: 'none' }],
  } as const
  await publishSamples(store, NOW, described('a-1', 'a 1'), described('b-1', 'b'))
  await publishSamples(store, NOW, described('a-1', 'a 2'), described('b-1', 'b', { kept }))
  await publishSamples(store, NOW, described('a-2', 'a 3'), described('b-2', 'b 2'))
  const served = (await store.generations.current())!

  const sources = await store.generations.records.sourcesAt(1, served)

  const now = await store.snapshots.read(served.sources[0]!.snapshot)
  const changes = skillChanges(sources!.get(sourceId('team'))!.skills, skillStatesOf(now))
  expect(changes.map(({ change, from, to }) => [change, from?.path, to?.path])).toEqual([
    ['renamed', 'a-1', 'a-2'],
    ['renamed', 'b-1', 'b-2'],
  ])
})

test('a skill that was in no list is in none in the generation before its change', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const [one, two] = [numbered(1), numbered(2)]
  await publishSamples(store, NOW, { ...one, skill: { ...one.skill, standing: 'unlisted' } }, two)
  await publishSamples(store, NOW, two)

  const sources = await store.generations.records.sourcesAt(1, (await store.generations.current())!)

  const { skills } = sources!.get(sourceId('team'))!
  expect([...skills].map(([path, { isUnlisted }]) => [path, isUnlisted])).toEqual([
    ['skill-2', undefined],
    ['skill-1', true],
  ])
})

test('the total of the records starts anew before numbers end', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  const totalAfter = async (total: number, number: number): Promise<number> => {
    changeDatabase(store, `UPDATE record SET total = ${total}`)
    await publishSamples(store, NOW, numbered(number))
    const [record] = await listed(store.objects.records([number]))
    return record!.total - record!.text.length
  }

  expect(await totalAfter(2 ** 52 - 1, 2)).toBe(2 ** 52 - 1)
  expect(await totalAfter(2 ** 52, 3)).toBe(0)
})

test('after a generation that cannot be read, the record does not say what changed', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  damageObject(store, servedIn(store))

  await publishSamples(store, NOW, numbered(2))

  const record = await store.generations.records.read(2)
  expect(record).toEqual({ number: 2, createdAt: NOW.toISOString(), before: 1 })
  expect(await store.generations.records.sourcesAt(1, (await store.generations.current())!)).toBeUndefined()
})

test('records are kept for 90 days by the times of the generations', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  for (let day = 0; day <= 100; day += 10)
    await publishSamples(store, new Date(NOW.getTime() + day * DAY_MS), numbered(day))

  expect(await store.generations.records.numbers()).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
  expect(RECORD_MS).toBe(90 * DAY_MS)
})

test('a record is of the size of what changed, however many skills there are', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const many = Array.from({ length: 300 }, (_, at) => numbered(at))
  await publishSamples(store, NOW, ...many)
  await publishSamples(store, NOW, ...many.slice(1))

  const [later] = await listed(store.objects.records([2]))

  expect(later!.text.length).toBeLessThan(1_000)
})

test('of more changes than a record takes, the others are counted, and the size is bounded', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await keepSamples(store, numbered(1))
  const skills = Array.from({ length: 2_500 }, (_, at) => ({ ...numbered(1).skill, path: `${at}`.padStart(999, '0') }))
  const snapshot = await store.snapshots.keep({ ...snapshotOf(), skills })

  await store.generations.publish([{ source: sourceId('team'), snapshot }], NOW)

  const [stored] = await listed(store.objects.records([1]))
  const [move] = (await store.generations.records.read(1))?.moves ?? []
  expect(stored!.text.length).toBeLessThanOrEqual(MOST_TEXT_BYTES)
  expect(move!.skills.length).toBeGreaterThan(900)
  expect(move!.skills.length + move!.leftOut!.added!).toBe(2_500)
  await store.generations.publish([{ source: sourceId('team'), snapshot }], NOW)
  const served = (await store.generations.current())!
  expect(await store.generations.records.sourcesAt(1, served)).toBeDefined()
  expect(await store.generations.records.sourcesAt(0, served)).toBeUndefined()
})

const FORGED = [
  ['no JSON', "UPDATE record SET text = 'x'"],
  ['another number', `UPDATE record SET text = replace(text, '"number":2', '"number":3')`],
  ['a time that is none', `UPDATE record SET text = replace(text, '2026-01-02', 'yesterday')`],
  ['itself as the one before', `UPDATE record SET text = replace(text, '"before":1', '"before":2')`],
  ['a change of no kind', `UPDATE record SET text = replace(text, '"added"', '"eaten"')`],
  ['a path that is a number', `UPDATE record SET text = replace(text, '"path":"skill-2"', '"path":2')`],
  ['a commit that is none', `UPDATE record SET text = replace(text, '${'1'.repeat(40)}', 'main')`],
  ['moves that are no list', `UPDATE record SET text = replace(text, '"moves":[', '"moves":{},"x":[')`],
  ['a text of too many bytes', `UPDATE record SET text = text || printf('%.*c', ${MOST_TEXT_BYTES}, ' ')`],
  ['a total that JavaScript has not', 'UPDATE record SET total = 9223372036854775807'],
  ['a time that JavaScript has not', 'UPDATE record SET at = 9223372036854775807'],
  ['the least time of SQLite', 'UPDATE record SET at = -9223372036854775808'],
] as const

test.for(FORGED)('a record of another hand is ignored, and the next one is written: %s', async ([, sql]) => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(1), numbered(2))
  changeDatabase(store, `${sql} WHERE sequence = 2`)

  expect(await store.generations.records.read(2)).toBeUndefined()
  expect(await store.generations.current()).toMatchObject({ number: 2 })
  await publishSamples(store, NOW, numbered(2))
  expect(await store.generations.records.read(3)).toMatchObject({ moves: [{ skills: [{ change: 'removed' }] }] })
})

test('a record of a later generation than the head is no record', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  changeDatabase(store, 'INSERT INTO record SELECT 9007199254740993, at, total, 1, text FROM record')

  expect(await store.generations.records.numbers()).toEqual([1])
  expect(await listed(store.generations.records.leaving())).toEqual([])
  await publishSamples(store, NOW, numbered(2))
  expect(await store.generations.records.numbers()).toEqual([2, 1])
})

test('a record of a generation before the first one is no record', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  changeDatabase(store, 'INSERT INTO record SELECT -9007199254740993, at, total, 1, text FROM record')

  expect(await store.generations.records.numbers()).toEqual([1])
  expect(await listed(store.generations.records.leaving())).toEqual([])
})
