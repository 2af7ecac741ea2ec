import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { TreeNotTakenError, type Tree } from '../../../src/sync/model/tree.ts'
import { temporaryWorkspace } from '../../../src/sync/store/objects/temporary-blobs.ts'
import { NOTHING_KNOWN, type KnownTrees, type TreeUpstream } from '../../../src/sync/upstream/upstream.ts'
import { blobsOf, linesOf, reach, STEADY } from '../../sync/upstream/reached.ts'
import { Repository, type Content } from './repository.ts'
import { ScriptedUpstream, treeId } from './scripted-upstream.ts'

// The contract suite opens real repositories by their address. What a fake has to be held to is that nobody can tell it
// from one of them, so each of these puts the same question to both.

const FILES: Readonly<Record<string, Content>> = {
  'README.md': 'read me\n',
  'a/SKILL.md': 'a\n',
  'a-b/x': 'sorted before a/ as a file, after it as a folder',
  'a.c': { executable: '#!/bin/sh\n' },
  'a/deep/er/x': '1',
  'b/deep/er/x': '1',
  'link/to': { link: '../a' },
  'module/here': { submodule: '1234567890123456789012345678901234567890' },
  'ünï/\u{1F600}': Buffer.from([0, 255]),
}

test('its trees, their ids and what is in them are those of git', async () => {
  await using both = await openBoth()

  const [scripted, real] = await both.trees(NOTHING_KNOWN)

  expect(scripted.root).toBe(real.root)
  expect(linesOf(scripted)).toEqual(linesOf(real))
  expect(linesOf(scripted)).toHaveLength(Object.keys(FILES).length)
})

test('it brings the bytes that git has, and says of a blob it lacks that it is absent', async () => {
  await using both = await openBoth()
  const [scripted, real] = await both.trees(NOTHING_KNOWN)
  const ids = [...blobsOf(scripted), treeId(FILES)]

  const [fromScript, fromGit] = [await contents(scripted, ids), await contents(real, ids)]

  expect(fromScript).toEqual(fromGit)
  expect(fromScript.filter(([, bytes]) => bytes === 'absent')).toHaveLength(1)
})

test('a known tree is left out at its path alone, as git leaves it out', async () => {
  await using both = await openBoth()
  const deep = treeId(FILES, 'a/deep')
  const known = (...paths: string[]): KnownTrees => ({ byPath: new Map(paths.map((path) => [path, deep])) })

  const [one, oneReal] = await both.trees(known('a/deep'))
  const [all, allReal] = await both.trees(known('a/deep', 'b/deep'))

  expect(one.list(deep)).toEqual(oneReal.list(deep))
  expect(() => all.list(deep)).toThrow(TreeNotTakenError)
  expect(() => allReal.list(deep)).toThrow(TreeNotTakenError)
})

async function openBoth() {
  const repository = await Repository.create()
  await repository.commit(FILES)
  const reached = await reach(pathToFileURL(repository.folder).href)
  const workspace = await temporaryWorkspace()
  const scripted = new ScriptedUpstream(FILES).open(workspace)
  const opened: Tree[] = []
  const treeOf = async (upstream: TreeUpstream, known: KnownTrees): Promise<Tree> => {
    const tree = await upstream.fetch(await upstream.resolve(STEADY), known, STEADY)
    opened.push(tree)
    return tree
  }
  return {
    trees: async (known: KnownTrees) => [await treeOf(scripted, known), await treeOf(reached.upstream, known)] as const,
    [Symbol.asyncDispose]: async () => {
      for (const tree of opened) await tree[Symbol.asyncDispose]()
      for (const resource of [reached, repository, workspace]) await resource[Symbol.asyncDispose]()
    },
  }
}

async function contents(tree: Tree, ids: ReturnType<typeof blobsOf>): Promise<(readonly [string, string])[]> {
  const taken = await tree.take(ids, STEADY)
  const read = [...taken].map(([id, blob]) => {
    if (blob.kind === 'refused') return [id, blob.reason] as const
    return [id, `${blob.size} ${blob.sha256} ${Buffer.from(tree.bytesOf(blob)).toString('hex')}`] as const
  })
  return read.toSorted(([a], [b]) => (a < b ? -1 : 1))
}
