import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'

/** All heads that were ever found, of the database and of the stores of the hub. They are one chain: no sequence has two. */
export class HeadRecord {
  /** Two generations with one sequence. */
  readonly forks: string[] = []
  readonly #digests = new Map<number, string>()

  /** The sequence of the newest head that was found. */
  get newest(): number {
    return Math.max(0, ...this.#digests.keys())
  }

  /** Returns the sequences that the database has, in order. */
  async takeDatabase(url: string): Promise<readonly number[]> {
    const client = new Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query('SELECT sequence, generation FROM skillsyncd.head ORDER BY sequence')
      for (const { sequence, generation } of rows) this.#take('the database', Number(sequence), generation)
      return rows.map(({ sequence }) => Number(sequence))
    } finally {
      await client.end()
    }
  }

  takeStore(state: string): void {
    const database = new DatabaseSync(join(state, 'store.db'), { readOnly: true, timeout: 30_000 })
    try {
      for (const { sequence, generation } of database.prepare('SELECT sequence, generation FROM head').all())
        if (generation instanceof Uint8Array) this.#take(state, Number(sequence), generation)
    } finally {
      database.close()
    }
  }

  #take(place: string, sequence: number, generation: Uint8Array): void {
    const digest = Buffer.from(generation).toString('hex')
    const known = this.#digests.get(sequence)
    if (known !== undefined && known !== digest) this.forks.push(`${place}: ${sequence} is ${digest}, and was ${known}`)
    this.#digests.set(sequence, digest)
  }
}
