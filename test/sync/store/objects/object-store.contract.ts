import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MOST_RECORD_BYTES, RECORD_MS } from '../../../../src/sync/store/objects/object-store.ts'
import type {
  HeadRecord,
  LiveObjects,
  StoreHead,
  ObjectStore,
} from '../../../../src/sync/store/objects/object-store.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { listed } from '../../../support/listed.ts'

/** A place where objects are kept: any number of stores can be opened there, one after the other. */
export interface ObjectPlace extends AsyncDisposable {
  open(): Promise<ObjectStore>
}

/** Holds an implementation to what `ObjectStore` promises. */
export function keepsObjects(makePlace: () => Promise<ObjectPlace>): void {
  describe('a store of objects', () => {
    test.for([0, 1, 2 ** 18, 2 ** 18 + 1, 2 ** 20 + 17])('an object of %i bytes comes back as it was', async (size) => {
      await using scene = await Scene.open(makePlace)
      const bytes = patternOf(size)

      const [digest] = await scene.put(bytes)

      expect(digest).toBe(sha256(bytes))
      expect(await scene.store.get(digest!)).toEqual(new Uint8Array(bytes))
    })

    test('equal bytes are one object', async () => {
      await using scene = await Scene.open(makePlace)

      const digests = await scene.put(ONE, TWO, ONE)
      scene.endLease()

      expect(digests).toEqual([sha256(ONE), sha256(TWO), sha256(ONE)])
      expect((await scene.store.collect(NOTHING)).objects).toBe(2)
    })

    test('an object that was never put is missing', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.put(ONE)

      expect(await scene.store.get(sha256(TWO))).toBeUndefined()
      expect(await scene.store.missing([sha256(ONE), sha256(TWO)])).toEqual([sha256(TWO)])
    })

    test('objects and the head survive a restart', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.put(ONE)
      await scene.store.swap(undefined, headOf(1, ONE))

      await scene.restart()

      expect(await scene.store.get(sha256(ONE))).toEqual(new Uint8Array(ONE))
      expect(await scene.store.head()).toEqual(headOf(1, ONE))
    })

    test('a head is replaced only by a caller that knows it', async () => {
      await using scene = await Scene.open(makePlace)

      expect(await scene.store.head()).toBeUndefined()
      expect(await scene.store.swap(undefined, headOf(1, ONE))).toBe(true)
      expect(await scene.store.swap(undefined, headOf(1, TWO))).toBe(false)
      expect(await scene.store.swap(headOf(1, TWO), headOf(2, TWO))).toBe(false)
      expect(await scene.store.swap(headOf(2, ONE), headOf(3, TWO))).toBe(false)
      expect(await scene.store.head()).toEqual(headOf(1, ONE))
      expect(await scene.store.swap(headOf(1, ONE), headOf(2, TWO))).toBe(true)
      expect(await scene.store.head()).toEqual(headOf(2, TWO))
      expect(await scene.store.heads()).toEqual([headOf(2, TWO), headOf(1, ONE)])
    })

    test('a collection forgets the earlier heads that it is not to keep, and never the present one', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.swapTo(4)

      await scene.store.collect({ heads: new Set([2]), live: new Set() })

      expect(await scene.store.heads()).toEqual([headOf(4, ONE), headOf(2, ONE)])
    })

    test('the record of a head comes with its swap, and with none that fails', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.store.swap(undefined, headOf(1, ONE), recordOf(1))

      await scene.store.swap(headOf(1, TWO), headOf(2, TWO), recordOf(2))
      await scene.restart()

      expect(await recordsIn(scene)).toEqual([recordOf(1)])
    })

    test('a collection forgets heads and objects, and no record', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.put(ONE)
      scene.endLease()
      await scene.recordTo(3)

      await scene.store.collect(NOTHING)

      expect(await scene.store.heads()).toEqual([headOf(3, ONE)])
      expect(await recordsIn(scene)).toEqual([recordOf(3), recordOf(2), recordOf(1)])
    })

    test('records that are 90 days older than the newest go with its swap', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.recordTo(2)

      const later = { ...recordOf(3), at: recordOf(2).at + RECORD_MS }
      await scene.store.swap(headOf(2, ONE), headOf(3, ONE), later)

      expect(await recordsIn(scene)).toEqual([later, recordOf(2)])
    })

    test('records go, the oldest first, when all together are too large', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.recordTo(2)

      const large = { ...recordOf(3), total: recordOf(1).total + MOST_RECORD_BYTES }
      await scene.store.swap(headOf(2, ONE), headOf(3, ONE), large)

      expect(await recordsIn(scene)).toEqual([large, recordOf(2)])
    })

    test('records of earlier heads are added, and those of what left are found by a part of their texts', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.swapTo(4)

      const records = [4, 3, 2, 1].map((at) => recordOf(at, at % 2 === 0))
      await scene.store.addRecords(records.slice(2))
      await scene.store.addRecords(records.slice(0, 2))

      expect(await recordsIn(scene)).toEqual(records)
      expect(await scene.store.recordSequences({ leaving: '' })).toEqual([4, 2])
      expect(await scene.store.recordSequences({ leaving: 'of 2' })).toEqual([2])
      expect(await scene.store.recordSequences({ leaving: 'of 3' })).toEqual([])
      expect(await scene.store.recordSequences({ most: 2 })).toEqual([4, 3])
    })

    test('of many swaps of one head at the same time, one succeeds', async () => {
      await using scene = await Scene.open(makePlace)
      const rivals = [ONE, TWO, patternOf(3), patternOf(4)]

      const results = await Promise.all(rivals.map((bytes) => scene.store.swap(undefined, headOf(1, bytes))))

      expect(results.filter(Boolean)).toHaveLength(1)
      expect(await scene.store.head()).toEqual(headOf(1, rivals[results.indexOf(true)]!))
    })

    test('a collection removes what is neither live nor leased, and counts it', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.put(ONE, TWO, patternOf(2 ** 19))
      scene.endLease()

      const collected = await scene.store.collect(keeping(ONE))

      expect(collected).toEqual({ objects: 2, bytes: TWO.byteLength + 2 ** 19, left: ONE.byteLength })
      expect(await scene.store.get(sha256(ONE))).toBeDefined()
      expect(await scene.store.get(sha256(TWO))).toBeUndefined()
    })

    test('a lease keeps what was put under it, and what it was given as present', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.put(ONE)
      scene.endLease()
      using later = scene.store.lease()
      await scene.store.missing([sha256(ONE)])
      await scene.store.put([TWO])

      expect((await scene.store.collect(NOTHING)).objects).toBe(0)
      later[Symbol.dispose]()
      expect((await scene.store.collect(NOTHING)).objects).toBe(2)
    })

    test('an object that was there already is kept by the lease of the next put', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.put(ONE)
      scene.endLease()
      using _later = scene.store.lease()
      await scene.store.put([ONE])

      expect((await scene.store.collect(NOTHING)).objects).toBe(0)
    })

    test('an object that was collected can be put again', async () => {
      await using scene = await Scene.open(makePlace)
      await scene.put(ONE)
      scene.endLease()
      await scene.store.collect(NOTHING)

      await scene.store.put([ONE])

      expect(await scene.store.get(sha256(ONE))).toEqual(new Uint8Array(ONE))
    })

    test('any history is that of a set of objects and one head', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), async (steps) => {
          await using scene = await Scene.open(makePlace)
          const model = new Model()
          for (const step of steps) await step(scene, model)
          expect(await stateOf(scene)).toEqual({ heads: model.heads, objects: model.present })
        }),
        { numRuns: lawRuns(200, 0.1) },
      )
    })
  })
}

