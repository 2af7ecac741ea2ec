import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Repository, type Content } from './repository.ts'

test('a commit holds files, executables, links and submodules under any name', async () => {
  await using repository = await Repository.create()
  const bytes = Buffer.from([0, 0xff, 0x0a, 0x00])

  const commit = await repository.commit({
    'a "quoted" \\ na\nme/ü.md': 'text\n',
    binary: bytes,
    'run.sh': { executable: '#!/bin/sh\n' },
    to: { link: '/etc/passwd' },
    vendor: { submodule: '1'.repeat(40) },
  })

  expect(await listing(repository, commit)).toEqual([
    `100644 blob ${await repository.blob('text\n')}\ta "quoted" \\ na\nme/ü.md`,
    `100644 blob ${await repository.blob(bytes)}\tbinary`,
    `100755 blob ${await repository.blob('#!/bin/sh\n')}\trun.sh`,
    `120000 blob ${await repository.blob('/etc/passwd')}\tto`,
    `160000 commit ${'1'.repeat(40)}\tvendor`,
  ])
})

test('a commit keeps what it does not name, removes folders whole and replaces folders by files', async () => {
  await using repository = await Repository.create()
  const first = await repository.commit({ kept: '1', 'gone/a': '2', 'gone/b/c': '3', 'folder/d': '4' })

  const second = await repository.commit({ gone: null, folder: 'now a file' })

  expect(await names(repository, second)).toEqual(['folder', 'kept'])
  expect(await repository.git('rev-parse', 'main^')).toBe(first)
})

test.each([
  { 'a/b': 'below', a: 'a file' },
  { a: 'a file', 'a/b': 'below' },
])('of a file and a folder of one name in one commit, the later stays', async (files) => {
  await using repository = await Repository.create()

  const commit = await repository.commit(files)

  const [, last] = Object.keys(files)
  const listed = await repository.git('ls-tree', '-r', '--name-only', commit)
  expect(listed).toBe(last)
  expect(await repository.git('fsck', '--strict', '--no-progress', '--no-dangling')).toBe('')
})

test('an orphan commit has no parent and none of the old files', async () => {
  await using repository = await Repository.create()
  await repository.commit({ old: '1' })

  const orphan = await repository.commit({ new: '2' }, { orphan: true })

  expect(await names(repository, orphan)).toEqual(['new'])
  expect(await repository.git('rev-list', '--count', 'main')).toBe('1')
})

test('the same commits have the same ids, whatever the machine is configured to', async () => {
  await using one = await Repository.create()
  await using other = await Repository.create()

  expect(await twoCommits(one)).toEqual(await twoCommits(other))
})

test.each(['sha1', 'sha256'] as const)(
  'files written a few at a time are what git makes of all of them, in %s',
  async (objectFormat) => {
    await using one = await Repository.create({ objectFormat })
    await using other = await Repository.create({ objectFormat })
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`a${'/.-b0'[index % 5]}${index}`, `${index}`]),
    )
    const entries = Object.entries(files)

    await one.commit(files)
    await other.commit({ a: 'a file', 'a.1': 'old', 'b/gone': '' })
    await other.commit({ b: null })
    for (const half of [entries.slice(0, 30), entries.slice(30)]) await other.commit(Object.fromEntries(half))

    expect(await other.git('rev-parse', 'main^{tree}')).toBe(await one.git('rev-parse', 'main^{tree}'))
    expect(await other.git('fsck', '--strict', '--no-progress')).toBe('')
  },
)

test('commits of one tree differ', async () => {
  await using repository = await Repository.create()

  const ids = [await repository.commit({ a: '1' }), await repository.commit({ a: '1' }, { orphan: true })]

  expect(new Set(ids).size).toBe(2)
})

test('a new branch starts from nothing and HEAD stays where it was', async () => {
  await using repository = await Repository.create({ branch: 'trunk' })
  const trunk = await repository.commit({ a: '1' })

  const side = await repository.commit({ b: '2' }, { branch: 'side/branch' })

  expect(await names(repository, side)).toEqual(['b'])
  expect(await repository.git('rev-parse', 'HEAD')).toBe(trunk)
})

