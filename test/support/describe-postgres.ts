import { afterAll, beforeAll, describe } from 'vitest'
import { postgresPrograms, startPostgres } from './postgres.ts'
import type { Postgres } from './postgres.ts'

const programs = await postgresPrograms()

/**
 * Groups tests that share one server, which `tests` gets. It runs from the first test, or its `beforeAll`, to the last.
 * They are skipped where PostgreSQL is not installed.
 */
export function describePostgres(name: string, tests: (server: Postgres) => void): void {
  // oxlint-disable-next-line vitest/valid-title -- the title is a string, which the rule does not follow
  describe.skipIf(programs === undefined)(name, () => {
    const shared = new SharedServer()
    beforeAll(async () => shared.begin(programs ?? ''), TIMEOUT_MS)
    afterAll(async () => shared[Symbol.asyncDispose](), TIMEOUT_MS)
    tests(shared)
  })
}

const TIMEOUT_MS = 120_000

/** A server that is started after the tests have it. */
class SharedServer implements Postgres {
  #server: Postgres | undefined

  async begin(folder: string): Promise<void> {
    this.#server = await startPostgres(folder)
  }

  get #started(): Postgres {
    if (this.#server === undefined) throw new Error('The server runs in tests and their hooks alone')
    return this.#server
  }

  get certificate(): string {
    return this.#started.certificate
  }

  get data(): string {
    return this.#started.data
  }

  get disk(): string | undefined {
    return this.#started.disk
  }

  async createDatabase(): Promise<string> {
    return this.#started.createDatabase()
  }

  async stop(mode?: 'fast' | 'immediate'): Promise<void> {
    await this.#started.stop(mode)
  }

  async start(): Promise<void> {
    await this.#started.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
  }
}
