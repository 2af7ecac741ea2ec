import { chmod, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeAll, temporaryIn } from '../../../../src/sync/store/files/atomic.ts'
import { openExistingState, openState } from '../../../../src/sync/store/files/state-folder.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('opening makes the layout, open to its owner alone whatever the umask is', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'a', 'state')
  const umask = process.umask(0)

  const state = await openState(path).finally(() => process.umask(umask))

  const names = ['checkouts', 'format', 'generations', 'links', 'logs', 'scans', 'sources', 'tmp', 'upstreams']
  expect((await readdir(path)).sort()).toEqual(names)
  expect(await readFile(join(path, 'format'), 'utf8')).toBe('4\n')
  for (const name of names.filter((each) => each !== 'format')) {
    expect((await stat(join(path, name))).mode & 0o777).toBe(0o700)
  }
  expect(state.path).toBe(path)
})

test('sources of the command line may have been there first: their states lie below', async () => {
  await using folder = await temporaryFolder()
  await openState(join(folder.path, 'adhoc', 'sources'))

  await openState(folder.path)

  expect(await readdir(join(folder.path, 'adhoc'))).toEqual(['sources'])
})

test('what was removed of the layout is made again, but nothing where it is no state folder any more', async () => {
  await using folder = await temporaryFolder()
  const state = await openState(folder.path)
  await rm(state.at('checkouts'), { recursive: true })

  const ends = [await state.remake(), await state.remake()]
  const names = await readdir(folder.path)
  for (const name of names) await rm(join(folder.path, name), { recursive: true })
  await expect(state.remake()).rejects.toMatchObject({ code: 'no-state-folder' })

  expect(ends).toEqual([true, false])
  expect(names).toContain('checkouts')
  expect(await readdir(folder.path)).toEqual([])
})

test.each([
  [
    ['checkouts', 'audit', 'usage'],
    'contains only "checkouts" and similar entries, for example because it was removed while the daemon ran',
  ],
  [['checkouts', 'thesis'], 'contains "thesis", which skillsyncd did not create'],
  [['store.db'], 'contains only "store.db" and similar entries'],
])('a folder with %j and without its format is refused, by whose it is', async (names, says) => {
  await using folder = await temporaryFolder()
  for (const name of names) await mkdir(join(folder.path, name))

  const opening = openState(folder.path)

  await expect(opening).rejects.toMatchObject({ code: 'no-state-folder', message: expect.stringContaining(says) })
})

test.each([
  [undefined, 'it has no file "format" and it contains only'],
  ['', 'its file "format" is empty and it contains only'],
  ['\0\0', 'its file "format" is empty and it contains only'],
])('a folder of ours with the format %j is told how it opens again', async (format, says) => {
  await using folder = await temporaryFolder()
  await openState(folder.path)
  for (const name of OURS) await writeFile(join(folder.path, name), '')
  const file = join(folder.path, 'format')
  await (format === undefined ? rm(file) : writeFile(file, format))

  for (const open of [openState, openExistingState])
    await expect(open(folder.path)).rejects.toMatchObject({
      code: 'no-state-folder',
      message: expect.stringContaining(says),
      fix: expect.stringContaining(`write the line 4 into "${file}"`),
    })
  await writeFile(file, '4\n')

  expect((await openState(folder.path)).path).toBe(folder.path)
})

const OURS = [
  'current',
  'decisions.json',
  'decisions-copy.json',
  'links.json',
  'tokens.json',
  'token-uses.json',
  'store.db',
  'store.db-wal',
  'store.db.damaged-2026-01-01T00-00-00-000Z',
  'store.db.damaged-2026-01-01T00-00-00-000Z-shm',
  'sessions.journal',
]

test('an empty format in an empty folder is that of a new one, and beside a foreign file a refusal', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'format')
  await writeFile(file, '')
  await openState(folder.path)
  const made = await readFile(file, 'utf8')
  await writeFile(file, '')
  await writeFile(join(folder.path, 'thesis'), '')

  await expect(openState(folder.path)).rejects.toThrow('contains "thesis", which skillsyncd did not create')
  expect(made).toBe('4\n')
})

test('opening again changes nothing', async () => {
  await using folder = await temporaryFolder()
  await openState(folder.path)
  const before = await stat(join(folder.path, 'format'))

  await Promise.all([openState(folder.path), openState(folder.path)])

  expect((await stat(join(folder.path, 'format'))).ino).toBe(before.ino)
})

