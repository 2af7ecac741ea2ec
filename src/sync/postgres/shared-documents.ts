import type { PoolClient } from 'pg'
import { notify } from './notify.ts'
import type { PostgresDatabase } from './postgres-database.ts'

/** A small text that the processes of a hub share. */
export interface SharedDocument {
  /** Grows with each change of any document; 0 for one that was never written. */
  readonly version: number
  /** `undefined` if it was never written, or was removed. */
  readonly bytes: Uint8Array | undefined
}

/** A document that is to be written; without bytes it is removed. */
export interface DocumentChange {
  readonly name: string
  readonly bytes: Uint8Array | undefined
}

/** The documents of a PostgreSQL database. Each has a name, such as `decisions` or `sources/team.json`. */
export class SharedDocuments {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** Returns `undefined` if it has no row. Throws `store-failed` if the database cannot be reached. */
  async read(name: string): Promise<SharedDocument | undefined> {
    const text = 'SELECT version, bytes FROM skillsyncd.document WHERE name = $1'
    const [row] = await this.#database.query(`read "${name}"`, text, [name])
    return row === undefined ? undefined : documentIn(row)
  }

  /** Returns the documents that have changed since the version, those that were removed included. */
  async changedSince(version: number): Promise<ReadonlyMap<string, SharedDocument>> {
    const text = 'SELECT name, version, bytes FROM skillsyncd.document WHERE version > $1 ORDER BY version'
    const rows = await this.#database.query('read what changed', text, [version])
    return new Map(rows.map((row) => [String(row['name']), documentIn(row)]))
  }

  /**
   * Replaces a document that has this version, and returns its next one. Returns `undefined`, and changes nothing, if
   * another process has changed it. Any process may do so.
   */
  async swap(name: string, version: number, bytes: Uint8Array | undefined): Promise<number | undefined> {
    return this.#database.transact(`write "${name}"`, async (client) => {
      // Once the row of the present head is locked, no other transaction changes a document.
      await client.query('SELECT FROM skillsyncd.present FOR NO KEY UPDATE')
      const found = await client.query('SELECT version FROM skillsyncd.document WHERE name = $1', [name])
      if (Number(found.rows[0]?.['version'] ?? 0) !== version) return undefined
      const { rows } = await client.query('UPDATE skillsyncd.present SET version = version + 1 RETURNING version')
      const next = Number(rows[0]?.['version'])
      await putDocuments(client, [{ name, bytes }], next)
      await notify(client)
      return next
    })
  }

  /**
   * Writes the documents of the leader. Returns their version; `undefined`, and changes nothing, if the epoch is over.
   */
  async write(changes: readonly DocumentChange[], epoch: number): Promise<number | undefined> {
    return this.#database.transact('write what changed', async (client) => {
      const text = 'UPDATE skillsyncd.present SET version = version + 1 WHERE epoch = $1 RETURNING version'
      const { rows } = await client.query(text, [epoch])
      const [row] = rows
      if (row === undefined) return undefined
      const version = Number(row['version'])
      await putDocuments(client, changes, version)
      await notify(client)
      return version
    })
  }
}

/** Writes the documents in a transaction that has counted the version up. */
export async function putDocuments(
  client: PoolClient,
  changes: readonly DocumentChange[],
  version: number,
): Promise<void> {
  for (const { name, bytes } of changes)
    await client.query(PUT, [name, version, bytes === undefined ? null : Buffer.from(bytes)])
}

const PUT = `
  INSERT INTO skillsyncd.document (name, version, bytes) VALUES ($1, $2, $3)
  ON CONFLICT (name) DO UPDATE SET version = excluded.version, bytes = excluded.bytes`

function documentIn(row: Readonly<Record<string, unknown>>): SharedDocument {
  const { version, bytes } = row
  return { version: Number(version), bytes: bytes instanceof Uint8Array ? new Uint8Array(bytes) : undefined }
}