/** A collection that keeps no object, and no earlier head. */
const NOTHING = { heads: new Set<number>(), live: new Set<string>() }

function keeping(...objects: readonly Uint8Array[]): LiveObjects {
  return { ...NOTHING, live: new Set(objects.map(sha256)) }
}

const ONE = Buffer.from('one')
const TWO = Buffer.from('two of them')

/** Few different objects, so that histories come back to the same ones; one is larger than a row. */
const OBJECTS = [ONE, TWO, patternOf(0), patternOf(1_000), patternOf(2 ** 18 + 5)]

/** One store at a place, with a lease that is open until it is ended. */
class Scene implements AsyncDisposable {
  readonly #place: ObjectPlace
  store: ObjectStore
  lease: Disposable

  private constructor(place: ObjectPlace, store: ObjectStore) {
    this.#place = place
    this.store = store
    this.lease = store.lease()
  }

  static async open(makePlace: () => Promise<ObjectPlace>): Promise<Scene> {
    const place = await makePlace()
    return new Scene(place, await place.open())
  }

  async put(...objects: readonly Uint8Array[]): Promise<readonly string[]> {
    return this.store.put(objects)
  }

  endLease(): void {
    this.lease[Symbol.dispose]()
  }

  newLease(): void {
    this.endLease()
    this.lease = this.store.lease()
  }

  /** Swaps from nothing to the head of this sequence, one by one. */
  async swapTo(sequence: number): Promise<void> {
    for (let at = 1; at <= sequence; at += 1)
      await this.store.swap(at === 1 ? undefined : headOf(at - 1, ONE), headOf(at, ONE))
  }

