import { access, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { gitVersionIn, obeysNoLazyFetch } from '../../../../src/sync/git/program/git-version.ts'
import { Repository, runGit } from '../../../support/git/repository.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { blobsOf, reach, STEADY } from '../../upstream/reached.ts'
import { failureOf } from '../../upstream/served.ts'

/** A git that obeys no GIT_NO_LAZY_FETCH, as those from before 2024 do. */
const FETCHES_LAZILY = 'unset GIT_NO_LAZY_FETCH; exec git "$@"'

test.each(['system', 'auto'] as const)(
  'a repository on this disk has no program run for a missing object, even by a git that would (backend: %s)',
  async (backend) => {
    await using trap = await Trap.set()
    await using reached = await reach(trap.url, { backend, git: await trap.git(FETCHES_LAZILY) })

    await using tree = await reached.tree()
    const taken = await tree.take(blobsOf(tree), STEADY)

    expect([...taken.values()]).toContainEqual({ kind: 'refused', reason: 'absent' })
    expect(await trap.wasSprung()).toBe(false)
  },
)

test('the trap of these tests works: git fetches lazily where it may', async () => {
  await using trap = await Trap.set()

  await runGit(['-C', trap.folder, '-c', 'protocol.allow=always', 'cat-file', '-p', trap.missing]).catch(() => {})

  expect(await trap.wasSprung()).toBe(true)
})

test.each(['2.31.8', '2.39.3', '2.44.0', '2.45.0'])(
  'git %s is refused in a repository on this disk, before it is run there',
  async (version) => {
    await using trap = await Trap.set()
    const log = trap.at('runs')
    const script = `echo "$*" >> ${log}; [ "$1" = --version ] && echo "git version ${version}" && exit; exec git "$@"`
    await using reached = await reach(trap.url, { backend: 'system', git: await trap.git(script) })

    const failure = await failureOf(reached.tree())

    expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringContaining(`is version ${version}`) })
    expect(await readFile(log, 'utf8')).toBe('--version\n')
  },
)

test.each([
  ['git version 2.39.3', false],
  ['git version 2.39.4', true],
  ['git version 2.39.5 (Apple Git-154)', true],
  ['git version 2.40.1', false],
  ['git version 2.40.2', true],
  ['git version 2.43.3', false],
  ['git version 2.45.1.windows.1', true],
  ['git version 2.46', true],
  ['git version 2.38.9', false],
  ['git version 3.0.0-rc1', true],
])('%s obeys GIT_NO_LAZY_FETCH: %s', (printed, obeys) => {
  const version = gitVersionIn(printed)

  expect(version !== undefined && obeysNoLazyFetch(version)).toBe(obeys)
})

test('what names no version of git is none', () => {
  expect(['', 'OpenSSH_9.2', 'git version next'].map(gitVersionIn)).toEqual([undefined, undefined, undefined])
})

/** A repository on this disk that lacks a file, and names a program to fetch it with. */
class Trap implements AsyncDisposable {
  readonly missing: string
  readonly #repository: Repository
  readonly #scratch: Awaited<ReturnType<typeof temporaryFolder>>

  private constructor(repository: Repository, scratch: Awaited<ReturnType<typeof temporaryFolder>>, missing: string) {
    this.#repository = repository
    this.#scratch = scratch
    this.missing = missing
  }

  static async set(): Promise<Trap> {
    const [repository, scratch] = [await Repository.create(), await temporaryFolder()]
    await repository.commit({ 'pdf/SKILL.md': 'there', 'pdf/gone.md': 'gone' })
    const missing = await repository.git('rev-parse', 'main:pdf/gone.md')
    const trap = new Trap(repository, scratch, missing)
    await rm(join(repository.folder, 'objects', missing.slice(0, 2), missing.slice(2)))
    const program = join(scratch.path, 'program')
    await writeFile(program, `#!/bin/sh\ntouch ${trap.#mark}\n`, { mode: 0o755 })
    const settings = {
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'origin',
      'remote.origin.url': pathToFileURL(repository.folder).href,
      'remote.origin.promisor': 'true',
      'remote.origin.uploadpack': program,
    }
    for (const [name, value] of Object.entries(settings)) await repository.git('config', name, value)
    // Borrowing from nowhere is borrowing: our own reader leaves such a repository to git.
    await writeFile(join(repository.folder, 'objects/info/alternates'), `${scratch.path}\n`)
    return trap
  }

  get folder(): string {
    return this.#repository.folder
  }

  get url(): string {
    return pathToFileURL(this.folder).href
  }

  get #mark(): string {
    return this.at('sprung')
  }

  at(name: string): string {
    return join(this.#scratch.path, name)
  }

  /** A program in the place of git. */
  async git(script: string): Promise<string> {
    await writeFile(this.at('git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return this.at('git')
  }

  async wasSprung(): Promise<boolean> {
    return access(this.#mark).then(
      () => true,
      () => false,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#repository[Symbol.asyncDispose]()
    await this.#scratch[Symbol.asyncDispose]()
  }
}
