import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { Outcome } from '../../src/sync/model/outcome.ts'
import { Desk, removed, skills } from './desk.ts'

test('with update: review nothing is served before the first commit is approved, and the mend names exactly that', async () => {
  await using desk = await Desk.open(['update: review'])
  const first = await desk.repository.commit(skills('one'))
  await desk.start()

  const held = await desk.sync()
  const during = [desk.served(), desk.names()]
  const { problem, upstream } = desk.status()
  const [logged] = desk.logged('source-waiting')
  await desk.decide('approve', first)
  const approved = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', revision: { commit: first }, reason: { code: 'awaiting-approval' } })
  expect(during).toEqual([undefined, []])
  expect(upstream?.commit).toBe(first)
  const mend = `Review it with skillsyncd diff served upstream --only team, then skillsyncd approve team ${first} or skillsyncd reject team ${first}`
  expect([problem?.fix, logged?.['fix']]).toEqual([mend, mend])
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit: first } })
  expect(desk.status()).toMatchObject({ problem: undefined, decision: {} })
})

test('with update: review each move waits until it is approved', async () => {
  await using desk = await reviewed()
  const first = desk.served()
  const second = await desk.repository.commit(skills('two'))

  const held = await desk.sync()
  const served = desk.served()
  await desk.decideOnWaiting('approve')
  const approved = await desk.sync()
  const third = await desk.repository.commit(skills('three'))
  const next = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', revision: { commit: second }, reason: { code: 'awaiting-approval' } })
  expect(served).toBe(first)
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit: second } })
  expect(next).toMatchObject({ kind: 'waiting', revision: { commit: third }, reason: { code: 'awaiting-approval' } })
})

test('a state folder that is lost makes the newest commit a first one again', async () => {
  await using desk = await reviewed()
  const second = await desk.repository.commit(skills('two'))
  await desk.daemon[Symbol.asyncDispose]()
  await rm(desk.state, { recursive: true })
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({
    kind: 'waiting',
    revision: { commit: second },
    reason: { code: 'awaiting-approval' },
  })
  expect(desk.names()).toEqual([])
})

test('an approval that a restart came after is heeded by the next pull', async () => {
  await using desk = await Desk.open(['update: review'])
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  await desk.decide('approve', first)
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', revision: { commit: first } })
})

test.each([true, false])('what was approved is served although the branch moved on, filters: %s', async (filters) => {
  await using desk = await reviewed(filters)
  const second = await desk.repository.commit(skills('two'))
  await desk.sync()
  await desk.decide('approve', second)
  const third = await desk.repository.commit(skills('three'))

  const taken = await desk.sync()
  const { served, upstream, problem } = desk.status()
  const next = await desk.sync()

  expect(taken).toMatchObject({ kind: 'updated', revision: { ref: 'refs/heads/main', commit: second } })
  expect([served?.commit, upstream?.commit]).toEqual([second, third])
  expect(problem).toMatchObject({
    code: 'awaiting-approval',
    message: expect.stringContaining(`from ${second} to ${third}`),
  })
  expect(next).toMatchObject({ kind: 'waiting', revision: { commit: third }, reason: { code: 'awaiting-approval' } })
  expect(desk.names()).toEqual(['one', 'two'])
  await expect(desk.decide('approve', second)).rejects.toMatchObject({ code: 'nothing-to-decide' })
})

test('the first commit that was approved is served although the branch moved on since', async () => {
  await using desk = await Desk.open(['update: review'])
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  await desk.decide('approve', first)
  await desk.repository.commit(skills('two'))

  const taken = await desk.sync()

  expect(taken).toMatchObject({
    kind: 'updated',
    revision: { commit: first },
    drift: { error: { code: 'awaiting-approval' } },
  })
  expect(desk.names()).toEqual(['one'])
})

