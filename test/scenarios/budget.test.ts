import { expect, test } from 'vitest'
import { Desk, named, skills } from './desk.ts'

/** Each skill of `skills` takes about thirty characters of the listing. */
const LIMITED = ['packs:', '  - id: core', '    include: [{ source: team }]', '    budget: 150']

test('a commit that takes a pack over its limit waits with the figures, and is taken when it is approved', async () => {
  await using desk = await Desk.open([], ...LIMITED)
  const first = await desk.repository.commit(skills(...named(2)))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(skills(...named(20)))

  const held = await desk.sync()
  const again = await desk.sync()
  const during = [desk.served(), desk.names().length]
  await desk.decide('approve', second)
  const approved = await desk.sync()

  expect(held).toMatchObject({ kind: 'held', revision: { commit: second }, reason: { code: 'budget-exceeded' } })
  expect(held.kind === 'held' && held.reason.message).toMatch(
    /takes the listing of the pack "core" to \d+ of 150 characters in claude-code, from \d+$/,
  )
  expect(again).toEqual(held)
  expect(during).toEqual([first, 2])
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit: second } })
})

test('a pack over its limit takes a commit that makes it no larger, and a raised limit takes the one that waits', async () => {
  await using desk = await Desk.open([], ...LIMITED)
  await desk.repository.commit(skills(...named(2)))
  await desk.start()
  await desk.sync()
  const large = await desk.repository.commit(skills(...named(20)))
  await desk.sync()

  desk.rest = LIMITED.map((line) => line.replace('150', '20000'))
  await desk.start()
  const raised = await desk.sync()
  desk.rest = LIMITED
  await desk.start()
  const other = await desk.repository.commit({ 'notes.txt': 'of no skill' })
  const same = await desk.sync()

  expect(raised).toMatchObject({ kind: 'updated', revision: { commit: large } })
  expect(same).toMatchObject({ revision: { commit: other } })
  expect(['updated', 'unchanged']).toContain(same.kind)
})

test('a source that no limited pack holds is not held', async () => {
  await using desk = await Desk.open([], ...LIMITED.map((line) => line.replace('team', 'other')))
  const first = await desk.repository.commit(skills(...named(20)))
  await desk.start()

  expect(await desk.sync()).toMatchObject({ kind: 'updated', revision: { commit: first } })
})