test.each(['1', '3', '5'])(
  'the format %s of another version is refused, naming both and the way back',
  async (format) => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'format'), `${format}\n`)

    const opening = openState(folder.path)

    await expect(opening).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining(
        `its format is "${format}" and this version knows "4"; run the version that wrote it, or move`,
      ),
    })
    expect(await readdir(folder.path)).toEqual(['format'])
  },
)

test('a folder that holds something else is refused and left as it was', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'tmp'))
  await writeFile(join(folder.path, 'tmp', 'thesis.txt'), 'years of work')

  const opening = openState(folder.path)

  await expect(opening).rejects.toMatchObject({
    code: 'no-state-folder',
    message: expect.stringMatching(/contains only "tmp"/),
  })
  expect(await readdir(join(folder.path, 'tmp'))).toEqual(['thesis.txt'])
})

test('a folder that a killed first start left without a format is opened', async () => {
  await using folder = await temporaryFolder()
  await writeFile(temporaryIn(folder.path), '1')
  await writeFile(join(folder.path, 'daemon.lock'), '{}')

  const state = await openState(folder.path)
  await state.sweep()

  expect((await readdir(folder.path)).filter((name) => name.startsWith('.'))).toEqual([])
})

test('a folder of the layout that is a link is refused, and nothing behind it is touched', async () => {
  await using folder = await temporaryFolder()
  const [root, elsewhere] = [join(folder.path, 'state'), join(folder.path, 'elsewhere')]
  const { path } = await openState(root)
  await mkdir(elsewhere)
  await writeFile(join(elsewhere, 'thesis.txt'), 'years of work')
  await removeAll(join(path, 'tmp'))
  await symlink(elsewhere, join(path, 'tmp'))

  const opening = openState(root)

  await expect(opening).rejects.toMatchObject({
    code: 'store-failed',
    message: expect.stringMatching(/tmp": it is not a folder of the state folder's own; move the whole/),
  })
  expect(await readdir(elsewhere)).toEqual(['thesis.txt'])
})

test('a state folder that is a link as a whole is opened where it leads', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'large-disk'))
  await symlink(join(folder.path, 'large-disk'), join(folder.path, 'state'))

  await openState(join(folder.path, 'state'))

  expect(await readdir(join(folder.path, 'large-disk'))).toContain('format')
})

test('a sweep removes what was left half done, and nothing else', async () => {
  await using folder = await temporaryFolder()
  const state = await openState(folder.path)
  for (const name of ['checkouts', 'links', 'logs', 'scans', 'sources'] as const) {
    await mkdir(join(temporaryIn(state.at(name)), 'deep'), { recursive: true })
    await writeFile(state.at(name, 'stays'), '')
  }
  await writeFile(state.at('tmp', 'anything'), '')
  await writeFile(temporaryIn(state.path), '')

  await state.sweep()

  expect(await readdir(state.at('tmp'))).toEqual([])
  for (const name of ['checkouts', 'links', 'logs', 'scans', 'sources'] as const) {
    expect(await readdir(state.at(name))).toEqual(['stays'])
  }
  expect((await readdir(state.path)).sort()).toEqual([
    'checkouts',
    'format',
    'generations',
    'links',
    'logs',
    'scans',
    'sources',
    'tmp',
    'upstreams',
  ])
})

test('each scratch folder is made by its first writer, and gone when it is disposed', async () => {
  await using folder = await temporaryFolder()
  const state = await openState(folder.path)

  {
    await using first = await state.scratch()
    await using second = await state.scratch()
    expect(await readdir(state.at('tmp'))).toEqual([])
    await mkdir(first.path)
    await writeFile(join(first.path, 'pack'), 'bytes')

    expect(second.path).not.toBe(first.path)
    expect(await readdir(state.at('tmp'))).toHaveLength(1)
  }

  expect(await readdir(state.at('tmp'))).toEqual([])
})

test('what an agent made read-only can be removed', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'skill')
  await mkdir(join(path, '__pycache__', 'deep'), { recursive: true })
  await writeFile(join(path, '__pycache__', 'deep', 'a.pyc'), '')
  await chmod(join(path, '__pycache__', 'deep'), 0o500)
  await chmod(join(path, '__pycache__'), 0o500)

  await removeAll(path)

  expect(await readdir(folder.path)).toEqual([])
})
