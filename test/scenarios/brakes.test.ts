import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../src/sync/store/store.ts'
import { changeDatabase } from '../support/damage.ts'
import { disableRule, stayRule } from '../support/decided.ts'
import { skillText } from '../support/git/scripted-upstream.ts'
import { pullNow } from '../support/pull-now.ts'
import { Desk, TEAM, named, removed, skills } from './desk.ts'

const HOUR = 3_600_000
const NEVER = new AbortController().signal

test('a source that never had skills is published empty; one that had some is held, whatever the commit is', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit({ 'README.md': 'none yet' })
  await desk.start()
  const empty = await desk.sync()
  const first = await desk.repository.commit(skills('one'))
  await desk.sync()
  const orphan = await desk.repository.commit({ 'README.md': 'gone' }, { orphan: true })

  const held = await desk.sync()

  expect(empty).toMatchObject({ kind: 'updated' })
  expect(held).toMatchObject({ kind: 'waiting', revision: { commit: orphan }, reason: { code: 'mass-deletion' } })
  expect([desk.served(), desk.names()]).toEqual([first, ['one']])
})

test('what waits for a person is told, also while the store cannot be read', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  await desk.repository.commit({ 'README.md': 'gone' }, { orphan: true })
  await desk.sync()
  for (const table of ['object', 'piece', 'head'])
    changeDatabase(desk.state, `ALTER TABLE ${table} RENAME TO ${table}_away`)

  const outcomes = await pullNow(desk.daemon)

  expect(outcomes.get(TEAM)).toMatchObject({ kind: 'waiting', reason: { code: 'mass-deletion' } })
  await expect(desk.history()).rejects.toThrow('no such table')
})

test('199 of 200 skills deleted in one commit wait, and one approve releases them', async () => {
  await using desk = await Desk.open()
  const names = named(200)
  const first = await desk.repository.commit(skills(...names))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(removed(...names.slice(1)))

  const held = await desk.sync()
  const again = await desk.sync()
  const during = [desk.served(), desk.names().length]
  await desk.decide('approve', second)
  const approved = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', reason: { code: 'mass-deletion' } })
  expect(held.kind === 'waiting' && held.reason.message).toMatch(
    new RegExp(`of the 200 skills .*${first} ${second} has 1: removed skill-1, skill-10, skill-100, .* and 189 more$`),
  )
  expect(again).toMatchObject({ kind: 'waiting', reason: { code: 'mass-deletion' } })
  expect(during).toEqual([first, 200])
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit: second } })
  expect([desk.names(), desk.status().decision]).toEqual([['skill-0'], {}])
})

test('a rejected mass deletion is passed over, and the next commit is taken', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills(...named(20)))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(removed(...named(20)))
  await desk.sync()

  await desk.decideOnWaiting('reject')
  const rejected = await desk.sync()
  const during = desk.served()
  const third = await desk.repository.commit(skills(...named(21)))
  const taken = await desk.sync()

  expect(rejected).toMatchObject({ kind: 'waiting', revision: { commit: second }, reason: { code: 'rejected' } })
  expect(during).toBe(first)
  expect(taken).toMatchObject({ kind: 'updated', revision: { commit: third } })
  expect([desk.names().length, desk.status().decision]).toEqual([21, {}])
})

test('a rollback to a commit that the store never had fetches it by its id, and the next new commit is taken', async () => {
  await using desk = await Desk.open()
  const oldest = await desk.repository.commit(skills('oldest'))
  await desk.repository.commit(skills('middle'))
  const newest = await desk.repository.commit(skills('newest'))
  await desk.start()
  await desk.sync()

  await desk.rollback(oldest)
  const back = [desk.served(), desk.names()]
  const next = await desk.sync()
  const later = await desk.repository.commit(skills('later'))
  const taken = await desk.sync()

  expect(back).toEqual([oldest, ['oldest']])
  expect(next).toMatchObject({ kind: 'waiting', revision: { commit: newest }, reason: { code: 'rolled-back' } })
  expect(taken).toMatchObject({ kind: 'updated', revision: { commit: later } })
  expect(desk.status().decision).toEqual({})
})

test('a rollback or a hold to a commit that nobody has fails by name, and nothing moves', async () => {
  await using desk = await Desk.open()
  const commit = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()

  for (const serve of [(at: string) => desk.rollback(at), (at: string) => desk.hold(at)]) {
    await expect(serve('f'.repeat(40))).rejects.toMatchObject({ name: 'SyncError', code: 'ref-not-found' })
    await expect(serve('ffffff')).rejects.toMatchObject({ code: 'unknown-commit' })
  }

  expect([desk.served(), desk.status().decision]).toEqual([commit, {}])
})

