import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ObjectFormat, ObjectId } from '../../../src/sync/model/revision.ts'
import type { TakenBlob } from '../../../src/sync/model/tree.ts'
import { Repository } from '../../support/git/repository.ts'
import { blobsOf, objectId, reach, STEADY, type Open } from './reached.ts'
import { ABSENT, hashOf, sample } from './sample.ts'

/** The contents of files. */
export function takes(open: Open, objectFormat: ObjectFormat): void {
  test('the files are what git holds', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    await using tree = await reached.tree()
    const ids = blobsOf(tree)

    const taken = await tree.take(ids, STEADY)

    expect(new Set(taken.keys())).toEqual(new Set(ids))
    for (const [id, blob] of taken) {
      if (blob.kind !== 'blob') throw new Error(`${id} is refused as ${blob.reason}`)
      const bytes = tree.bytesOf(blob)
      expect(hashOf('blob', bytes, objectFormat)).toBe(id)
      expect(blob.size).toBe(bytes.length)
      expect(blob.sha256).toBe(createHash('sha256').update(bytes).digest('hex'))
    }
  })

  test('a file that is too large is refused, one that is not there is absent, and the others come', async () => {
    await using repository = await Repository.create({ objectFormat })
    await repository.commit({ small: 'small', large: 'x'.repeat(2000), huge: Buffer.alloc(20_000_000) })
    await using opened = await open(repository)
    await using reached = await reach(opened.url, { limits: { blobBytes: 1000 } })
    await using tree = await reached.tree()
    const absent = objectId(ABSENT[objectFormat])
    const foreign = objectId(ABSENT[objectFormat === 'sha1' ? 'sha256' : 'sha1'])
    const ids = new Map(tree.list(tree.root).map(({ name, id }) => [name, id]))

    const taken = await tree.take([absent, ...ids.values(), foreign, absent], STEADY)

    expect(taken.get(ids.get('small')!)).toMatchObject({ kind: 'blob', size: 5 })
    expect(taken.get(ids.get('large')!)).toEqual({ kind: 'refused', reason: 'too-large', size: 2000 })
    expect(taken.get(ids.get('huge')!)).toEqual({ kind: 'refused', reason: 'too-large', size: 20_000_000 })
    expect(taken.get(absent)).toEqual({ kind: 'refused', reason: 'absent' })
    expect(taken.get(foreign)).toEqual({ kind: 'refused', reason: 'absent' })
    expect(taken.size).toBe(5)
  })

  test('of many files, some are reported before the others, and are stored by then', async () => {
    await using repository = await Repository.create({ objectFormat })
    const files = Array.from({ length: 700 }, (_, index) => [`${index}.md`, `file ${index}`] as const)
    await repository.commit(Object.fromEntries(files))
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    await using tree = await reached.tree()
    const reported = new Map<ObjectId, { readonly blob: TakenBlob; readonly text: string }>()

    const taken = await tree.take(blobsOf(tree), STEADY, (blobs) => {
      for (const [id, blob] of blobs)
        reported.set(id, {
          blob,
          text: blob.kind === 'blob' ? Buffer.from(tree.bytesOf(blob)).toString() : blob.reason,
        })
    })

    expect(taken.size).toBe(700)
    expect(reported.size).toBeGreaterThan(0)
    expect(reported.size).toBeLessThan(700)
    expect([...reported].map(([id, { blob }]) => [id, blob])).toEqual([...reported].map(([id]) => [id, taken.get(id)]))
    expect([...reported].map(([id, { text }]) => [id, hashOf('blob', Buffer.from(text), objectFormat)])).toEqual(
      [...reported].map(([id]) => [id, id]),
    )
  })

  test('a file can be taken again, and what was taken first stays as it is', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    await using tree = await reached.tree()
    const ids = blobsOf(tree).slice(0, 1)
    const first = await tree.take(ids, STEADY)

    const again = await tree.take(ids, STEADY)

    for (const taken of [first, again]) {
      const blob = taken.get(ids[0]!)
      expect(blob?.kind === 'blob' && hashOf('blob', tree.bytesOf(blob), objectFormat)).toBe(ids[0])
    }
  })

  test('nothing asked is nothing taken', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    await using tree = await reached.tree()

    expect(await tree.take([], STEADY)).toEqual(new Map())
  })
}
