import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SkillFile } from '../../../../src/sync/model/skill.ts'
import { Damaged } from '../../../../src/sync/model/sync-error.ts'
import type { BytesOrigin } from '../../../../src/sync/store/skills/skill-writer.ts'
import type { StoredSkill } from '../../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { fetched, never, numbered } from '../samples.ts'

test('what comes bit by bit stands in its place all at once, and what is not wanted then is gone', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const [first, second, unwanted] = [numbered(1), numbered(2), numbered(3)]
  const bytesOf = await fetched(scratch.path, [first, second, unwanted])
  {
    await using keeping = store.skills.keeping()

    await keeping.add([first.stored, unwanted.stored], bytesOf, never())
    await keeping.add([second.stored], bytesOf, never())
    const before = await store.skills.digests()
    await keeping.finish([first.stored, second.stored], never())

    expect(before).toEqual([])
  }
  const wanted = [first.stored.digest, second.stored.digest]
  expect((await readdir(join(folder.path, 'skills'))).toSorted()).toEqual(wanted.toSorted())
  for (const { stored } of [first, second]) expect(await store.skills.has(stored)).toBe(true)
})

test('what was added, or was there, is asked for and looked at once', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const [there, fresh] = [numbered(1), numbered(2)]
  const bytesOf = await fetched(scratch.path, [there, fresh])
  await store.skills.keepAll([there.stored], bytesOf, never())
  await using keeping = store.skills.keeping()
  await keeping.add([there.stored, fresh.stored], bytesOf, never())

  await keeping.add([there.stored, fresh.stored], () => expect.unreachable(), never())
  await keeping.finish([there.stored, fresh.stored], never())

  expect(await store.skills.has(fresh.stored)).toBe(true)
})

test('what is never finished leaves nothing behind', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const skills = Array.from({ length: 40 }, (_, index) => numbered(index))
  {
    await using keeping = store.skills.keeping()

    await keeping.add(
      skills.map(({ stored }) => stored),
      await fetched(scratch.path, skills),
      never(),
    )

    expect(await readdir(join(folder.path, 'skills'))).toHaveLength(40)
  }
  expect(await readdir(join(folder.path, 'skills'))).toEqual([])
})

test('what fails in the middle is not there to be finished, and leaves nothing behind', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const [good, bad] = [numbered(1), numbered(2)]
  const bytesOf = await fetched(scratch.path, [good, bad])
  {
    await using keeping = store.skills.keeping()
    const elsewhere = (skill: StoredSkill, file: SkillFile): BytesOrigin =>
      skill === bad.stored ? { kind: 'scratch', file: join(scratch.path, 'gone'), at: 0 } : bytesOf(skill, file)

    await expect(keeping.add([good.stored, bad.stored], elsewhere, never())).rejects.toMatchObject({
      code: 'store-failed',
    })

    await expect(keeping.finish([good.stored], never())).rejects.toThrow('never added')
  }
  expect(await readdir(join(folder.path, 'skills'))).toEqual([])
})

test('what is aborted in the middle leaves nothing behind', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const skills = Array.from({ length: 400 }, (_, index) => numbered(index))
  const bytesOf = await fetched(scratch.path, skills)
  const stop = new AbortController()
  let asked = 0
  {
    await using keeping = store.skills.keeping()
    const adding = keeping.add(
      skills.map(({ stored }) => stored),
      (skill, file) => {
        // All are asked for before the first is written.
        if ((asked += 1) === 400) setImmediate(() => stop.abort(new Error('enough')))
        return bytesOf(skill, file)
      },
      stop.signal,
    )

    await expect(adding).rejects.toThrow('enough')
  }
  expect(await readdir(join(folder.path, 'skills'))).toEqual([])
})

test('more bytes than there may be are refused before they are written', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const [first, second] = [numbered(1), numbered(2)]
  const bytesOf = await fetched(scratch.path, [first, second])
  const bytes = first.stored.files.reduce((sum, { size }) => sum + size, 0)
  await using keeping = store.skills.keeping(bytes + 1)
  await keeping.add([first.stored], bytesOf, never())

  const adding = keeping.add([second.stored], bytesOf, never())

  await expect(adding).rejects.toMatchObject({
    code: 'limit-exceeded',
    message: expect.stringContaining('limits.disk.bytes'),
  })
  expect(await readdir(join(folder.path, 'skills'))).toHaveLength(1)
})

test('what was there when it was added and is gone when it is finished is told as damage', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const { stored } = numbered(1)
  const bytesOf = await fetched(scratch.path, [numbered(1)])
  await store.skills.keepAll([stored], bytesOf, never())
  await using keeping = store.skills.keeping()
  await keeping.add([stored], bytesOf, never())
  await rm(join(folder.path, 'skills', stored.digest), { recursive: true })

  const finishing = keeping.finish([stored], never())

  await expect(finishing).rejects.toThrow(Damaged)
})

test('of two that keep the same skill at once both have it', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await using scratch = await store.scratch()
  const { stored } = numbered(1)
  const bytesOf = await fetched(scratch.path, [numbered(1)])
  {
    await using one = store.skills.keeping()
    await using other = store.skills.keeping()
    for (const keeping of [one, other]) await keeping.add([stored], bytesOf, never())

    await Promise.all([one, other].map((keeping) => keeping.finish([stored], never())))
  }
  expect(await store.skills.has(stored)).toBe(true)
  expect(await readdir(join(folder.path, 'skills'))).toEqual([stored.digest])
})
