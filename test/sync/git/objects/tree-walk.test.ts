import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { walkTrees } from '../../../../src/sync/git/objects/tree-walk.ts'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { objectIdOf } from '../../../../src/sync/upstream/objects/git-object.ts'
import { parseTree } from '../../../../src/sync/upstream/objects/tree-object.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'

/** Folders of folders, a file in each. */
interface Folder {
  readonly [name: string]: Folder
}

const name = fc.constantFrom('a', 'b', 'c')
const folder: fc.Memo<Folder> = fc.memo((depth) =>
  depth < 2 ? fc.constant({}) : fc.dictionary(name, folder(depth - 1), { maxKeys: 3, noNullPrototype: true }),
)

test('every tree can be listed but those below a known path, and those only if they stand elsewhere too', async () => {
  await fc.assert(
    fc.asyncProperty(folder(4), fc.array(fc.array(name, { maxLength: 3 }), { maxLength: 4 }), async (made, known) => {
      const store = new Map<ObjectId, Buffer>()
      const root = storeFolder(made, store)
      const byPath = new Map(known.flatMap((path) => idAt(root, path, store)))

      const taken = await walkTrees(root, { byPath }, FETCH_LIMITS, async (id) => store.get(id)!)

      expect(new Set(taken.keys())).toEqual(needed(root, '', byPath, store))
    }),
    { numRuns: 500 },
  )
})

test('a tree is read once however often it stands in the commit', async () => {
  const store = new Map<ObjectId, Buffer>()
  const same = { x: { y: {} } }
  const root = storeFolder({ a: same, b: same, c: { d: same } }, store)
  const read: ObjectId[] = []

  await walkTrees(root, { byPath: new Map() }, FETCH_LIMITS, async (id) => {
    read.push(id)
    return store.get(id)!
  })

  expect(read).toHaveLength(new Set(read).size)
})

test('what lies beside the folders that are asked for counts against no limit, and is taken as far as one allows', async () => {
  const store = new Map<ObjectId, Buffer>()
  const some = (count: number): Folder => Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, {}]))
  const deep = { a: { b: { c: { d: { e: {} } } } } }
  const skills = { one: some(2), two: {} }
  const root = storeFolder({ beside: some(40), deep, few: {}, skills, ...some(20) }, store)
  const taken = async (within: readonly string[] | undefined, limits: Partial<typeof FETCH_LIMITS>) => {
    const known = { byPath: new Map(), ...(within && { within }) }
    return walkTrees(root, known, { ...FETCH_LIMITS, ...limits }, async (id) => store.get(id)!)
  }
  // Each folder has a file besides its folders.
  const [at] = idAt(root, ['skills'], store)
  const wanted = needed(at![1], 'skills', new Map(), store).add(root)

  const few = await taken(['skills'], { files: 10, depth: 4 })

  expect([...wanted].filter((id) => !few.has(id))).toEqual([])
  expect(new Set((await taken(['skills'], {})).keys())).toEqual(new Set((await taken(undefined, {})).keys()))
  await expect(taken(['skills'], { files: 8 })).rejects.toMatchObject({ code: 'limit-exceeded' })
  await expect(taken(undefined, { files: 10 })).rejects.toMatchObject({ code: 'limit-exceeded' })
})

test('a tree that is damaged beside the folders that are asked for costs itself alone', async () => {
  const store = new Map<ObjectId, Buffer>()
  const root = storeFolder({ beside: { a: {}, hurt: { b: {} } }, skills: { one: {} }, y: { x: {} } }, store)
  const [[path, hurt] = ['', root]] = idAt(root, ['beside', 'hurt'], store)
  const taken = async (within: readonly string[] | undefined) => {
    const known = { byPath: new Map(), ...(within && { within }) }
    return walkTrees(root, known, FETCH_LIMITS, async (id) => {
      if (id === hurt) throw new SyncError('content-refused', 'the object is damaged')
      return store.get(id)!
    })
  }

  const trees = await taken(['skills'])

  expect(new Set(trees.keys())).toEqual(needed(root, '', new Map([[path, hurt]]), store))
  await expect(taken(['beside'])).rejects.toMatchObject({ code: 'content-refused' })
  await expect(taken(undefined)).rejects.toMatchObject({ code: 'content-refused' })
})

test('bytes that are no tree are refused or parsed, never anything else', () => {
  const start = fc.constantFrom('100644 a\0', '40000 b\0', '100644 ', '', '7 x\0', '100644 a\0aaaaaaaaaaaaaaaaaaaa')
  const format = fc.constantFrom('sha1' as const, 'sha256' as const)
  const law = fc.property(start, fc.uint8Array({ maxLength: 60 }), format, (text, bytes, format) => {
    try {
      return parseTree(Buffer.concat([Buffer.from(text), bytes]), format, 200).length <= 3
    } catch (error) {
      return error instanceof SyncError && error.code === 'content-refused'
    }
  })

  expect(fc.check(law, { numRuns: 2000 }).failed).toBe(false)
})

test('an entry without a name is refused', () => {
  const tree = Buffer.concat([Buffer.from('100644 \0'), Buffer.alloc(20, 1)])

  expect(() => parseTree(tree, 'sha1', 200, 'folder')).toThrow('Cannot take "folder": an entry has no name')
})

test('a message shows no character that could move a cursor', () => {
  const tree = Buffer.concat([Buffer.from('100644 a\u001b\u202e/b\0'), Buffer.alloc(20, 1)])

  expect(() => parseTree(tree, 'sha1', 200)).toThrow('Cannot take "a\\u001b\ufffd/b": the name could lead elsewhere')
})

/** Puts the trees into the store. Returns the id of the uppermost. */
function storeFolder(folder: Folder, store: Map<ObjectId, Buffer>): ObjectId {
  const entries = Object.entries(folder).map(([name, inner]) => entry('40000', name, storeFolder(inner, store)))
  const bytes = Buffer.concat([...entries, entry('100644', 'z', '1'.repeat(40))])
  const id = objectIdOf({ type: 'tree', bytes }, 'sha1')
  store.set(id, bytes)
  return id
}

function entry(mode: string, name: string, id: string): Buffer {
  return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')])
}

function idAt(root: ObjectId, path: readonly string[], store: ReadonlyMap<ObjectId, Buffer>): [string, ObjectId][] {
  let at: ObjectId | undefined = root
  for (const name of path) {
    at =
      at && parseTree(store.get(at)!, 'sha1', 200).find((entry) => entry.kind === 'folder' && entry.name === name)?.id
  }
  return at === undefined ? [] : [[path.join('/'), at]]
}

/** What has to be there, found by walking every path. */
function needed(
  id: ObjectId,
  path: string,
  byPath: ReadonlyMap<string, ObjectId>,
  store: ReadonlyMap<ObjectId, Buffer>,
): Set<ObjectId> {
  if (byPath.get(path) === id) return new Set()
  const folders = parseTree(store.get(id)!, 'sha1', 200).filter((entry) => entry.kind === 'folder')
  const below = folders.map((entry) =>
    needed(entry.id, path === '' ? entry.name : `${path}/${entry.name}`, byPath, store),
  )
  return new Set([id].concat(...below.map((ids) => Array.from(ids))))
}
