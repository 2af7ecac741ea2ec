import { hash } from 'node:crypto'
import type { PoolClient, QueryResultRow } from 'pg'
import { Damaged } from '../model/sync-error.ts'
import { ObjectLeases } from '../store/objects/object-leases.ts'
import type {
  CollectedObjects,
  Digest,
  HeadRecord,
  LiveObjects,
  ObjectStore,
  RecordQuery,
  StoreHead,
} from '../store/objects/object-store.ts'
import { putRecords, recordSequences, recordsOf } from './head-records.ts'
import { notify } from './notify.ts'
import type { PostgresDatabase } from './postgres-database.ts'

/**
 * Objects in a PostgreSQL database that the processes of a hub share. Leases are those of this process. A collection
 * also spares what any process has stored or found of late: it may be about to name it.
 */
export class PostgresObjects implements ObjectStore {
  readonly #database: PostgresDatabase
  readonly #epochOf: () => number | undefined
  readonly #spareMs: number
  readonly #leases = new ObjectLeases()
  readonly #removals = new Set<Removal>()
  /** The newest id of an object that this process has seen. A lease that begins after a smaller one covers more. */
  #newestId: number

  private constructor(database: PostgresDatabase, newestId: number, { epochOf, spareMs }: ObjectsOptions) {
    this.#database = database
    this.#newestId = newestId
    this.#epochOf = epochOf
    this.#spareMs = spareMs
  }

  /** `epochOf`: the epoch in which this process leads; `undefined` while it does not. Only a leader replaces the head. */
  static async open(
    database: PostgresDatabase,
    epochOf: () => number | undefined,
    spareMs = SPARE_MS,
  ): Promise<PostgresObjects> {
    const [row] = await database.query('open the store', 'SELECT coalesce(max(id), 0) AS newest FROM skillsyncd.object')
    return new PostgresObjects(database, Number(row?.['newest']), { epochOf, spareMs })
  }

  async put(objects: Iterable<Uint8Array>, label?: string): Promise<readonly Digest[]> {
    const digests: Digest[] = []
    let batch: Uint8Array[] = []
    let bytes = 0
    const flush = async (): Promise<void> => {
      const stored = batch
      ;[batch, bytes] = [[], 0]
      if (stored.length > 0) digests.push(...(await this.#putBatch(stored, label)))
    }
    for (const object of objects) {
      batch.push(object)
      bytes += object.byteLength
      if (bytes >= BATCH_BYTES || batch.length >= AT_ONCE) await flush()
    }
    await flush()
    return digests
  }

  async #putBatch(objects: readonly Uint8Array[], label: string | undefined): Promise<readonly Digest[]> {
    const digests = objects.map((bytes) => hash('sha256', bytes, 'hex'))
    // In one order: two processes that put the same objects would wait for each other otherwise.
    const unique = [...new Map(digests.map((digest, index) => [digest, index]))].toSorted(([a], [b]) =>
      a < b ? -1 : 1,
    )
    const columns = [
      unique.map(([digest]) => bytesOf(digest)),
      unique.map(([, index]) => objects[index]?.byteLength ?? 0),
      unique.map(([, index]) => Buffer.from(objects[index] ?? [])),
    ]
    await this.#hold(digests)
    const rows = await this.#database.query('store objects', PUT, [...columns, label ?? null, this.#renewMs])
    for (const { id } of rows) this.#newestId = Math.max(this.#newestId, Number(id))
    return digests
  }

  async labelled(label: string): Promise<readonly Digest[]> {
    const text = 'SELECT digest FROM skillsyncd.object WHERE label = $1 ORDER BY id'
    return (await this.#database.query('list objects', text, [label])).map(({ digest }) => digestIn(digest))
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    await this.#hold([digest])
    const text = 'SELECT bytes FROM skillsyncd.object WHERE digest = $1'
    const [row] = await this.#database.query(`read the object "${digest}"`, text, [bytesOf(digest)])
    return row === undefined ? undefined : verified(digest, row['bytes'])
  }

  async sizeOf(digest: Digest): Promise<number | undefined> {
    return (await this.#sizesOf([digest])).get(digest)
  }

  async *each(digests: Iterable<Digest>): AsyncGenerator<Uint8Array> {
    for (const slice of slices(new Set(digests))) {
      await this.#hold(slice)
      const sizes = await this.#sizesOf(slice)
      for (const batch of batchesOf(slice, sizes)) {
        const text = 'SELECT digest, bytes FROM skillsyncd.object WHERE digest = ANY($1)'
        const rows = await this.#database.query('read objects', text, [batch.map(bytesOf)])
        if (rows.length < batch.length) throw new Damaged('Cannot read objects: the database has lost some of them')
        for (const { digest, bytes } of rows) yield verified(digestIn(digest), bytes)
      }
    }
  }

  async #sizesOf(digests: readonly Digest[]): Promise<ReadonlyMap<Digest, number>> {
    const text = 'SELECT digest, size FROM skillsyncd.object WHERE digest = ANY($1)'
    const rows = await this.#database.query('find objects', text, [digests.map(bytesOf)])
    return new Map(rows.map(({ digest, size }) => [digestIn(digest), Number(size)]))
  }

  async missing(digests: Iterable<Digest>): Promise<readonly Digest[]> {
    const missing: Digest[] = []
    for (const slice of slices(digests)) {
      await this.#hold(slice)
      const stored = await this.#find(slice)
      missing.push(...slice.filter((digest) => !stored.has(digest)))
    }
    return missing
  }

  /** Finds objects that no process removes soon. One that was not touched of late counts once that is renewed. */
  async #find(digests: readonly Digest[]): Promise<ReadonlySet<Digest>> {
    const rows = await this.#database.query('find objects', FIND, [digests.map(bytesOf), this.#renewMs])
    const found = new Set(rows.filter((row) => row['is_old'] !== true).map(({ digest }) => digestIn(digest)))
    const old = rows.filter((row) => row['is_old'] === true).map((row): unknown => row['digest'])
    if (old.length === 0) return found
    const renewed = await this.#database.query('find objects', RENEW, [old])
    return found.union(new Set(renewed.map(({ digest }) => digestIn(digest))))
  }

  /** The age of a touch after which a find writes another: so it seldom writes. */
  get #renewMs(): number {
    return this.#spareMs / 6
  }

