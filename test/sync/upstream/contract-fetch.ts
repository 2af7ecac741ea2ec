import { expect, test } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { TreeNotTakenError } from '../../../src/sync/model/tree.ts'
import { Repository } from '../../support/git/repository.ts'
import { linesOf, objectId, reach, STEADY, type Open } from './reached.ts'
import { FILES, hashOf, sample } from './sample.ts'

/** The trees of a commit, its proof, and what is left out. */
export function fetches(open: Open, objectFormat: ObjectFormat): void {
  test('the tree of a commit is what git lists', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    await using tree = await reached.tree()

    const listed = await repository.git('ls-tree', '-r', '-z', 'main')
    expect(linesOf(tree)).toEqual(listed.split('\0').filter((line) => line !== ''))
    expect(linesOf(tree)).toHaveLength(Object.keys(FILES).length + 1)
  })

  test('the proof is the raw commit and tag object', async () => {
    await using repository = await sample(objectFormat)
    await repository.tag('v1', { annotated: true })
    await using opened = await open(repository)
    await using reached = await reach(opened.url, { ref: 'v1' })

    await using tree = await reached.tree()

    const { commit, tag } = tree.revision
    expect(hashOf('commit', tree.proof.commit, objectFormat)).toBe(commit)
    expect(hashOf('tag', tree.proof.tag!, objectFormat)).toBe(tag)
    expect(Buffer.from(tree.proof.commit).toString()).toContain(`tree ${tree.root}\n`)
  })

  test('an older commit is fetched by its id', async () => {
    await using repository = await Repository.create({ objectFormat })
    const first = await repository.commit({ 'a.md': 'first' })
    await repository.commit({ 'b.md': 'second' })
    await using opened = await open(repository)
    await using reached = await reach(opened.url, { ref: first })

    await using tree = await reached.tree()

    expect(tree.list(tree.root).map(({ name }) => name)).toEqual(['a.md'])
  })

  test('a commit without a file is an empty tree', async () => {
    await using repository = await Repository.create({ objectFormat })
    await repository.commit({})
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    await using tree = await reached.tree()

    expect(tree.list(tree.root)).toEqual([])
  })

  test('a known tree is left out at its path, and taken wherever else it stands', async () => {
    await using repository = await Repository.create({ objectFormat })
    const commit = await repository.commit({ 'a/b/x': '1', 'a/y': '2', 'c/a/b/x': '1', 'c/a/y': '2', 'd/z': '3' })
    const [a, b, d] = (await repository.git('rev-parse', 'main:a', 'main:a/b', 'main:d')).split('\n')
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    const revision = { asked: undefined, ref: 'refs/heads/main', commit: objectId(commit) }
    const fetched = (known: Record<string, string | undefined>) =>
      reached.upstream.fetch(
        revision,
        { byPath: new Map(Object.entries(known).map(([p, id]) => [p, objectId(id)])) },
        STEADY,
      )

    await using below = await fetched({ 'a/b': b, d })
    await using other = await fetched({ a: b, 'd/z': d })
    await using whole = await fetched({ '': await repository.git('rev-parse', 'main^{tree}') })

    expect(() => below.list(objectId(d))).toThrow(TreeNotTakenError)
    expect(below.list(objectId(a)).map(({ name }) => name)).toEqual(['b', 'y'])
    expect(below.list(objectId(b)).map(({ name }) => name)).toEqual(['x'])
    expect(linesOf(other)).toHaveLength(5)
    expect(() => whole.list(whole.root)).toThrow(TreeNotTakenError)
  })
}