test('an approved commit whose relation the host does not show is not served, and not said to be left out', async () => {
  await using desk = await reviewed()
  const second = await desk.repository.commit(skills('two'))
  await desk.sync()
  await desk.decide('approve', second)
  await desk.repository.commit(skills('three'))
  desk.git.before = async ({ body }) => {
    const isHistory = body.includes('filter tree:0')
    desk.git.fault = isHistory ? { kind: 'status', status: 500 } : { kind: 'none' }
  }

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'waiting', reason: { code: 'awaiting-approval' } })
  expect(messageOf(outcome)).toContain(
    `the approved commit is not served, ${second}: the host does not show if refs/heads/main leads to it`,
  )
})

test('what was approved and then taken out of the branch is not served, and the hold says so', async () => {
  await using desk = await reviewed()
  const first = desk.served()
  const second = await desk.repository.commit(skills('two'))
  await desk.sync()
  await desk.decide('approve', second)
  const other = await desk.repository.commit(skills('other'), { orphan: true })

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'waiting', revision: { commit: other }, reason: { code: 'history-rewritten' } })
  expect(messageOf(outcome)).toContain(
    `the approved commit is not served, ${second}: refs/heads/main does not lead to it`,
  )
  expect(desk.served()).toBe(first)
})

test('a branch that moved on from an approved mass deletion to what no brake holds is followed there at once', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills('one', 'two', 'three', 'four', 'five', 'six', 'seven'))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(removed('one', 'two', 'three', 'four', 'five', 'six'))
  await desk.sync()
  await desk.decide('approve', second)
  const third = await desk.repository.commit(skills('one', 'two', 'three', 'four', 'five', 'six'))

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', revision: { commit: third } })
})

test('the same commit at another address of the source needs no second approval, and another one does', async () => {
  await using desk = await reviewed()
  const first = desk.served()
  for (const place of ['moved', 'again']) desk.git.serve(place, desk.repository)
  desk.place = 'moved'
  await desk.start()
  const same = await desk.sync()
  const second = await desk.repository.commit(skills('two'))
  desk.place = 'again'
  await desk.start()

  const other = await desk.sync()

  expect(same).toMatchObject({ kind: 'updated', revision: { commit: first } })
  expect(other).toMatchObject({ kind: 'waiting', revision: { commit: second }, reason: { code: 'awaiting-approval' } })
  expect(desk.served()).toBe(first)
})

test('a new source that was held by a full id and is released has still to have its branch approved', async () => {
  await using desk = await Desk.open(['update: review'])
  const first = await desk.repository.commit(skills('one'))
  const second = await desk.repository.commit(skills('two'))
  await desk.start()
  await desk.hold(first)
  const held = desk.served()
  await desk.decide('release')

  const outcome = await desk.sync()

  expect(held).toBe(first)
  expect(outcome).toMatchObject({
    kind: 'waiting',
    revision: { commit: second },
    reason: { code: 'awaiting-approval' },
  })
  expect(desk.served()).toBe(first)
})

test('a commit that was rolled back from is not served again for want of an approval', async () => {
  await using desk = await reviewed()
  const first = desk.served()!
  const second = await desk.repository.commit(skills('two'))
  await desk.sync()
  await desk.decide('approve', second)
  await desk.sync()

  await desk.rollback(first)
  const passed = await desk.sync()
  const third = await desk.repository.commit(skills('three'))
  const held = await desk.sync()

  expect(passed).toMatchObject({ kind: 'waiting', revision: { commit: second }, reason: { code: 'rolled-back' } })
  expect(held).toMatchObject({ kind: 'waiting', revision: { commit: third }, reason: { code: 'awaiting-approval' } })
  expect(desk.served()).toBe(first)
})

/** A desk with `update: review`, whose first commit is approved and served. */
async function reviewed(filters = true): Promise<Desk> {
  const desk = await Desk.open(['update: review'])
  await desk.repository.git('config', 'uploadpack.allowFilter', String(filters))
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  await desk.decide('approve', first)
  await desk.sync()
  return desk
}

function messageOf(outcome: Outcome): string {
  return outcome.kind === 'waiting' ? outcome.reason.message : ''
}
