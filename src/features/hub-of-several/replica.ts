import { hostname } from 'node:os'
import { ignoreAbort, isAbortError } from '../../base/async/abort-error.ts'
import type { Clock } from '../../base/async/clock.ts'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { waitAtMost } from '../../base/async/wait-at-most.ts'
import type { Log } from '../../base/log.ts'
import type { AdoptedChange, ReplicaRow, ReplicasStatus } from '../../daemon/runtime/hub-replica.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import { VERSION } from '../../serve/version.ts'
import { SyncError, unlessSyncError } from '../../sync/model/sync-error.ts'
import { DatabaseFailure } from '../../sync/postgres/database-failure.ts'
import type { HubStanding } from '../../sync/postgres/leadership.ts'
import type { PostgresObjects } from '../../sync/postgres/postgres-objects.ts'
import { ReplicaRows } from '../../sync/postgres/replica-rows.ts'
import type { StoredReplica } from '../../sync/postgres/replica-rows.ts'
import type { SharedStore } from '../../sync/postgres/shared-store.ts'
import type { HeadRecord, StoreHead } from '../../sync/store/objects/object-store.ts'
import type { Store } from '../../sync/store/store.ts'
import { StaleFile, SharedFiles } from './shared-files.ts'
import { SharedHead } from './shared-head.ts'

export interface ReplicaParts {
  readonly shared: SharedStore
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
}

/** The part of its process that a replica calls. Errors other than `SyncError` end the process. */
export interface ReplicaHost {
  /** The digest of the configuration that all processes must have alike. */
  readonly configDigest: () => string
  /** The number of the generation that clients of this process read; 0 for none. */
  readonly servedGeneration: () => number
  /** Called with each look, before anything that it found is served. */
  readonly onLook: () => Promise<void>
  /**
   * Something has changed that has no file here, such as decisions or tokens. Called before a new head is served, which
   * they may restrict. Returns false to be called again at the next look.
   */
  readonly onNews: () => Promise<boolean>
  readonly onChange: (change: AdoptedChange) => Promise<void>
  /** Called at the end of each look: requests of other processes can be answered. */
  readonly onKeptUp: () => Promise<void>
  /** This process leads from now on, or no longer. What it served it serves on. */
  readonly onRole: (isLeading: boolean) => Promise<void>
}

/**
 * One process of a hub of several. It keeps its own store at the head that all share, and takes the lead when no other
 * process has it. While the database is away, it serves what it has.
 */
export class Replica implements AsyncDisposable {
  readonly #parts: ReplicaParts
  readonly #rows: ReplicaRows
  readonly #files: SharedFiles
  readonly #head: SharedHead
  readonly #over = new AbortController()
  /** Three reactions, so that none waits for another: the lead, news and requests, and copies. */
  readonly #pulse: Reaction
  readonly #news: Reaction
  readonly #copies: Reaction
  /** The first copy, which rejects only with an error that ends the process. */
  #opening: Promise<void> = Promise.resolve()
  #isLeading = false
  #listening: AsyncDisposable | undefined
  /** The version of the database that this process has taken over, in its store and its files. */
  #version = -1
  /** The version at which the host had taken over all that has no file here. */
  #newsVersion = -1
  readonly #takingNews = new SerialQueue()
  #standing: HubStanding | undefined
  /** The changes in the store of this process that its host has not taken over. */
  #unserved: { head: boolean; readonly files: Set<string> } = { head: false, files: new Set() }
  /** The failure of each reaction. */
  readonly #failures = new Map<Work, Failure>()
  #processes: readonly ReplicaRow[] = []
  /** The processes that were late, with the version of the database that each lacked last. */
  readonly #late = new Map<string, number>()
  /** True if the database could not be asked which processes were late. */
  #isLateUnknown = false
  #onCaughtUp: (areAll: boolean) => void = () => {}
  /** The host, once this process takes part. */
  #host: ReplicaHost | undefined
  /** Called after the next round of copies that begins. */
  #settling: (() => void)[] = []
  #isCaughtUp = false
  /** The end of the time in which another process shall lead, on the monotonic clock. */
  #asideUntilMs = -Infinity
  #shown = { version: -1, atMs: -Infinity }