test('tags move, annotated ones are objects of their own, and refs can be set and deleted', async () => {
  await using repository = await Repository.create()
  const first = await repository.commit({ a: '1' })
  const second = await repository.commit({ a: '2' })

  const light = await repository.tag('light', { commit: first })
  const moved = await repository.tag('light')
  const annotated = await repository.tag('annotated', { annotated: true, commit: first })
  await repository.setRef('refs/pull/1/head', second)
  await repository.deleteRef('refs/tags/light')

  expect([light, moved]).toEqual([first, second])
  expect(await repository.git('cat-file', '-t', annotated)).toBe('tag')
  expect(await repository.git('rev-parse', 'annotated^{commit}')).toBe(first)
  expect(await repository.git('for-each-ref', '--format=%(refname)', 'refs/pull', 'refs/tags')).toBe(
    'refs/pull/1/head\nrefs/tags/annotated',
  )
})

test.each<[string, string | Uint8Array]>([
  ['the parent folder', '..'],
  ['the folder itself', '.'],
  ['a git folder', '.git'],
  ['a git folder on a folding disk', '.GIT'],
  ['a path', 'a/b'],
  ['an absolute path', '/etc'],
  ['nothing', ''],
  ['a line break', 'a\nb'],
  ['bytes that are not UTF-8', Buffer.from([0x61, 0xff, 0xfe])],
])('a tree can hold an entry named %s', async (_, name) => {
  await using repository = await Repository.create()
  const id = await repository.blob('evil')

  const commit = await repository.commitTree(await repository.rawTree([{ mode: '100644', name, id }]))

  const tree = await repository.git('rev-parse', `${commit}^{tree}`)
  const raw = Buffer.concat([Buffer.from('100644 '), Buffer.from(name), Buffer.from([0]), Buffer.from(id, 'hex')])
  expect(await repository.object('tree', raw)).toBe(tree)
  expect(await repository.git('cat-file', '-s', tree)).toBe(String(raw.length))
})

test('a tree can hold one name twice, and names that fold into one', async () => {
  await using repository = await Repository.create()
  const id = await repository.blob('evil')
  const entry = (name: string) => ({ mode: '100644', name, id })

  const tree = await repository.rawTree(['a', 'a', 'A', 'é'.normalize('NFC'), 'é'.normalize('NFD')].map(entry))

  expect((await repository.git('ls-tree', '--name-only', '-z', tree)).split('\0').filter(Boolean)).toHaveLength(5)
})

test('thousands of files fit into one commit', async () => {
  await using repository = await Repository.create()
  const files = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`d${index % 50}/f${index}`, `${index}`]))

  const commit = await repository.commit(files)

  expect(await names(repository, commit)).toHaveLength(5000)
})

test('a repository can use SHA-256', async () => {
  await using repository = await Repository.create({ objectFormat: 'sha256' })

  expect(await repository.commit({ a: '1' })).toMatch(/^[0-9a-f]{64}$/)
})

test('a temporary repository goes when it is disposed', async () => {
  const repository = await Repository.create()
  await repository[Symbol.asyncDispose]()

  expect(existsSync(repository.folder)).toBe(false)
})

async function twoCommits(repository: Repository): Promise<string[]> {
  const files: Record<string, Content> = { a: '1', b: { executable: '2' } }
  const first = await repository.commit(files)
  return [first, await repository.commit({ a: '3' }), await repository.tag('v1', { annotated: true })]
}

async function listing(repository: Repository, commit: string): Promise<string[]> {
  return (await repository.git('ls-tree', '-r', '-z', commit)).split('\0').filter(Boolean)
}

async function names(repository: Repository, commit: string): Promise<string[]> {
  return (await repository.git('ls-tree', '-r', '-z', '--name-only', commit)).split('\0').filter(Boolean)
}