test('a hold at an earlier commit serves it at once, and stays through new commits and a restart, until it is released', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  await desk.repository.commit(skills('two'))
  await desk.sync()

  await desk.hold(first.slice(0, 8))
  const third = await desk.repository.commit(skills('three'))
  const held = await desk.sync()
  await desk.start()
  const afterRestart = await desk.sync()
  const during = [desk.served(), desk.names()]
  await desk.decide('release')
  const resumed = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', revision: { commit: third }, reason: { code: 'held' } })
  expect(afterRestart).toMatchObject({ kind: 'waiting', reason: { code: 'held' } })
  expect(during).toEqual([first, ['one']])
  expect(resumed).toMatchObject({ kind: 'updated', revision: { commit: third } })
  expect(desk.status()).toMatchObject({ decision: {}, problem: undefined })
})

test('a rollback passes over what was left, also after a restart, and takes the next commit', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(skills('one', 'two'))
  await desk.sync()

  await desk.rollback(first)
  await desk.start()
  const skipped = await desk.sync()
  const during = desk.served()
  const third = await desk.repository.commit(skills('three'))
  const taken = await desk.sync()

  expect(skipped).toMatchObject({ kind: 'waiting', revision: { commit: second }, reason: { code: 'rolled-back' } })
  expect(during).toBe(first)
  expect(taken).toMatchObject({ kind: 'updated', revision: { commit: third } })
  expect(desk.status().decision).toEqual({})
})

test('a rollback of a held source moves the hold along, which would take the source back', async () => {
  await using desk = await Desk.open()
  const [first, second, third] = await threeCommits(desk)
  await desk.hold(first!)

  await desk.rollback(second!)
  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'waiting', revision: { commit: third }, reason: { code: 'held' } })
  expect([desk.served(), desk.status().decision.hold?.commit]).toEqual([second, second])
})

test('a rollback to a generation brings back every source that it has, as a new generation', async () => {
  await using desk = await Desk.open()
  const [first, , third] = await threeCommits(desk)

  const done = await desk.daemon.parts.rollbacks.to({ kind: 'generation', number: 1 }, NEVER)
  const unknown = desk.daemon.parts.rollbacks.to({ kind: 'generation', number: 99 }, NEVER)

  await expect(unknown).rejects.toMatchObject({ code: 'unknown-generation' })
  expect(done).toMatchObject([
    { source: 'team', to: { commit: first }, decision: { skipped: { commit: third, by: 'rollback' } } },
  ])
  expect(desk.served()).toBe(first)
  expect((await desk.history())[0]).toMatchObject({ generation: 4, isServed: true, cause: { action: 'rollback' } })
})

test('a source that is held and not polled asks nobody, also after a restart, and is looked at again when it is released', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(skills('two'))
  await desk.holdUnpolled()
  await desk.start()
  const before = desk.git.requests.length

  const held = await desk.sync()
  const requests = desk.git.requests.length - before
  const served = desk.served()
  await desk.decide('release')
  const released = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', reason: { code: 'held' } })
  expect([requests, served]).toEqual([0, first])
  expect(released).toMatchObject({ kind: 'updated', revision: { commit: second } })
  await expect(desk.decide('release')).rejects.toMatchObject({ code: 'nothing-to-decide' })
})

test('a held source stays at its commit over a restart; released it follows its ref', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  await desk.decide('hold')
  const second = await desk.repository.commit(skills('two'))

  const held = await desk.sync()
  await desk.start()
  const afterRestart = await desk.sync()
  const served = desk.served()
  await desk.decide('release')
  const released = await desk.sync()

  for (const outcome of [held, afterRestart])
    expect(outcome).toMatchObject({ kind: 'waiting', revision: { commit: second }, reason: { code: 'held' } })
  expect(served).toBe(first)
  expect(released).toMatchObject({ kind: 'updated', revision: { commit: second } })
})

test.each([{ source: [] }, { source: ['update: review'] }, { source: ['ref: main'] }])(
  'a source that is held at a commit by its id is taken there at once, and back: %o',
  async ({ source }) => {
    await using desk = await Desk.open(source)
    const first = await desk.repository.commit(skills(...named(20)))
    const second = await desk.repository.commit(skills(...named(21)))
    await desk.start()
    const initial = await desk.sync()
    if (initial.kind === 'waiting') await desk.decideOnWaiting('approve')
    await desk.sync()

    await desk.hold(first)
    const held = desk.served()
    const stays = await desk.sync()
    await desk.decide('release')
    const released = await desk.sync()

    expect(held).toBe(first)
    expect(stays).toMatchObject({ kind: 'waiting', reason: { code: 'held' } })
    // It was followed there before: nothing moved that nobody has seen.
    expect(released).toMatchObject({ kind: 'updated', revision: { commit: second } })
  },
)

