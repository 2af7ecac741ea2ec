import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isDiskError } from '../../src/sync/store/files/disk-error.ts'
import { Store } from '../../src/sync/store/store.ts'
import { Scene } from './scene.ts'

const COMMITS = 24
/** By then everything has been done often enough to have what memory it takes. */
const WARM = 8
const KEPT = 3
const YOUNG_MS = 1_000

// A month of commits takes minutes here, and what a pull asked for stays for an hour: so the disk is seen to grow by what each
// commit has of its own, and by nothing else. That it shrinks after the hour is shown with a clock of its own (collect.test.ts),
// and that the heap does not grow by bench/soak.ts, which can collect it before it looks.
test('with one commit after the other, the disk grows by what is new, and descriptors do not', async () => {
  // The record of who read what has a bound of its own.
  await using scene = await Scene.set(
    [],
    [
      `retention: { generations: ${KEPT}, younger_than: ${YOUNG_MS}ms }`,
      'audit: { enabled: false }',
      'usage: { enabled: false }',
    ],
  )
  await scene.play()
  const bytes: number[] = []

  for (let count = 0; count < COMMITS; count += 1) {
    await scene.commit()
    expect(await scene.home.command('sync')).toMatchObject({ status: 0 })
    bytes.push(await withStore(scene, async (store) => store.bytes + (await bytesIn(scene.home.state))))
    await scene.witness.heardAll()
  }

  expect(slopeOf(bytes.slice(WARM)), 'bytes on the disk for each commit').toBeLessThan(await ownBytes(scene))
  // What came one after the other within a moment is too young to go: by the next commit it no longer is.
  await setTimeout(YOUNG_MS)
  await scene.recovers()
  await expect.poll(async () => withStore(scene, (store) => store.generations.numbers())).toHaveLength(KEPT)
  await scene.expectWell()
})

/** What one commit has of its own: its snapshot, and the skill that moved. */
async function ownBytes(scene: Scene): Promise<number> {
  return withStore(scene, async (store) => {
    const [digest] = await store.snapshots.digests()
    return (await store.objects.get(digest!))!.byteLength + 1_024
  })
}

async function withStore<Result>({ home }: Scene, work: (store: Store) => Promise<Result>): Promise<Result> {
  using store = (await Store.openExisting(home.state))!
  return await work(store)
}

/** Of all files but the database: its log has a bound of its own, and the database itself is asked what it has in use. */
async function bytesIn(folder: string): Promise<number> {
  const all = await readdir(folder, { withFileTypes: true }).catch(noneIfGone)
  const entries = all.filter(({ name }) => !name.startsWith('store.db'))
  const sizes = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory()
      ? bytesIn(path)
      : lstat(path).then(
          ({ size }) => size,
          () => 0,
        )
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** A poll may be at work: what it has in scratch is gone again. */
function noneIfGone(error: unknown): [] {
  if (isDiskError(error, 'ENOENT')) return []
  throw error
}

/** By how much each is larger than the one before, by least squares. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const rise = values.reduce((sum, value, at) => sum + (at - middle) * (value - mean), 0)
  const run = values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0)
  return rise / run
}
