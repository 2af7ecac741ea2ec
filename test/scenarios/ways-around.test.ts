import { copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { changeDatabase } from '../support/damage.ts'
import { Desk, TEAM, skills } from './desk.ts'

/** A daemon that serves a tag of its repository. */
async function atTag(): Promise<{ desk: Desk; first: string } & AsyncDisposable> {
  const desk = await Desk.open(['ref: v1'])
  const first = await desk.repository.commit(skills('one'))
  await desk.repository.git('tag', 'v1', first)
  await desk.start()
  await desk.sync()
  return { desk, first, [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose]() }
}

async function moveTag({ repository }: Desk): Promise<string> {
  const evil = await repository.commit(skills('evil'), { orphan: true })
  await repository.git('tag', '--force', 'v1', evil)
  return evil
}

test('a tag that moved while a damaged snapshot was all that is known of it is held, and the old commit is brought back', async () => {
  await using scene = await atTag()
  const { desk, first } = scene
  await moveTag(desk)
  changeDatabase(desk.state, "UPDATE object SET bytes = x'00' WHERE label = 'snapshot'")
  await desk.start()

  await desk.sync()
  const again = await desk.sync()

  expect(again).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
  expect([desk.served(), desk.names()]).toEqual([first, ['one']])
})

test('a commit that was rejected stays so although the snapshot that was served is damaged', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  desk.source = ['update: review']
  await desk.start()
  const second = await desk.repository.commit(skills('two'))
  await desk.sync()
  await desk.decide('reject', second)
  desk.source = []
  changeDatabase(desk.state, "UPDATE object SET bytes = x'00' WHERE label = 'snapshot'")
  await desk.start()

  const mended = await desk.sync()
  const again = await desk.sync()

  expect(mended).toMatchObject({ kind: 'updated', revision: { commit: first } })
  expect(again).toMatchObject({ kind: 'waiting', reason: { code: 'rejected' } })
  expect(desk.served()).toBe(first)
})

test('a tag that becomes a branch of the same name is held', async () => {
  await using scene = await atTag()
  const { desk, first } = scene
  const evil = await desk.repository.commit(skills('evil'), { orphan: true })
  await desk.repository.git('tag', '--delete', 'v1')
  await desk.repository.git('update-ref', 'refs/heads/v1', evil)

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
  expect(desk.served()).toBe(first)
})

test('to write the full name of a tag is no yes to where it moved', async () => {
  await using scene = await atTag()
  const { desk, first } = scene
  await moveTag(desk)
  desk.source = ['ref: refs/tags/v1']
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
  expect(desk.served()).toBe(first)
})

test('a tag that moved while the source was held elsewhere waits when it is released', async () => {
  await using scene = await atTag()
  const { desk } = scene
  const elsewhere = await desk.repository.commit(skills('elsewhere'))
  await desk.hold(elsewhere)
  await desk.sync()
  const held = desk.served()
  await moveTag(desk)
  await desk.decide('release')

  const outcome = await desk.sync()

  expect(held).toBe(elsewhere)
  expect(outcome).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
  expect(desk.served()).toBe(elsewhere)
})

test('a skill that is left out by the configuration leaves service also while its newest commit waits', async () => {
  await using desk = await Desk.open(['ref: v1'])
  const first = await desk.repository.commit(skills('good', 'bad'))
  await desk.repository.git('tag', 'v1', first)
  await desk.start()
  await desk.sync()
  await moveTag(desk)
  desk.source = ['ref: v1', "exclude: ['bad']"]
  await desk.start()

  await desk.sync()
  const again = await desk.sync()

  expect(again).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
  expect([desk.served(), desk.names()]).toEqual([first, ['good']])
})

test('a rollback to a commit that was never served asks the gate', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('bad'))
  await desk.repository.commit(skills('good'), { orphan: true })
  await desk.start()
  await desk.sync()
  desk.rest = ['gate: { command: /bin/false }']
  await desk.start()

  await expect(desk.hold(first)).rejects.toMatchObject({ code: 'content-refused' })

  expect(desk.names()).toEqual(['good'])
})

test('decisions that nobody can read stop every move, and what may be disabled is not served until one can', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills('one', 'two'))
  await desk.start()
  await desk.sync()
  await desk.daemon.parts.decisions.disable(TEAM, 'one', true)
  const file = join(desk.state, 'decisions.json')
  const sound = await readFile(file)
  await writeFile(file, '{')
  await writeFile(join(desk.state, 'decisions-copy.json'), '{')
  const commit = await desk.repository.commit(skills('three'))
  await desk.start()

  const outcome = await desk.sync()
  const without = desk.names()
  const { problem } = desk.status()
  await writeFile(file, sound)
  const mended = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'store-failed' } })
  expect(problem?.message).toContain('decisions.json')
  expect(without).toEqual([])
  expect(mended).toMatchObject({ kind: 'updated', revision: { commit } })
  expect(desk.names()).toEqual(['three', 'two'])
})

test('decisions of which the file is damaged are had from their copy: what is disabled stays so, and sources move on', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills('one', 'two'))
  await desk.start()
  await desk.sync()
  await desk.daemon.parts.decisions.disable(TEAM, 'one', true)
  const file = join(desk.state, 'decisions.json')
  const sound = await readFile(file, 'utf8')
  await writeFile(file, '{')
  await desk.start()

  const before = desk.names()
  await desk.repository.commit(skills('three'))
  await desk.sync()

  expect([before, desk.names()]).toEqual([['two'], ['three', 'two']])
  expect(desk.logged('decisions-damaged')).toMatchObject([{ level: 'warn', message: expect.stringContaining(file) }])
  expect(await readFile(file, 'utf8'), 'it is mended').toBe(sound)
})

test('where the decisions and their copy are gone nothing disabled is served, and the alarm lasts until a person decides', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills('one', 'two'))
  await desk.start()
  await desk.sync()
  await desk.daemon.parts.decisions.disable(TEAM, 'one', true)
  const [file, copy] = ['decisions.json', 'decisions-copy.json'].map((name) => join(desk.state, name))
  for (const path of [file!, copy!]) await rm(path)
  await desk.start()

  const before = desk.names()
  await desk.repository.commit({ one: null, ...skills('three') })
  await desk.sync()
  const { decisionsLost } = desk.daemon.parts.status.status()
  await copyFile(join(desk.state, 'generations/decisions.json'), file!)
  await desk.sync()

  expect([before, desk.names()]).toEqual([['two'], ['three', 'two']])
  expect(desk.logged('decisions-lost')).toMatchObject([{ level: 'error', message: decisionsLost }])
  expect(decisionsLost).toContain(`cp "${join(desk.state, 'generations/decisions.json')}" "${file}"`)
  expect(desk.daemon.parts.status.status().decisionsLost).toBeUndefined()
})