  /**
   * Covers objects by the open leases before they are looked up. A removal that begins later spares them; one that runs
   * is over when this resolves, so that they are found only if it has left them.
   */
  async #hold(digests: readonly Digest[]): Promise<void> {
    for (const digest of digests) this.#leases.hold(digest)
    for (const removal of this.#removals) if (digests.some((digest) => removal.digests.has(digest))) await removal.ended
  }

  lease(): Disposable {
    return this.#leases.open(this.#newestId)
  }

  async head(): Promise<StoreHead | undefined> {
    const [row] = await this.#database.query('read the head', 'SELECT sequence, generation FROM skillsyncd.present')
    return row?.['generation'] === null ? undefined : row && headIn(row)
  }

  async heads(): Promise<readonly StoreHead[]> {
    const text = 'SELECT sequence, generation FROM skillsyncd.head ORDER BY sequence DESC'
    return (await this.#database.query('read the heads', text)).map(headIn)
  }

  async swap(expected: StoreHead | undefined, next: StoreHead, record?: HeadRecord): Promise<boolean> {
    if (next.sequence <= (expected?.sequence ?? 0)) throw new TypeError('The sequence of a head grows')
    const epoch = this.#epochOf()
    if (epoch === undefined) return false
    return this.#database.transact('publish', async (client) => swapIn(client, expected, [next, record], epoch))
  }

  async recordSequences(wanted: RecordQuery = {}): Promise<readonly number[]> {
    return recordSequences(this.#reading, wanted)
  }

  records(sequences: readonly number[]): AsyncIterable<HeadRecord> {
    return recordsOf(this.#reading, sequences)
  }

  async addRecords(records: readonly HeadRecord[]): Promise<void> {
    await this.#database.transact('add records', async (client) => putRecords(client, records))
  }

  readonly #reading = async (text: string, values?: unknown[]) => ({
    rows: await this.#database.query('read the records', text, values),
  })

  /**
   * Puts a head back that the database had before a copy took its place which lacks it. Any process may do so: only one
   * that continues the present head counts. Returns false, and changes nothing, if another one is there.
   */
  async restore(present: StoreHead | undefined, lost: StoreHead, record?: HeadRecord): Promise<boolean> {
    const [row] = await this.#database.query('find the epoch', 'SELECT epoch FROM skillsyncd.present')
    const epoch = Number(row?.['epoch'])
    return this.#database.transact('restore the head', async (client) => swapIn(client, present, [lost, record], epoch))
  }

  /** Only the leader collects: another process does not know what the present head names. */
  async collect({ heads, live }: LiveObjects): Promise<CollectedObjects> {
    const epoch = this.#epochOf() ?? null
    await this.#database.query('forget generations', FORGET, [[...heads], epoch])
    let [objects, bytes, left] = [0, 0, 0]
    for (let after = 0; ;) {
      const page = (await this.#database.query('collect objects', PAGE, [after, AT_ONCE, this.#spareMs])).map(entryOf)
      const dead = page.filter(
        ({ id, digest, isOld }) => isOld && !live.has(digest) && !this.#leases.covers(id, digest),
      )
      const removed = dead.length === 0 ? [] : await this.#remove(dead, epoch)
      objects += removed.length
      bytes += sizeOf(removed)
      left += sizeOf(page) - sizeOf(removed)
      const last = page.at(-1)
      if (last === undefined) return { objects, bytes, left }
      after = last.id
    }
  }

  /** Registers the removal at once: no lease may cover one of the objects between the check of the caller and this. */
  async #remove(dead: readonly Entry[], epoch: number | null): Promise<readonly Entry[]> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const removal = { digests: new Set(dead.map(({ digest }) => digest)), ended }
    this.#removals.add(removal)
    try {
      const values = [dead.map(({ id }) => id), epoch, this.#spareMs]
      return (await this.#database.query('collect objects', REMOVE, values)).map(entryOf)
    } finally {
      this.#removals.delete(removal)
      end()
    }
  }

  /** The database belongs to its opener. */
  [Symbol.dispose](): void {}
}

/** The row of the present head decides between rivals: it is locked by the one that changes it first. */
async function swapIn(
  client: PoolClient,
  expected: StoreHead | undefined,
  [next, record]: readonly [StoreHead, HeadRecord | undefined],
  epoch: number,
): Promise<boolean> {
  const values = [next.sequence, bytesOf(next.generation)]
  const { rowCount } = await client.query(SWAP, [
    ...values,
    expected?.sequence ?? 0,
    expected === undefined ? null : bytesOf(expected.generation),
    epoch,
  ])
  if (rowCount !== 1) return false
  await client.query('INSERT INTO skillsyncd.head (sequence, generation) VALUES ($1, $2)', values)
  if (record !== undefined) await putRecords(client, [record])
  await notify(client)
  return true
}

const SWAP = `
  UPDATE skillsyncd.present SET sequence = $1, generation = $2, version = version + 1
  WHERE sequence = $3 AND generation IS NOT DISTINCT FROM $4 AND epoch = $5`

/** The condition of rows that were not touched for so many milliseconds. */
const untouchedFor = (parameter: string): string =>
  `object.touched < clock_timestamp() - ${parameter} * interval '1 millisecond'`

const FIND = `SELECT digest, ${untouchedFor('$2')} AS is_old FROM skillsyncd.object WHERE digest = ANY($1)`

const RENEW = `
  WITH found AS (SELECT id FROM skillsyncd.object WHERE digest = ANY($1) ORDER BY digest FOR NO KEY UPDATE)
  UPDATE skillsyncd.object SET touched = clock_timestamp() FROM found WHERE object.id = found.id RETURNING digest`

/** Stores what is not there, replaces what is damaged, and renews what was not touched of late. Returns the ids of new rows: their `xmax` is 0. */
const PUT = `
  WITH given AS (SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS given (digest, size, bytes)),
  stored AS (
    INSERT INTO skillsyncd.object (digest, size, bytes, label)
    SELECT digest, size, bytes, $4::text FROM given ORDER BY digest
    ON CONFLICT (digest) DO UPDATE SET size = excluded.size, bytes = excluded.bytes, touched = clock_timestamp()
      WHERE sha256(object.bytes) <> object.digest OR ${untouchedFor('$5')}
    RETURNING id, xmax = 0 AS is_new
  )
  SELECT id FROM stored WHERE is_new`

const FORGET = `
  DELETE FROM skillsyncd.head
  WHERE sequence <> (SELECT sequence FROM skillsyncd.present) AND sequence <> ALL ($1::bigint[])
    AND EXISTS (SELECT FROM skillsyncd.present WHERE epoch = $2)`

/**
 * The lock on the row makes the next leader wait: once it leads, nothing is removed for the one before. The objects are
 * locked in the order in which other processes put them, so that no two wait for each other.
 */
const REMOVE = `
  WITH leader AS (SELECT FROM skillsyncd.present WHERE epoch = $2 FOR SHARE),
  dead AS (
    SELECT id FROM skillsyncd.object
    WHERE id = ANY($1) AND ${untouchedFor('$3')} AND EXISTS (SELECT FROM leader)
    ORDER BY digest FOR UPDATE
  )
  DELETE FROM skillsyncd.object USING dead WHERE object.id = dead.id RETURNING object.id, object.digest, object.size`

const PAGE = `
  SELECT id, digest, size, ${untouchedFor('$3')} AS is_old FROM skillsyncd.object WHERE id > $1 ORDER BY id LIMIT $2`

/** A process needs some minutes between the first object of a generation that it stores or finds, and the swap. */
const SPARE_MS = 3_600_000

/** The rows of one statement. */
const AT_ONCE = 1_000

/** The bytes of one statement that stores objects. */
const BATCH_BYTES = 2 ** 22

/** Each has at most as many digests as one statement. */
function* slices(digests: Iterable<Digest>): Generator<readonly Digest[]> {
  const all = [...digests]
  for (let from = 0; from < all.length; from += AT_ONCE) yield all.slice(from, from + AT_ONCE)
}

/** Each has at most as many bytes as one answer, or is one object. */
function* batchesOf(digests: readonly Digest[], sizes: ReadonlyMap<Digest, number>): Generator<readonly Digest[]> {
  let batch: Digest[] = []
  let bytes = 0
  for (const digest of digests) {
    const size = sizes.get(digest) ?? 0
    if (batch.length > 0 && bytes + size > BATCH_BYTES) {
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    batch.push(digest)
    bytes += size
  }
  if (batch.length > 0) yield batch
}

function verified(digest: Digest, bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array && hash('sha256', bytes, 'hex') === digest) return new Uint8Array(bytes)
  throw new Damaged(`Cannot read the object "${digest}": its bytes in the database have another SHA-256`)
}

/** A statement that removes objects, until it has ended. */
interface Removal {
  readonly digests: ReadonlySet<Digest>
  readonly ended: Promise<void>
}

interface ObjectsOptions {
  readonly epochOf: () => number | undefined
  /** The time for which a collection spares what was stored or found. */
  readonly spareMs: number
}

interface Entry {
  readonly id: number
  /** True if no process has stored or found it of late. */
  readonly isOld: boolean
  readonly digest: Digest
  readonly size: number
}

function entryOf(row: QueryResultRow): Entry {
  const { id, digest, size, is_old: isOld } = row
  return { id: Number(id), digest: digestIn(digest), size: Number(size), isOld: isOld === true }
}

function sizeOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0)
}

function headIn(row: QueryResultRow): StoreHead {
  const sequence = Number(row['sequence'])
  if (Number.isSafeInteger(sequence) && sequence > 0 && sequence < MOST_SEQUENCE)
    return { sequence, generation: digestIn(row['generation']) }
  throw new Damaged(`Cannot use a head of the database: ${String(row['sequence'])} is no number of a generation`)
}

/** More than a hub publishes in a thousand years, and small enough to count on. */
const MOST_SEQUENCE = 2 ** 48

function bytesOf(digest: Digest): Buffer {
  return Buffer.from(digest, 'hex')
}

function digestIn(value: unknown): Digest {
  if (Buffer.isBuffer(value) && value.length === 32) return value.toString('hex')
  throw new Damaged('Cannot use a digest of the database: it is not 32 bytes')
}
