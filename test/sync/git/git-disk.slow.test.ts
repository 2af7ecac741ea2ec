import { execFile } from 'node:child_process'
import { cp, lstat, mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { Repository, runGit } from '../../support/git/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { blobsOf, linesOf, reach, STEADY } from '../upstream/reached.ts'

const run = promisify(execFile)

test('a repository with a work tree is read from its commits, not from its files', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  await runGit(['clone', '--quiet', repository.folder, join(folder.path, 'clone')])
  await writeFile(join(folder.path, 'clone/a.md'), 'changed')
  await using reached = await reach(pathToFileURL(join(folder.path, 'clone')).href)

  await using tree = await reached.tree()

  expect(linesOf(tree).join('\n')).toBe(await repository.git('ls-tree', '-r', 'main'))
})

test('a work tree whose .git is a file is followed to its repository', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, '.git'), `gitdir: ${repository.folder}\n`)
  await using reached = await reach(pathToFileURL(folder.path).href)

  await using tree = await reached.tree()

  expect(tree.list(tree.root).map(({ name }) => name)).toEqual(['a.md', 'b'])
})

test('nothing in the repository is written', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  const copy = join(folder.path, 'copy')
  await cp(repository.folder, copy, { recursive: true })
  const before = await stateOf(copy)
  await using reached = await reach(pathToFileURL(copy).href, { ref: 'v1' })

  await using tree = await reached.tree()
  await tree.take(blobsOf(tree), STEADY)

  expect(await stateOf(copy)).toEqual(before)
})

test.each([
  ['nothing', 'not found', 'Check the path'],
  ['file/below', 'not found', 'Check the path'],
  ['empty', 'there is no git repository', 'write `path: "'],
  ['file', 'not a directory', 'Name a folder'],
  ['empty/SKILL.md', 'not a directory', 'Name the folder of the skill in its place: /'],
  ['astray', 'there is no git repository', 'write `path: "'],
])('a path that holds %s is no repository: %s', async (name, why, fix) => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'empty'))
  await mkdir(join(folder.path, 'astray'))
  await writeFile(join(folder.path, 'astray/.git'), 'gitdir: ../empty\n')
  await writeFile(join(folder.path, 'file'), '')
  await writeFile(join(folder.path, 'empty/SKILL.md'), '')
  await using reached = await reach(pathToFileURL(join(folder.path, name)).href)

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'repository-not-found',
    message: expect.stringContaining(`": ${why}`),
    fix: expect.stringContaining(fix),
  })
})

test('a .git that is a pipe, an empty folder or a file of many megabytes is no repository, and holds up nothing', async () => {
  await using folder = await temporaryFolder()
  for (const name of ['pipe', 'folder/.git', 'long']) await mkdir(join(folder.path, name), { recursive: true })
  await run('mkfifo', [join(folder.path, 'pipe/.git')])
  const long = await open(join(folder.path, 'long/.git'), 'w')
  await long.truncate(8_000_000_000)
  await long.close()

  for (const name of ['pipe', 'folder', 'long']) {
    await using reached = await reach(pathToFileURL(join(folder.path, name)).href)
    await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
      code: 'repository-not-found',
      message: expect.stringContaining('there is no git repository'),
    })
  }
})

test('a repository that borrows objects takes the git program', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  const borrower = join(folder.path, 'borrower.git')
  await runGit(['clone', '--quiet', '--bare', '--shared', repository.folder, borrower])
  await using reached = await reach(pathToFileURL(borrower).href, WITHOUT_GIT)

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'git-missing',
    message: expect.stringContaining('alternates'),
  })
})

test('a repository on this disk whose ids are SHA-256 takes the git program', async () => {
  await using repository = await Repository.create({ objectFormat: 'sha256' })
  await repository.commit({ 'a.md': 'a' })
  await using reached = await reach(pathToFileURL(repository.folder).href, WITHOUT_GIT)

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'git-missing',
    message: expect.stringContaining('sha256'),
  })
})

test('a second work tree takes the git program', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  await repository.git('worktree', 'add', '--quiet', join(folder.path, 'second'))
  await using reached = await reach(pathToFileURL(join(folder.path, 'second')).href, WITHOUT_GIT)

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'git-missing',
    message: expect.stringContaining('second work tree'),
  })
})

test('a repository whose refs cannot be read is unreachable', async () => {
  await using repository = await sample()
  await writeFile(join(repository.folder, 'packed-refs'), Buffer.alloc(100, 0xff))
  await writeFile(join(repository.folder, 'refs/heads/main'), 'no id\n')
  await using reached = await reach(pathToFileURL(repository.folder).href)

  await expect(reached.upstream.resolve(STEADY)).rejects.toBeInstanceOf(SyncError)
})

test('an object that is damaged on this disk is refused', async () => {
  await using repository = await sample()
  await repository.git('repack', '-adq')
  await using reached = await reach(pathToFileURL(repository.folder).href)
  await using tree = await reached.tree()
  const blob = await repository.blob('another')
  const wanted = tree.list(tree.root)[0]!.id
  const loose = (id: string) => join(repository.folder, 'objects', id.slice(0, 2), id.slice(2))
  await mkdir(join(repository.folder, 'objects', wanted.slice(0, 2)), { recursive: true })
  await cp(loose(blob), loose(wanted))

  await expect(tree.take([wanted], STEADY)).rejects.toMatchObject({ code: 'content-refused' })
})

const WITHOUT_GIT = { git: '/nonexistent/git' }

async function sample(): Promise<Repository> {
  const repository = await Repository.create()
  await repository.commit({ 'a.md': 'a', 'b/c.md': 'c' })
  await repository.tag('v1', { annotated: true })
  return repository
}

/** Every path in a folder, with its size and when it was last changed. */
async function stateOf(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  const lines = names.map(async (name) => {
    const { size, mtimeMs, ctimeMs } = await lstat(join(folder, name))
    return `${name} ${size} ${mtimeMs} ${ctimeMs}`
  })
  return (await Promise.all(lines)).sort()
}
