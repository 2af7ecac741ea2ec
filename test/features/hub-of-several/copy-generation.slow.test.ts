import { describe, expect, test } from 'vitest'
import { copyGeneration, restoreSnapshot } from '../../../src/features/hub-of-several/copy-generation.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { damageObject, loseObject } from '../../support/damage.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import {
  never,
  numbered,
  publishSamples,
  sample,
  snapshotOf,
  sourceId,
  verifyCurrent,
} from '../../sync/store/samples.ts'
import type { Sample } from '../../sync/store/samples.ts'

test('a generation is copied whole, and of the next one only what is new', async () => {
  await using stores = await Stores.open()
  await stores.publish(...samplesTo(40))

  await stores.copy()
  expect(await verifyCurrent(stores.to)).toBe(1)
  await stores.publish(...samplesTo(41))
  const copied = await stores.copy()

  expect(await verifyCurrent(stores.to)).toBe(2)
  // The generation, the snapshot, at most two of its parts, and three files of the new skill.
  expect(copied).toBeGreaterThanOrEqual(5)
  expect(copied).toBeLessThanOrEqual(7)
  expect(await stores.copy()).toBe(0)
})

test('what a collection has left in part is completed', async () => {
  await using stores = await Stores.open()
  const held = await stores.publish(...samplesTo(3))
  await stores.copy()
  await stores.publish(...samplesTo(4))
  await stores.copy()
  // As a kill in a collection leaves it: the snapshot is there, and not all of its files.
  const [file] = numbered(2).skill.files
  loseObject(stores.to, file?.sha256 ?? '')
  await stores.publish(...samplesTo(3))
  expect((await stores.from.generations.current())?.sources).toEqual([held])

  await stores.copy()

  expect(await verifyCurrent(stores.to)).toBe(3)
})

test('a snapshot that is damaged in part is made whole again', async () => {
  await using stores = await Stores.open()
  const held = await stores.publish(...samplesTo(3))
  await stores.copy()
  for (const { sha256 } of numbered(2).skill.files) damageObject(stores.to, sha256)
  await expect(verifyCurrent(stores.to)).rejects.toMatchObject({ code: 'store-failed' })

  await restoreSnapshot(held.snapshot, { from: stores.from.objects, to: stores.to.objects }, never())

  expect(await verifyCurrent(stores.to)).toBe(1)
})

describe('what another program wrote is refused, and nothing of it is served', () => {
  const good = snapshotOf(numbered(1))
  const [skill] = good.skills
  const withSkill = (change: Partial<Skill>): object => ({ ...good, skills: [{ ...skill, ...change }] })
  const climbing = sample('one', { '../outside.md': 'x' }).skill

  test.for<readonly [string, object | null | undefined]>([
    ['no JSON', undefined],
    ['null', null],
    ['an empty object', {}],
    ['skills that are none', { ...good, skills: null }],
    ['a skill without files', { ...good, skills: [{ path: 'one' }] }],
    ['a skill whose path leads out', withSkill({ path: '../../one' })],
    ['a served path that leads out', withSkill({ servedPath: 'one/../../two' })],
    ['a file whose path leads out', withSkill({ files: climbing.files, digest: climbing.digest })],
    ['a skill with the digest of another one', withSkill({ files: numbered(2).skill.files })],
    ['a size that is none', withSkill({ size: -1 })],
    ['no source', { ...good, source: '../team' }],
    ['no proof', { ...good, proof: undefined }],
  ])('%s', async ([, snapshot]) => {
    await using stores = await Stores.open()
    await stores.publish(numbered(1), numbered(2))
    await stores.copy()
    const { from } = stores
    const text = snapshot === undefined ? 'no JSON' : JSON.stringify(snapshot)
    const [digest] = await from.objects.put([Buffer.from(text)])
    const known = new Map([[digest ?? '', snapshotOf()]])
    await from.generations.publish([{ source: sourceId('team'), snapshot: digest ?? '' }], new Date(), { known })

    await expect(stores.copy()).rejects.toMatchObject({ code: 'store-failed' })

    expect(await verifyCurrent(stores.to)).toBe(1)
  })
})

function samplesTo(count: number): readonly Sample[] {
  return Array.from({ length: count }, (_, index) => numbered(index + 1)).toSorted((a, b) =>
    a.skill.path < b.skill.path ? -1 : 1,
  )
}

/** A store, and one that follows it. */
class Stores implements AsyncDisposable {
  readonly from: Store
  readonly to: Store
  readonly #opened: AsyncDisposableStack

  private constructor(from: Store, to: Store, opened: AsyncDisposableStack) {
    this.from = from
    this.to = to
    this.#opened = opened
  }

  static async open(): Promise<Stores> {
    const opened = new AsyncDisposableStack()
    const [one, other] = [opened.use(await temporaryFolder()), opened.use(await temporaryFolder())]
    return new Stores(opened.use(await Store.open(one.path)), opened.use(await Store.open(other.path)), opened)
  }

  async publish(...samples: readonly Sample[]) {
    return publishSamples(this.from, new Date(), ...samples)
  }

  /** Copies the head, has it served, and returns the number of copied objects. */
  async copy(): Promise<number> {
    const head = await this.from.objects.head()
    if (head === undefined) throw new Error('There is no head to copy')
    const copied = await copyGeneration(head, { from: this.from.objects, to: this.to.objects }, never())
    await this.to.generations.adopt(head)
    return copied
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}
