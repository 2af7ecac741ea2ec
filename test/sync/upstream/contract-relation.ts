import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HISTORY_LIMITS } from '../../../src/sync/git/objects/ancestry.ts'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import type { Relation } from '../../../src/sync/upstream/upstream.ts'
import { Repository } from '../../support/git/repository.ts'
import { objectId, reach, STEADY, workers, type Open } from './reached.ts'
import { ABSENT } from './sample.ts'

/** Whether a branch went on from where it was, or was rewritten. */
export function relates(open: Open, objectFormat: ObjectFormat): void {
  test.each([1, 2, 300])('a branch that moved on by %i commits descends from where it was', async (count) => {
    await using repository = await Repository.create({ objectFormat })
    const from = await repository.commit({ a: '1' })
    const to = await grow(repository, count)

    expect(await relation(open, repository, from, to)).toBe('descends')
  })

  test('a branch pushed anew with unrelated commits is rewritten', async () => {
    await using repository = await Repository.create({ objectFormat })
    const from = await grow(repository, 3)
    await repository.setRef('refs/keep/old', from)
    const to = await repository.commit({ b: '1' }, { orphan: true })

    expect(await relation(open, repository, from, to)).toBe('rewritten')
  })

  test('a branch is rewritten as well if the old commits were collected since', async () => {
    await using repository = await Repository.create({ objectFormat })
    const from = await grow(repository, 3)
    const to = await grow(repository, 300, 'refs/heads/new', 'new')
    await repository.setRef('refs/heads/main', to)
    await collect(repository)

    expect(await repository.git('cat-file', '--batch-all-objects', '--batch-check')).not.toContain(from)
    expect(await relation(open, repository, from, to)).toBe('rewritten')
  })

  test('a commit that the repository does not have is unknown', async () => {
    await using repository = await Repository.create({ objectFormat })
    const from = await repository.commit({ a: '1' })

    expect(await relation(open, repository, from, ABSENT[objectFormat])).toBe('unknown')
  })

  test('a look at the history that is aborted rejects with the reason and leaves nothing', async () => {
    await using repository = await Repository.create({ objectFormat })
    const from = await repository.commit({ a: '1' })
    const to = await grow(repository, 2)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    const abort = new AbortController()
    const reason = new Error('enough')

    const relating = reached.upstream.relation(objectId(from), objectId(to), abort.signal)
    abort.abort(reason)

    await expect(relating).rejects.toBe(reason)
    expect(workers()).toBe(0)
    expect(await reached.scratch()).toEqual([])
  })
}