test('a source that is held at the very commit that waits takes it', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills(...named(20)))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(removed(...named(19)))
  const waiting = await desk.sync()

  await desk.hold(second)
  const served = desk.served()
  const held = await desk.sync()

  expect(waiting).toMatchObject({ kind: 'waiting', reason: { code: 'mass-deletion' } })
  expect([served, desk.served()]).toEqual([second, second])
  expect(held).toMatchObject({ revision: { commit: second } })
  expect(desk.status()).toMatchObject({ problem: undefined, upstream: { commit: second } })
})

test('what is held, and what can be rolled back to within the retention, is never collected', async () => {
  await using desk = await Desk.open([], 'retention: { generations: 3, younger_than: 1s }')
  const commits: string[] = []
  await desk.repository.commit({ 'a/SKILL.md': skillText('a', '', '0') })
  await desk.start()
  for (const body of ['1', '2', '3', '4', '5']) {
    await desk.clock.advance(HOUR)
    commits.push(await desk.repository.commit({ 'a/SKILL.md': skillText('a', '', body) }))
    await desk.sync()
  }
  const kept = (await desk.history()).map(({ generation }) => generation)

  await desk.hold(commits[2]!)
  const held = desk.served()
  for (const body of ['6', '7']) {
    await desk.clock.advance(HOUR)
    await desk.repository.commit({ 'a/SKILL.md': skillText('a', '', body) })
    await desk.sync()
  }

  expect(kept).toEqual([5, 4, 3])
  expect([held, desk.served()]).toEqual([commits[2], commits[2]])
  using store = await Store.open(desk.state)
  const versions = ['0', '1', '2', '3', '4', '5', '6', '7'].map((body) => hash('sha256', skillText('a', '', body)))
  expect(versions.length - (await store.objects.missing(versions)).length).toBeLessThanOrEqual(4)
})

const HOLD = stayRule(TEAM, { noPoll: true, at: '2026-06-15T10:00:00.000Z' })

test.each([
  '',
  '{',
  fileOf({ ...HOLD, commit: 'main' }),
  fileOf({ ...HOLD, noPoll: undefined }),
  fileOf({ ...HOLD, on: { source: 'Team' } }),
  fileOf({ ...HOLD, effect: 'wait' }),
  fileOf({ ...disableRule([{ source: TEAM, path: 'one' }]), on: 'one' }),
  fileOf({ ...disableRule([{ source: TEAM, path: 'one' }]), on: ['one'] }),
  fileOf(disableRule([])),
  fileOf({ ...disableRule([{ source: TEAM, path: 'one' }]), by: 'hub' }),
  '{"sources":{}}',
])('decisions that cannot be read stop every pull by name, and are left as they are: %j', async (text) => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.holdUnpolled()
  const file = join(desk.state, 'decisions.json')
  await writeFile(file, text)
  await writeFile(join(desk.state, 'decisions-copy.json'), text)

  await desk.start()
  const outcome = await desk.sync()

  expect(outcome).toMatchObject({
    kind: 'failed',
    error: { code: 'store-failed', message: expect.stringContaining(file) },
  })
})

test('a decision about a source that does not exist any more is kept, and disturbs nobody', async () => {
  await using desk = await Desk.open()
  const commit = await desk.repository.commit(skills('one'))
  await desk.start()
  const file = join(desk.state, 'decisions.json')
  await writeFile(file, `${fileOf({ ...HOLD, on: { source: 'gone' } })}\n`)
  await desk.start()

  expect(await desk.sync()).toMatchObject({ kind: 'updated', revision: { commit } })
  await desk.holdUnpolled()

  expect(desk.daemon.parts.status.status().sources.map(({ id }) => id)).toEqual([TEAM])
  expect(desk.status().decision).toEqual({ hold: { commit, noPoll: true, at: expect.any(String) } })
})

function fileOf(rule: object): string {
  return JSON.stringify({ rules: [rule] })
}

/** Serves three commits after one another. */
async function threeCommits(desk: Desk): Promise<string[]> {
  const commits: string[] = []
  await desk.start()
  for (const name of ['one', 'two', 'three']) {
    commits.push(await desk.repository.commit(skills(name)))
    await desk.sync()
  }
  return commits
}
