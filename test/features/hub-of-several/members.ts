import { join } from 'node:path'
import { Client } from 'pg'
import { expect } from 'vitest'
import { systemClock } from '../../../src/base/async/clock.ts'
import type { AdoptedChange } from '../../../src/daemon/runtime/hub-replica.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { HubMember } from '../../../src/features/hub-of-several/hub-member.ts'
import type { AnswerRequest } from '../../../src/features/hub-of-several/shared-commands.ts'
import { SharedStore } from '../../../src/sync/postgres/shared-store.ts'
import { Store } from '../../../src/sync/store/store.ts'
import type { Postgres } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary.ts'

/** The members of one hub, in one process, each with a store of its own. */
export class Members implements AsyncDisposable {
  readonly url: string
  readonly #folder: Awaited<ReturnType<typeof temporaryFolder>>
  readonly #opened = new AsyncDisposableStack()
  #joined = 0

  private constructor(url: string, folder: Awaited<ReturnType<typeof temporaryFolder>>) {
    this.url = url
    this.#folder = this.#opened.use(folder)
  }

  static async of(server: Postgres): Promise<Members> {
    return new Members(await server.createDatabase(), await temporaryFolder())
  }

  /** Starts a member, and waits until it has looked once. */
  async join(options: Joining = {}): Promise<Member> {
    const path = join(this.#folder.path, options.at ?? String((this.#joined += 1)))
    const member = this.#opened.use(await Member.open(path, this.url, options))
    await expect.poll(() => member.looks, WAIT).toBeGreaterThan(0)
    return member
  }

  /** Starts one that leads, and another one. */
  async pair(options: Joining = {}): Promise<readonly [Member, Member]> {
    const leader = await this.join(options)
    await leader.leads()
    return [leader, await this.join(options)]
  }

  /** Runs a statement as another client of the database. */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url })
    await client.connect()
    try {
      return (await client.query(text, [...values])).rows
    } finally {
      await client.end()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}

export interface Joining {
  readonly leaseMs?: number
  /** The name of the folder of its store, for one that was there before. */
  readonly at?: string
  readonly answer?: AnswerRequest
  /** The number of the generation that it serves: the newest one by default. */
  readonly served?: () => number
  /** The digest of its configuration. */
  readonly config?: string
  /** Called with each look. */
  readonly look?: () => Promise<void>
  /** Called before a change of the role counts. */
  readonly change?: (isLeading: boolean) => Promise<void>
  /** Called before a change counts as taken over. */
  readonly takeOver?: () => Promise<void>
}

export class Member implements AsyncDisposable {
  readonly store: Store
  readonly shared: SharedStore
  readonly hub: HubMember
  readonly path: string
  readonly changes: AdoptedChange[] = []
  readonly roles: boolean[] = []
  looks = 0
  /** The events of its log, in their order. */
  readonly events: string[]
  /** The calls about news, and the changes of the head, in their order. */
  readonly calls: ('news' | 'head')[] = []
  /** False if news cannot be taken over. */
  takesNews = true
  #isOver = false

  private constructor(path: string, store: Store, hub: HubMember, events: string[]) {
    this.path = path
    this.events = events
    this.store = store
    this.hub = hub
    this.shared = hub.shared
  }

  static async open(path: string, url: string, options: Joining): Promise<Member> {
    const store = await Store.open(path)
    const shared = SharedStore.at({ url, connections: 3 }, { leaseMs: options.leaseMs ?? 60_000 })
    const events: string[] = []
    const stream = { write: (line: string) => events.push(JSON.parse(line).event) > 0 }
    const log = createLog({
      level: 'info',
      stream,
      format: 'json',
      journal: false,
      clock: systemClock,
      redactor: new Redactor(),
    })
    const hub = await HubMember.open({ shared, store, clock: systemClock, log })
    const member = new Member(path, store, hub, events)
    await hub.start({
      configDigest: () => options.config ?? 'one',
      servedGeneration: () => options.served?.() ?? Number.POSITIVE_INFINITY,
      answer: options.answer ?? (async () => null),
      async onLook() {
        member.looks += 1
        await options.look?.()
      },
      async onNews() {
        member.calls.push('news')
        return member.takesNews
      },
      async onChange(change) {
        await options.takeOver?.()
        member.changes.push(change)
        if (change.head) member.calls.push('head')
      },
      async onRole(isLeading) {
        await options.change?.(isLeading)
        member.roles.push(isLeading)
      },
    })
    return member
  }

  /** Waits until it leads. */
  async leads(): Promise<void> {
    await expect.poll(() => this.hub.isLeading, WAIT).toBe(true)
  }

  /** Waits until it has the head of this number. */
  async has(sequence: number): Promise<void> {
    await expect.poll(async () => (await this.store.objects.head())?.sequence, WAIT).toBe(sequence)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    await this.hub[Symbol.asyncDispose]()
    this.store[Symbol.dispose]()
  }
}

export const WAIT = { timeout: 60_000, interval: 20 }