  /** The same, with a record of each. */
  async recordTo(sequence: number): Promise<void> {
    for (let at = 1; at <= sequence; at += 1)
      await this.store.swap(at === 1 ? undefined : headOf(at - 1, ONE), headOf(at, ONE), recordOf(at))
  }

  async restart(): Promise<void> {
    this.store[Symbol.dispose]()
    this.store = await this.#place.open()
    this.lease = this.store.lease()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.store[Symbol.dispose]()
    await this.#place[Symbol.asyncDispose]()
  }
}

/** The promise itself, as plain values. */
class Model {
  readonly objects = new Map<string, Uint8Array>()
  leased = new Set<string>()
  /** Newest first. */
  heads: readonly StoreHead[] = []

  get present(): readonly (string | undefined)[] {
    return OBJECTS.map(sha256).map((digest) => (this.objects.has(digest) ? digest : undefined))
  }
}

type Step = (scene: Scene, model: Model) => Promise<void>

const INDEX = fc.nat({ max: OBJECTS.length - 1 })

const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.array(INDEX, { maxLength: 4 }).map(putting),
  fc.array(INDEX, { maxLength: 4 }).map(seeking),
  fc.subarray(OBJECTS.map((_, index) => index)).map(collecting),
  fc.tuple(fc.boolean(), INDEX).map(swapping),
  fc.constant<Step>(async (scene, model) => {
    scene.newLease()
    model.leased = new Set()
  }),
  fc.constant<Step>(async (scene, model) => {
    await scene.restart()
    model.leased = new Set()
  }),
)

function putting(indexes: readonly number[]): Step {
  return async (scene, model) => {
    const objects = indexes.map((index) => OBJECTS[index]!)
    expect(await scene.put(...objects)).toEqual(objects.map(sha256))
    for (const bytes of objects) {
      model.objects.set(sha256(bytes), bytes)
      model.leased.add(sha256(bytes))
    }
  }
}

function seeking(indexes: readonly number[]): Step {
  return async (scene, model) => {
    const digests = indexes.map((index) => sha256(OBJECTS[index]!))
    const missing = await scene.store.missing(digests)
    expect(missing).toEqual(digests.filter((digest) => !model.objects.has(digest)))
    for (const digest of digests) if (model.objects.has(digest)) model.leased.add(digest)
  }
}

function collecting(live: readonly number[]): Step {
  return async (scene, model) => {
    const kept = new Set([...live.map((index) => sha256(OBJECTS[index]!)), ...model.leased])
    const gone = [...model.objects].filter(([digest]) => !kept.has(digest))
    const { objects, bytes, left } = await scene.store.collect(keeping(...live.map((index) => OBJECTS[index]!)))
    model.heads = model.heads.slice(0, 1)
    for (const [digest] of gone) model.objects.delete(digest)
    expect({ objects, bytes }).toEqual({ objects: gone.length, bytes: bytesOf(gone.map(([, object]) => object)) })
    expect(left).toBe(bytesOf([...model.objects.values()]))
  }
}

function swapping([isExpected, index]: readonly [boolean, number]): Step {
  return async (scene, model) => {
    const [head] = model.heads
    const next = headOf((head?.sequence ?? 0) + 1, OBJECTS[index]!)
    const stranger = { sequence: head?.sequence ?? 7, generation: sha256(Buffer.from('never')) }
    const isDone = await scene.store.swap(isExpected ? head : stranger, isExpected ? next : after(stranger))
    expect(isDone).toBe(isExpected)
    if (isDone) model.heads = [next, ...model.heads]
  }
}

function after({ sequence, generation }: StoreHead): StoreHead {
  return { sequence: sequence + 1, generation }
}

/** The heads, and which of the objects there are, in their order. */
async function stateOf({
  store,
}: Scene): Promise<{ heads: readonly StoreHead[]; objects: readonly (string | undefined)[] }> {
  const objects = await Promise.all(OBJECTS.map(async (bytes) => store.get(sha256(bytes))))
  return { heads: await store.heads(), objects: objects.map((bytes) => bytes && sha256(bytes)) }
}

function headOf(sequence: number, generation: Uint8Array): StoreHead {
  return { sequence, generation: sha256(generation) }
}

function recordOf(sequence: number, hasLeaving = false): HeadRecord {
  const text = `the text of ${sequence}`
  return { sequence, at: 1_000 * sequence, total: 100 * sequence, hasLeaving, text }
}

/** Newest first. */
async function recordsIn({ store }: Scene): Promise<readonly HeadRecord[]> {
  const records = await listed(store.records(await store.recordSequences()))
  return records.toSorted((a, b) => b.sequence - a.sequence)
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function bytesOf(objects: readonly Uint8Array[]): number {
  return objects.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** Bytes that differ from those of the same length at another place. */
function patternOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, at) => (at * 7 + (at >> 8)) % 251)
}
