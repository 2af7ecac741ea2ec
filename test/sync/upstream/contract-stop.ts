import { expect, test } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { NOTHING_KNOWN } from '../../../src/sync/upstream/upstream.ts'
import { blobsOf, reach, STEADY, workers, type Open } from './reached.ts'
import { sample } from './sample.ts'

/** How it ends: disposed, or aborted. */
export function stops(open: Open, objectFormat: ObjectFormat): void {
  test('a tree that is disposed leaves no thread and no file', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    const tree = await reached.tree()
    await tree.take(blobsOf(tree), STEADY)
    expect(workers()).toBe(1)

    await tree[Symbol.asyncDispose]()

    expect(workers()).toBe(0)
    expect(await reached.scratch()).toEqual([])
  })

  test('a fetch that is aborted rejects with the reason and leaves nothing', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    const revision = await reached.upstream.resolve(STEADY)
    const abort = new AbortController()
    const reason = new Error('enough')

    const fetching = reached.upstream.fetch(revision, NOTHING_KNOWN, abort.signal)
    abort.abort(reason)

    await expect(fetching).rejects.toBe(reason)
    expect(workers()).toBe(0)
    expect(await reached.scratch()).toEqual([])
  })

  test('a take that is aborted rejects with the reason and leaves no thread', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    await using tree = await reached.tree()
    const abort = new AbortController()
    const reason = new Error('enough')

    const taking = tree.take(blobsOf(tree), abort.signal)
    abort.abort(reason)

    await expect(taking).rejects.toBe(reason)
    expect(workers()).toBe(0)
  })

  test('what is aborted before it begins does not begin', async () => {
    await using repository = await sample(objectFormat)
    await using opened = await open(repository)
    await using reached = await reach(opened.url)
    const reason = new Error('never mind')

    const resolving = reached.upstream.resolve(AbortSignal.abort(reason))

    await expect(resolving).rejects.toBe(reason)
  })
}
