import { PostgresDatabase } from '../../src/sync/postgres/postgres-database.ts'
import type { Postgres } from './postgres.ts'

/** A database of its own, and the things that a test opens on it, which end with it. */
export class HubDatabase implements AsyncDisposable {
  readonly database: PostgresDatabase
  protected readonly opened = new AsyncDisposableStack()

  protected constructor(database: PostgresDatabase) {
    this.database = this.opened.use(database)
  }

  /** Creates and opens it. */
  protected static async create(server: Postgres): Promise<PostgresDatabase> {
    return PostgresDatabase.open({ url: await server.createDatabase() })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.opened.disposeAsync()
  }
}