  constructor(parts: ReplicaParts) {
    const { log, shared, store } = parts
    const { signal } = this.#over
    this.#parts = parts
    this.#rows = new ReplicaRows(shared.pulse, shared.id)
    this.#files = new SharedFiles(store.folder, shared.documents)
    this.#head = new SharedHead({ store, log, signal })
    this.#pulse = this.#reaction('pulse', async () => this.#renew())
    this.#news = this.#reaction('news', async (host) => this.#exchange(host))
    this.#copies = this.#reaction('copies', async (host) => this.#keepUpOrLeave(host))
    store.generations.commitWith(async (before, ...next) => this.#commit(before, next))
  }

  /** True if this process pulls and publishes. */
  get isLeading(): boolean {
    return this.#isLeading
  }

  /** True if this process has all generations that the database has: otherwise it cannot know what may be forgotten. */
  get hasHistory(): boolean {
    return this.#head.hasHistory
  }

  get status(): ReplicasStatus {
    const { id } = this.#parts.shared
    const away = this.#away
    const leader = away === undefined ? this.#standing?.leader : undefined
    return {
      id,
      leads: this.#isLeading,
      ...(leader !== undefined && { leader: { id: leader.holder, since: leader.since.toISOString() } }),
      processes: this.#processes,
      ...(away !== undefined && { away }),
    }
  }

  /** Resolves when this process has what the database had at the time of the call, or cannot reach it, or ends. */
  async settled(): Promise<void> {
    if (this.#over.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#settling.push(resolve)
    this.#copies.trigger()
    await promise
  }

  /**
   * Takes over what the database has, if it can be reached. A process with content of its own waits a few seconds for that:
   * a client that another one has notified may read here. It leads only once it is started.
   */
  async open(): Promise<void> {
    const { shared, store, clock } = this.#parts
    this.#opening = this.#tried('copies', async () => {
      const objects = await shared.open()
      // From here on, the others notify no client of what this process does not serve.
      await this.#show()
      await this.#takeOver(objects, (await shared.leadership.standing()).version)
    })
    const isServing = (await store.objects.head()) !== undefined
    await (isServing ? waitAtMost(OPENING_MS, this.#opening, clock) : this.#opening)
  }

  /** Keeps up with the other processes from now on, and leads if no other one does. */
  start(host: ReplicaHost): void {
    this.#host = host
    for (const reaction of this.#reactions) reaction.start(0)
  }

  /**
   * Resolves with true when each process that lives serves what the database has now, or this one ends; with false after
   * two seconds, or without the database. `onCaughtUp` has the processes that were late, or may have been.
   */
  async isServedByAll(): Promise<boolean> {
    const { shared, clock } = this.#parts
    const { signal } = this.#over
    const endMs = clock.monotonicMs() + MOST_HELD_MS
    try {
      const { version } = await shared.leadership.standing()
      for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs *= 2) {
        const behind = await this.#rows.behind(version)
        if (behind.length === 0) return true
        if (clock.monotonicMs() >= endMs) {
          for (const id of behind) this.#late.set(id, version)
          return false
        }
        await clock.wait(Math.min(pauseMs, MOST_PAUSE_MS), signal).catch(ignoreAbort)
      }
    } catch (error) {
      unlessSyncError(error)
      this.#isLateUnknown = true
    }
    return signal.aborted
  }

  /**
   * Calls back each time a process serves what it lacked when `isServedByAll` resolved with false. One that was killed
   * never does. `areAll`: no other living process lacks something of that.
   */
  onCaughtUp(listener: (areAll: boolean) => void): void {
    this.#onCaughtUp = listener
  }

  /** Shows the other processes soon what this one serves by now. */
  served(): void {
    this.#news.trigger()
  }

  /** Has another living process lead, and does not take the lead back for a minute. Without one, this process leads on. */
  stepAside(): void {
    this.#asideUntilMs = this.#parts.clock.monotonicMs() + ASIDE_MS
    this.#pulse.trigger()
  }

  /** Reads the database soon. */
  nudge(): void {
    for (const reaction of this.#reactions) reaction.trigger()
  }

  /** Gives up the lead, and ends. Nothing may be published any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#reactions.map(async (reaction) => reaction[Symbol.asyncDispose]()))
    for (const settled of this.#settling) settled()
    const { shared, log } = this.#parts
    try {
      if (this.#away === undefined) {
        if (this.#leads) await shared.leadership.leave()
        await this.#rows.leave()
      }
    } catch (error) {
      // The lease ends by itself.
      if (!(error instanceof SyncError)) throw error
      log.warn('shared-store-away', { code: error.code, message: error.message })
    }
    await this.#listening?.[Symbol.asyncDispose]()
    await shared[Symbol.asyncDispose]()
  }

  get #reactions(): readonly Reaction[] {
    return [this.#pulse, this.#news, this.#copies]
  }

  #reaction(name: Work, work: (host: ReplicaHost) => Promise<void>): Reaction {
    const run = async (): Promise<void> => {
      const host = this.#host
      if (host === undefined) return
      if (name === 'copies') await this.#opening
      await this.#tried(name, async () => work(host))
    }
    return new Reaction({ clock: this.#parts.clock, run, againMs: () => this.#host && LOOK_MS })
  }

  /** Does a part of the work. If that fails, it is repeated; what is served stays. */
  async #tried(name: Work, work: () => Promise<void>): Promise<void> {
    const { log, clock } = this.#parts
    try {
      await work()
      this.#failures.delete(name)
    } catch (error) {
      if (isAbortError(error) && this.#over.signal.aborted) return
      if (!(error instanceof SyncError)) throw error
      const { code, message } = error
      const event = error instanceof DatabaseFailure ? 'shared-store-away' : 'hub-not-followed'
      const before = this.#failures.get(name)
      const since = before?.event === event ? before.since : clock.now().toISOString()
      this.#failures.set(name, { event, code, message, since })
      log.failure('error', event, { source: '', code, message })
    }
    for (const event of FAILURES) if (this.#failureOf(event) === undefined) log.recovery(event, '')
  }

  #failureOf(event: (typeof FAILURES)[number]): Failure | undefined {
    return [...this.#failures.values()].find((failure) => failure.event === event)
  }

  /** The reason why the database cannot be used; `undefined` if it can. */
  get #away(): ReplicasStatus['away'] {
    const failure = this.#failureOf('shared-store-away')
    return failure && { code: failure.code, message: failure.message, since: failure.since }
  }

  /** Renews the lead, or takes it if no process has it and this one has what the last leader published. */
  async #renew(): Promise<void> {
    const { leadership } = this.#parts.shared
    await this.#parts.shared.open()
    let standing = await leadership.standing()
    const isAside = this.#isAside
    if (isAside && this.#leads) await leadership.leave()
    const isFree = standing.leader === undefined && this.#isCaughtUp
    if (!isAside && (this.#leads || isFree) && (await leadership.take())) standing = await leadership.standing()
    this.#standing = standing
    if (standing.version !== this.#version || this.#leads !== this.#isLeading) this.#copies.trigger()
    // The other processes are read every second too: notifications are hints.
    await this.#listen().catch(unlessSyncError)
  }

  get #isAside(): boolean {
    const { clock, shared } = this.#parts
    if (clock.monotonicMs() >= this.#asideUntilMs) return false
    return this.#processes.some(({ id, isLiving }) => isLiving && id !== shared.id)
  }

  /** True if this process holds the lead. It acts on that only after it has taken over what the leader before it did. */
  get #leads(): boolean {
    return this.#parts.shared.leadership.epoch !== undefined
  }

  /** Takes over what people decide and clients do at other processes, and answers their requests. */
  async #exchange(host: ReplicaHost): Promise<void> {
    await this.#parts.shared.open()
    await this.#takeNews(host)
    await this.#show()
    await host.onKeptUp()
  }

  /** A failed call is repeated in the next round. */
  async #takeNews(host: ReplicaHost): Promise<void> {
    await this.#takingNews.next(async () => {
      await host.onLook()
      const { version } = await this.#parts.shared.leadership.standing()
      if (version !== this.#newsVersion && (await host.onNews())) this.#newsVersion = version
    })
  }

  /** A process that has the lead, and cannot act on it, leaves it to another one. */
  async #keepUpOrLeave(host: ReplicaHost): Promise<void> {
    const settling = this.#settling
    this.#settling = []
    try {
      await this.#keepUp(host)
      if (!this.#isCaughtUp) this.#pulse.trigger()
      this.#isCaughtUp = true
    } catch (error) {
      this.#isCaughtUp = false
      if (this.#leads && !this.#isLeading) await this.#parts.shared.leadership.leave().catch(unlessSyncError)
      throw error
    } finally {
      for (const settled of settling) settled()
    }
  }

  async #keepUp(host: ReplicaHost): Promise<void> {
    const { shared } = this.#parts
    const objects = await shared.open()
    if (!this.#leads && this.#isLeading) await this.#changeRole(host, false)
    const { version } = await shared.leadership.standing()
    if (version !== this.#version || this.#unserved.head || this.#unserved.files.size > 0) {
      // A decision may restrict what a new head has.
      await this.#takeNews(host)
      await this.#takeOver(objects, version, host)
      this.#news.trigger()
    }
    if (this.#leads && !this.#isLeading) await this.#changeRole(host, true)
    if (this.#isLeading) await this.#files.push(this.#epoch)
    if (await this.#head.fillHistory(objects)) this.#copies.trigger()
  }

  /** If the host fails to change, it is asked again in the next round. */
  async #changeRole(host: ReplicaHost, isLeading: boolean): Promise<void> {
    this.#isLeading = isLeading
    this.#parts.log.info('hub-role', { replica: this.#parts.shared.id, leads: isLeading })
    // A leader takes over no files: all of them are read again. Until then, it would hold the lead and not act on it.
    if (!isLeading) {
      this.#version = -1
      this.#isCaughtUp = false
    }
    try {
      await host.onRole(isLeading)
    } catch (error) {
      this.#isLeading = !isLeading
      throw error
    }
  }

  /** The epoch in which this process leads. Throws `store-failed` if it does not. */
  get #epoch(): number {
    const { epoch } = this.#parts.shared.leadership
    if (epoch === undefined) throw new StaleFile()
    return epoch
  }

  /** Copies what other processes have changed. */
  async #takeOver(objects: PostgresObjects, version: number, host?: ReplicaHost): Promise<void> {
    const { shared } = this.#parts
    // A database that was restored counts from an earlier version: all of it is read again.
    const since = version < this.#version ? -1 : this.#version
    const documents = await shared.documents.changedSince(since)
    // The leader alone writes them: what it has is at least as new.
    if (since === -1) await this.#files.addLacking(new Set(this.#isLeading ? [] : documents.keys()))
    for (const name of this.#isLeading ? [] : await this.#files.take(documents)) this.#unserved.files.add(name)
    if (await this.#head.take(objects)) this.#unserved.head = true
    const { head, files } = this.#unserved
    // What the host could not take over is offered again in the next round.
    if (host !== undefined && (head || files.size > 0)) await host.onChange({ head, files })
    if (host !== undefined) this.#unserved = { head: false, files: new Set() }
    this.#version = version
  }

  /** Publishes in the database first, for the other processes. Only the leader can. */
  async #commit(before: StoreHead | undefined, next: readonly [StoreHead, HeadRecord]): Promise<void> {
    if (!this.#isLeading) throw new StaleFile()
    const objects = await this.#parts.shared.open()
    using _lease = objects.lease()
    await this.#files.push(this.#epoch)
    if (await this.#head.publish(objects, before, next)) return
    this.nudge()
    throw new StaleFile()
  }

  /** Shows the other processes that this one is there, and how far it is. */
  async #show(): Promise<void> {
    const { store, clock } = this.#parts
    const taken = Math.min(this.#version, this.#newsVersion)
    const sequence = (await store.objects.head())?.sequence ?? 0
    // The leader has a generation in its store before its clients read it.
    const isServed = (this.#host?.servedGeneration() ?? 0) >= sequence
    const version = isServed ? taken : Math.min(taken, this.#shown.version)
    if (version === this.#shown.version && clock.monotonicMs() - this.#shown.atMs < SHOWN_MS) return
    const config = this.#host?.configDigest()
    await this.#rows.show({ machine: hostname(), program: VERSION, sequence, version, config })
    this.#shown = { version, atMs: clock.monotonicMs() }
    const rows = await this.#rows.all()
    this.#processes = rows.map((row) => rowOf(row, config))
    this.#compareConfigs(rows.filter((row) => row.isLiving && hasOtherConfig(row, config)))
    if (this.#isLateUnknown) await this.#findLate()
    this.#findCaughtUp(rows)
  }

  /** Those that are behind now were, when the database could not be asked. If there are none, all have caught up. */
  async #findLate(): Promise<void> {
    this.#isLateUnknown = false
    try {
      const { version } = await this.#parts.shared.leadership.standing()
      const behind = await this.#rows.behind(version)
      for (const id of behind) this.#late.set(id, version)
      if (behind.length === 0) this.#onCaughtUp(true)
    } catch (error) {
      this.#isLateUnknown = true
      throw error
    }
  }

  #findCaughtUp(rows: readonly StoredReplica[]): void {
    const served = new Map(rows.map(({ id, version }) => [id, version]))
    const done = [...this.#late].filter(([id, version]) => (served.get(id) ?? version) >= version)
    for (const [id] of done) this.#late.delete(id)
    const areAll = !rows.some(({ id, isLiving }) => isLiving && this.#late.has(id))
    if (done.some(([id]) => served.has(id))) this.#onCaughtUp(areAll)
  }

  /** Reports processes that would publish something else if they led. */
  #compareConfigs(others: readonly StoredReplica[]): void {
    const { log } = this.#parts
    if (others.length === 0) return log.recovery('hub-configs-differ', '')
    const names = others.map(({ id, machine }) => `${id.slice(0, 8)} on ${machine}`).join(', ')
    const message = `The configuration of ${names} differs from that of this process, and the leading process publishes by its own: give all processes one configuration`
    log.failure('warn', 'hub-configs-differ', { source: '', code: 'other-config', message }, names)
  }

  async #listen(): Promise<void> {
    if (this.#listening !== undefined) return
    const onLost = (): void => {
      this.#listening = undefined
      this.nudge()
    }
    this.#listening = await this.#parts.shared.pulse.listen(() => this.nudge(), onLost)
  }
}

type Work = 'pulse' | 'news' | 'copies'

/** The events of failures: of the database, and of this process. */
const FAILURES = ['shared-store-away', 'hub-not-followed'] as const

interface Failure extends NonNullable<ReplicasStatus['away']> {
  readonly event: (typeof FAILURES)[number]
}

function rowOf(row: StoredReplica, config: string | undefined): ReplicaRow {
  const { id, machine, program, started, seen, sequence, isLiving } = row
  return {
    id,
    machine,
    version: program,
    startedAt: started.toISOString(),
    seenAt: seen.toISOString(),
    generation: sequence,
    isLiving,
    hasOtherConfig: hasOtherConfig(row, config),
  }
}

function hasOtherConfig({ config }: StoredReplica, ours: string | undefined): boolean {
  return config !== undefined && ours !== undefined && config !== ours
}

/** The time between two rounds if nothing is announced. Five of them are the lease of the lead. */
const LOOK_MS = 1_000
const SHOWN_MS = 5_000
const ASIDE_MS = 60_000
const OPENING_MS = 5_000
/** The longest time that a notification waits for the other processes. */
const MOST_HELD_MS = 2_000
/** The pauses between two looks at the others. */
const FIRST_PAUSE_MS = 10
const MOST_PAUSE_MS = 100