/** The same of histories that are long, merged, set back or shallow. */
export function relatesAnyHistory(open: Open, objectFormat: ObjectFormat): void {
  test('a commit descends from itself, be it there or not', async () => {
    await using repository = await Repository.create({ objectFormat })
    const commit = await repository.commit({ a: '1' })

    expect(await relation(open, repository, commit, commit)).toBe('descends')
  })

  test('a branch descends from what was merged into it', async () => {
    await using repository = await Repository.create({ objectFormat })
    await repository.commit({ a: '1' })
    await repository.setRef('refs/heads/topic', 'refs/heads/main')
    const from = await grow(repository, 3, 'refs/heads/topic', 'topic')
    const main = await grow(repository, 3)
    const to = await merge(repository, [main, from])
    await repository.setRef('refs/heads/main', to)

    expect(await relation(open, repository, from, await grow(repository, 2))).toBe('descends')
  })

  test.each([
    ['the last of a few', 3, 1],
    ['the last of many', HISTORY_LIMITS.depth + 100, 1],
    ['the last hundred of many', HISTORY_LIMITS.depth + 100, 100],
  ])('a branch whose last commits, %s, are replaced is rewritten', async (_, length, count) => {
    await using repository = await Repository.create({ objectFormat })
    await grow(repository, length)
    const base = await repository.git('rev-parse', `main~${count}`)
    const from = await repository.git('rev-parse', 'main')
    await repository.setRef('refs/keep/old', from)
    await repository.setRef('refs/heads/main', base)
    const to = await grow(repository, count, 'refs/heads/main', 'replaced')

    expect(await relation(open, repository, from, to)).toBe('rewritten')
  })

  test.each([1, 300])('a branch set back by %i commits is rewritten', async (count) => {
    await using repository = await Repository.create({ objectFormat })
    const to = await repository.commit({ a: '1' })
    const from = await grow(repository, count)
    await repository.setRef('refs/keep/old', from)
    await repository.setRef('refs/heads/main', to)

    expect(await relation(open, repository, from, to)).toBe('rewritten')
  })

  test('it is unknown whether a branch of shared commits was rewritten once the old ones were collected, if it is long', async () => {
    await using repository = await Repository.create({ objectFormat })
    await grow(repository, HISTORY_LIMITS.depth + 100)
    const from = await grow(repository, 1, 'refs/heads/main', 'old')
    await repository.setRef('refs/heads/main', 'refs/heads/main~1')
    const to = await grow(repository, 1, 'refs/heads/main', 'new')
    await collect(repository)

    expect(await relation(open, repository, from, to)).toBe('unknown')
  })

  test('a branch that moved on by more commits than are looked at is unknown', async () => {
    await using repository = await Repository.create({ objectFormat })
    const from = await repository.commit({ a: '1' })
    const to = await grow(repository, HISTORY_LIMITS.depth + 100)

    expect(await relation(open, repository, from, to)).toBe('unknown')
  })

  describe('of a shallow repository', () => {
    test('a branch that moved on within what is there descends', async () => {
      await using repository = await Repository.create({ objectFormat })
      await grow(repository, 5)
      await cutBefore(repository, 'main~3')
      const from = await repository.git('rev-parse', 'main~2')
      const to = await repository.git('rev-parse', 'main')

      expect(await relation(open, repository, from, to)).toBe('descends')
    })

    test('it is unknown whether a branch descends from what is not there', async () => {
      await using repository = await Repository.create({ objectFormat })
      await grow(repository, 5)
      const from = await repository.git('rev-parse', 'main~4')
      await cutBefore(repository, 'main~2')
      const to = await repository.git('rev-parse', 'main')

      expect(await relation(open, repository, from, to)).toBe('unknown')
    })

    test('a branch whose last commit is replaced is rewritten', async () => {
      await using repository = await Repository.create({ objectFormat })
      const from = await grow(repository, 5)
      await repository.setRef('refs/heads/old', from)
      await repository.setRef('refs/heads/main', 'refs/heads/main~1')
      const to = await grow(repository, 1, 'refs/heads/main', 'replaced')
      await cutBefore(repository, 'main~2')

      expect(await relation(open, repository, from, to)).toBe('rewritten')
    })
  })
}

/** Puts so many commits on a branch, which they begin if there is none yet. Returns the last. */
async function grow(repository: Repository, count: number, ref = 'refs/heads/main', word = 'grown'): Promise<string> {
  return repository.commits(
    ref,
    Array.from({ length: count }, (_, index) => `${word} ${index}`),
  )
}

async function merge(repository: Repository, parents: readonly string[]): Promise<string> {
  const flags = parents.flatMap((parent) => ['-p', parent])
  return repository.git('commit-tree', ...flags, '-m', 'merge', `${parents[0]}^{tree}`)
}

/** Makes a commit the first that there is, and removes what was before it. */
async function cutBefore(repository: Repository, commit: string): Promise<void> {
  await writeFile(join(repository.folder, 'shallow'), `${await repository.git('rev-parse', commit)}\n`)
  await collect(repository)
}

/** Removes what no ref leads to. */
async function collect(repository: Repository): Promise<void> {
  await repository.git('gc', '--quiet', '--prune=now')
}

/** What an upstream says of the repository as it is now; it is to leave nothing behind. */
async function relation(open: Open, repository: Repository, from: string, to: string): Promise<Relation> {
  await using opened = await open(repository)
  await using reached = await reach(opened.url)
  const said = await reached.upstream.relation(objectId(from), objectId(to), STEADY)
  expect(await reached.scratch()).toEqual([])
  expect(workers()).toBe(0)
  return said
}
