import { expect, test } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { Repository } from '../../support/git/repository.ts'
import { linesOf, objectId, reach, type Open } from './reached.ts'
import { ABSENT } from './sample.ts'

/** Trees that are taken from nobody. */
export function refuses(open: Open, objectFormat: ObjectFormat): void {
  test.each(['..', '.', '.git', '.GIT', '.git ', '.git::$DATA', 'git~1', 'a/b', '.g\u200cit'])(
    'a commit with the name %j is refused',
    async (name) => {
      await using repository = await Repository.create({ objectFormat })
      const id = await repository.blob('x')
      const inner = await repository.rawTree([{ mode: '100644', name, id }])
      await repository.commitTree(await repository.rawTree([{ mode: '40000', name: 'folder', id: inner }]))
      await using opened = await open(repository)
      await using reached = await reach(opened.url)

      const failure = reached.tree()

      await expect(failure).rejects.toMatchObject({
        code: 'content-refused',
        message: expect.stringContaining('folder'),
      })
      expect(await reached.scratch()).toEqual([])
    },
  )

  test('a name that is there twice is refused', async () => {
    await using repository = await Repository.create({ objectFormat })
    const entry = { mode: '100644', name: 'twice', id: await repository.blob('x') }
    await repository.commitTree(await repository.rawTree([entry, entry]))
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    await expect(reached.tree()).rejects.toMatchObject({ code: 'content-refused' })
  })

  test('names that are only unusual are passed on', async () => {
    const names = ['a\nb', 'a\\b', 'c:', 'con', '-rf', '__proto__', '.gitignore', 'git~2', 'ä', '\u202e', '\u0001']
    await using repository = await Repository.create({ objectFormat })
    const id = await repository.blob('x')
    const entries = names.map((name) => ({ mode: '100644', name, id }))
    await repository.commitTree(await repository.rawTree(entries))
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    await using tree = await reached.tree()

    expect(tree.list(tree.root).map(({ name }) => name)).toEqual(names)
  })

  test('modes that old importers wrote are read as git reads them', async () => {
    await using repository = await Repository.create({ objectFormat })
    const id = await repository.blob('x')
    const inner = await repository.rawTree([{ mode: '0100755', name: 'run', id }])
    const modes = { a: '0100644', b: '100664', c: '00100775', d: '0120000' }
    const files = Object.entries(modes).map(([name, mode]) => ({ mode, name, id }))
    const folders = ['040000', '0040000'].map((mode, at) => ({ mode, name: `f${at}`, id: inner }))
    await repository.commitTree(await repository.rawTree([...files, ...folders]))
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    await using tree = await reached.tree()

    const listed = await repository.git('ls-tree', '-r', '-z', 'main')
    expect(linesOf(tree)).toEqual(listed.split('\0').filter((line) => line !== ''))
    expect(linesOf(tree)).toHaveLength(6)
  })

  test('a name that is not UTF-8, or too long, makes its entry unusable, and what lies below is not taken', async () => {
    await using repository = await Repository.create()
    const id = await repository.blob('x')
    const inner = await repository.rawTree([{ mode: '100644', name: '..', id }])
    await repository.commitTree(
      await repository.rawTree([
        { mode: '100644', name: Buffer.from([0x61, 0xff, 0x2e]), id },
        { mode: '100644', name: Buffer.from([0x61, 0xfe, 0x2e]), id },
        { mode: '40000', name: Buffer.from([0xff]), id: inner },
        { mode: '120000', name: 'l'.repeat(201), id },
        { mode: '100644', name: 'm'.repeat(200), id },
      ]),
    )
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    await using tree = await reached.tree()

    expect(tree.list(tree.root).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'unusable-file a%FF.',
      'unusable-file a%FE.',
      'unusable-folder %FF',
      `unusable-file ${'l'.repeat(60)}…`,
      `file ${'m'.repeat(200)}`,
    ])
    expect(() => tree.list(objectId(inner))).toThrow('it was not fetched')
  })

  test.each([
    ['limits.repository.files (3)', { files: 3 }],
    ['the levels of folders (2)', { depth: 2 }],
    ['the bytes of a path (8)', { pathBytes: 8 }],
  ])('more than %s is refused, and just as much is not', async (limit, limits) => {
    await using over = await Repository.create({ objectFormat })
    await over.commit({ 'a/bb/ccccc': '', 'a/bb/d': '' })
    await using within = await Repository.create({ objectFormat })
    await within.commit({ 'abcd/efg': '', x: '' })
    await using openedOver = await open(over)
    await using openedWithin = await open(within)
    await using reachedOver = await reach(openedOver.url, { limits })
    await using reachedWithin = await reach(openedWithin.url, { limits })

    await using tree = await reachedWithin.tree()
    const failure = reachedOver.tree()

    await expect(failure).rejects.toMatchObject({
      code: 'limit-exceeded',
      message: expect.stringContaining(limit),
    })
    expect(linesOf(tree)).toHaveLength(2)
  })

  test('eight trees that name a hundred million files are refused', async () => {
    await using repository = await Repository.create({ objectFormat })
    let id = await repository.blob('x')
    for (let level = 0; level < 8; level += 1) {
      const mode = level === 0 ? '100644' : '40000'
      id = await repository.rawTree(Array.from({ length: 10 }, (_, index) => ({ mode, name: `n${index}`, id })))
    }
    await repository.commitTree(id)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    await expect(reached.tree()).rejects.toMatchObject({ code: 'limit-exceeded' })
  })
}

/** Commits that the repository does not have. */
export function lacks(open: Open, objectFormat: ObjectFormat): void {
  test('a commit id that is the id of something else is refused', async () => {
    await using repository = await Repository.create({ objectFormat })
    await repository.commit({ 'a.md': 'a' })
    await using opened = await open(repository)
    await using reached = await reach(opened.url, { ref: await repository.git('rev-parse', 'main:a.md') })

    await expect(reached.tree()).rejects.toMatchObject({ code: 'ref-not-found' })
  })

  test.each(['sha1', 'sha256'] as const)(
    'a commit that the repository does not have, by an id of %s, is not found',
    async (format) => {
      await using repository = await Repository.create({ objectFormat })
      await repository.commit({ 'a.md': 'a' })
      await using opened = await open(repository)
      await using reached = await reach(opened.url, { ref: ABSENT[format] })

      await expect(reached.tree()).rejects.toMatchObject({ code: 'ref-not-found' })
      expect(await reached.scratch()).toEqual([])
    },
  )
}
