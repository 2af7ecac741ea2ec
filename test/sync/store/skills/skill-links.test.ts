import { mkdir, readFile, readdir, readlink, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { numbered, publishSamples, type Sample } from '../samples.ts'

test('each name leads to its version, whatever it led to before, and a name that is not wanted is gone', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const [one, two] = [numbered(1), numbered(2)]
  await checkOut(store, one, two)

  await store.links.follow(
    new Map([
      ['a', one.stored],
      ['b', one.stored],
    ]),
  )
  const first = await readFile(join(store.links.pathOf('a'), 'SKILL.md'), 'utf8')
  await store.links.follow(new Map([['a', two.stored]]))
  const second = await readFile(join(store.links.pathOf('a'), 'SKILL.md'), 'utf8')

  expect(first).not.toBe(second)
  expect(await readdir(store.folder.at('links'))).toEqual(['a'])
})

test('a state folder that was moved has its links lead into itself', async () => {
  await using folder = await temporaryFolder()
  const [before, after] = [join(folder.path, 'before'), join(folder.path, 'after')]
  const store = await Store.open(before)
  const one = numbered(1)
  await checkOut(store, one)
  await store.links.follow(new Map([['a', one.stored]]))

  await rename(before, after)

  expect(await readlink(join(after, 'links/a'))).toBe(`../checkouts/${one.stored.digest}/${one.stored.folderName}`)
  expect(await readdir(join(after, 'links/a'))).toContain('SKILL.md')
})

test('whoever follows a link while it is switched finds one version or the other, always', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const [one, two] = [numbered(1), numbered(2)]
  await checkOut(store, one, two)
  await store.links.follow(new Map([['a', one.stored]]))
  const document = join(store.links.pathOf('a'), 'SKILL.md')
  const texts = new Set<string>()
  const switched = new AbortController()

  const reading = (async () => {
    while (!switched.signal.aborted) texts.add(await readFile(document, 'utf8'))
  })()
  for (let turn = 0; turn < 200; turn += 1) {
    await store.links.follow(new Map([['a', turn % 2 === 0 ? two.stored : one.stored]]))
  }
  switched.abort()
  await reading

  expect(texts.size).toBe(2)
})

test('what is no name of a skill leads nowhere, and what lies in the place of a link is not removed', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const one = numbered(1)
  await checkOut(store, one)
  await mkdir(join(store.folder.at('links'), 'b', 'deep'), { recursive: true })
  await symlink('/etc', store.folder.at('links', 'stray'))

  const outside = store.links.follow(new Map([['../a', one.stored]]))
  await expect(outside).rejects.toMatchObject({ code: 'store-failed' })
  const blocked = store.links.follow(
    new Map([
      ['a', one.stored],
      ['b', one.stored],
    ]),
  )

  await expect(blocked).rejects.toMatchObject({ code: 'store-failed' })
  expect(await readdir(join(store.links.pathOf('a')))).toContain('SKILL.md')
  expect(await readdir(join(store.folder.at('links'), 'b'))).toEqual(['deep'])
})

/** Publishes the samples and makes their checkouts, which links lead to. */
async function checkOut(store: Store, ...samples: readonly Sample[]): Promise<void> {
  await publishSamples(store, new Date(), ...samples)
  for (const { stored } of samples) await store.checkouts.ensure(stored)
}
