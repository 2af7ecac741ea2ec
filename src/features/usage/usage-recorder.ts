import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../base/async/clock.ts'
import type { Log } from '../../base/log.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import type { CountUse, Serving } from '../../serve/mcp/core/methods.ts'
import type { ListUses, PageUses, SkillUses } from '../../serve/page/page-data.ts'
import { DOCTOR_CLIENT } from '../../serve/version.ts'
import { partsOfView, WHOLE } from '../../serve/view.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { HubDatabase } from '../../sync/postgres/postgres-database.ts'
import { isCorruption } from '../../sync/store/objects/database.ts'
import { useIn } from './answered-use.ts'
import { MOST_AT_ONCE, PendingContents } from './content-uses.ts'
import type { ContentUses } from './content-uses.ts'
import { LocalUsage } from './local-usage.ts'
import type { UsageReader } from './local-usage.ts'
import { SharedUsage } from './shared-usage.ts'
import { SkillTotals } from './skill-totals.ts'
import type { CountedConfig } from './usage-config.ts'
import { UsageCounts } from './usage-counts.ts'
import { dayBefore, dayOf, MOST_ROWS_OF_A_DAY, UsageDatabase, usagePathIn } from './usage-database.ts'
import type { UsageLimits } from './usage-database.ts'
import type { UsageRow } from './usage-report.ts'

/** Counts the use of skills, in `usage/` of the state folder. `undefined` if the configuration turns it off. */
export function usageRecorderOf(
  { usage, state }: Pick<CountedConfig, 'usage' | 'state'>,
  log: Log,
  clock: Clock,
  shared?: HubDatabase,
): UsageRecorder | undefined {
  return usage && new UsageRecorder(usagePathIn(state), usage, log, clock, shared && new SharedUsage(shared))
}

/** Reads the counts of all processes. `undefined` if the configuration turns them off. */
export function usageReaderOf(
  { usage, state }: Pick<CountedConfig, 'usage' | 'state'>,
  shared: HubDatabase | undefined,
): UsageReader | undefined {
  if (usage === undefined) return undefined
  return shared === undefined ? new LocalUsage(usagePathIn(state)) : new SharedUsage(shared)
}

/** The part of the configuration that is about counting, whatever the counts come from. */
type CountingConfig = Pick<NonNullable<CountedConfig['usage']>, 'principals' | 'days'>

/** A serving that counts its answers. */
export function withUsage(serving: Serving, usage: UsageRecorder | undefined): Serving {
  return usage === undefined ? serving : { ...serving, use: usage.count }
}

/**
 * Counts the answers of this process in memory, and adds them to the database once a minute and at its end. A kill loses
 * what came since. Counts that the disk refuses are kept, within their limit, and do not disturb clients. In a hub of
 * several processes, the database of the hub gets them too: it has the counts of all.
 */
export class UsageRecorder implements AsyncDisposable {
  /** The loads and reads since the start of this process. */
  readonly totals = new SkillTotals()
  /** The use of skills in the last days, by all processes of the state folder. */
  readonly recent: RecentUses
  readonly #path: string
  readonly #config: CountingConfig
  readonly #log: Log
  readonly #clock: Clock
  readonly #shared: SharedUsage | undefined
  readonly #writing: Reaction
  readonly #counts = new UsageCounts()
  readonly #contents = new PendingContents()
  /** The last day that the database has as counted, and of which it was pruned. */
  #notedOn = ''
  /** The last day of which the database of the hub was pruned. */
  #sharedOn = ''
  /** True if the database of the hub may lack counts, also those of an earlier process. */
  #isUnshared = true
  #day = { number: Number.NaN, text: '' }

  constructor(path: string, config: CountingConfig, log: Log, clock: Clock, shared?: SharedUsage) {
    this.recent = new RecentUses(shared ?? new LocalUsage(path), clock)
    this.#shared = shared
    this.#path = path
    this.#config = config
    this.#log = log
    this.#clock = clock
    this.#writing = new Reaction({ clock, run: async () => this.#write(), againMs: () => FLUSH_MS })
    this.#writing.start(FLUSH_MS)
  }

  /** A `CountUse`. */
  readonly count: CountUse = (answered): void => {
    const { serving, client } = answered
    // What doctor --connect reads is no use by an agent.
    const use = client === DOCTOR_CLIENT ? undefined : useIn(answered)
    if (use === undefined) return
    const principal = this.#config.principals ? answered.principal : undefined
    this.#counts.add(use, { day: this.#today(), pack: partsOfView(serving.view ?? WHOLE).packs, client, principal })
    this.#contents.add(use)
    if (use.kind !== 'list') this.totals.add(use)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing[Symbol.asyncDispose]()
    await this.#write()
  }

  /** Damage of the file may be found only where it is written: then the file is replaced, and the write tried once more. */
  async #write(): Promise<void> {
    try {
      await this.#tryWrite().catch(async (error: unknown) => {
        if (!isCorruption(error)) throw error
        this.#logMoved(UsageDatabase.moveAside(this.#path, this.#clock.now()))
        await this.#tryWrite()
      })
    } catch (error) {
      if (!(error instanceof SyncError) || error.code !== 'store-failed') throw error
      const { code, message } = error
      this.#log.failure('error', 'usage-not-written', { source: '', code, message })
    }
  }

  /** Keeps the rows that it could not write. */
  async #tryWrite(): Promise<void> {
    const isDone = this.#shared === undefined || (!this.#isUnshared && this.#sharedOn === this.#today())
    if (this.#counts.size === 0 && this.#notedOn === this.#today() && isDone) return
    const [rows, contents] = [this.#counts.take(), this.#contents.take()]
    let isContentDone = false
    let done = 0
    try {
      const isShared = this.#shared !== undefined
      using database = UsageDatabase.open(this.#path, this.#clock.now(), (aside) => this.#logMoved(aside), isShared)
      database.contents.add(contents, this.#today())
      isContentDone = true
      do {
        const some = rows.slice(done, done + ROWS_AT_ONCE)
        database.add(some, this.#today())
        done += some.length
        // Clients are answered between two pieces.
        await setImmediate()
      } while (done < rows.length)
      const today = this.#today()
      if (this.#notedOn !== today) await database.prune(today, this.#limits)
      this.#notedOn = today
      this.#log.recovery('usage-not-written', '')
      await this.#share(database)
    } catch (error) {
      this.#counts.restore(rows.slice(done))
      if (!isContentDone) this.#contents.restore(contents)
      throw error
    }
  }

  /** Sends the database of the hub what it lacks. What cannot be sent stays on the disk. */
  async #share({ unshared, contents }: UsageDatabase): Promise<void> {
    if (this.#shared === undefined || unshared === undefined) return
    this.#isUnshared = true
    const today = this.#today()
    try {
      for (let batch = unshared.next(); batch !== undefined; batch = unshared.next()) {
        await this.#shared.add(batch, today)
        unshared.arrived(batch.id)
      }
      await this.#shareContents(this.#shared, contents)
      if (this.#sharedOn !== today) {
        await this.#shared.note(today)
        await this.#shared.prune(today, this.#limits)
      }
      this.#sharedOn = today
      this.#isUnshared = false
      this.#log.recovery('usage-not-shared', '')
    } catch (error) {
      if (!(error instanceof SyncError) || isCorruption(error)) throw error
      const { code, message } = error
      this.#log.failure('error', 'usage-not-shared', { source: '', code, message })
    }
  }

  /** Sends totals: those that arrive twice are counted once. */
  async #shareContents(shared: SharedUsage, contents: ContentUses): Promise<void> {
    const id = contents.ensureId()
    let sent: number
    do {
      const rows = contents.unsharedRows()
      if (rows.length > 0) await shared.addContents(id, rows)
      contents.noteShared(rows)
      sent = rows.length
    } while (sent === MOST_AT_ONCE)
  }

  get #limits(): UsageLimits {
    return { days: this.#config.days, rows: MOST_ROWS - MOST_ROWS_OF_A_DAY }
  }

  #logMoved(aside: string): void {
    this.#log.error('usage-moved-aside', { path: this.#path, aside })
  }

  /** Called for each answer: a day is made a text once. */
  #today(): string {
    const number = Math.floor(this.#clock.now().getTime() / DAY_MS)
    if (this.#day.number !== number) this.#day = { number, text: dayOf(this.#clock.now()) }
    return this.#day.text
  }
}

const FLUSH_MS = 60_000
const DAY_MS = 86_400_000

/** A transaction of so many rows takes a few milliseconds. */
const ROWS_AT_ONCE = 500

/** Rows of all days; some two hundred megabytes. */
const MOST_ROWS = 1_000_000

/** The use of all skills in the last `RECENT_DAYS` days, as it is in the database. */
class RecentUses {
  readonly #counts: UsageReader
  readonly #clock: Clock
  #latest: Promise<PageUses> | undefined
  #againAtMs = 0

  constructor(counts: UsageReader, clock: Clock) {
    this.#counts = counts
    this.#clock = clock
  }

  /** At most a few minutes old. Empty if the database cannot be read now. */
  async all(): Promise<PageUses> {
    const nowMs = this.#clock.monotonicMs()
    if (this.#latest !== undefined && nowMs < this.#againAtMs) return this.#latest
    this.#againAtMs = nowMs + AGAIN_MS
    this.#latest = this.#read()
    return this.#latest
  }

  async #read(): Promise<PageUses> {
    const to = dayOf(this.#clock.now())
    const from = dayBefore(to, RECENT_DAYS - 1)
    const sums = new Sums()
    const span = { days: RECENT_DAYS, from }
    try {
      const { since } = await this.#counts.countedDays({ from, to })
      const counted = since === null ? 0 : RECENT_DAYS
      for (let ago = 0; ago < counted; ago += 1) {
        const day = dayBefore(to, ago)
        for (const row of await this.#counts.rows({ from: day, to: day }, ['skill', 'pack'])) sums.add(row, day)
        // Clients are answered between two days.
        await setImmediate()
      }
      return { ...span, since, skills: sums.skills, lists: sums.lists }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return { ...span, since: null, skills: new Map(), lists: [] }
    }
  }
}

/** Adds the rows of days up, the latest day first. */
class Sums {
  readonly skills = new Map<string, SkillUses>()
  readonly #lists = new Map<string | null, number>()

  get lists(): readonly ListUses[] {
    return Array.from(this.#lists, ([pack, lists]) => ({ packs: pack?.split(','), lists }))
  }

  add({ skill, pack = null, lists, loads, reads, failures }: UsageRow, day: string): void {
    if (typeof skill !== 'string') return void this.#lists.set(pack, (this.#lists.get(pack) ?? 0) + lists)
    const before = this.skills.get(skill) ?? { loads: 0, reads: 0, failures: 0, last: undefined }
    this.skills.set(skill, {
      loads: before.loads + loads,
      reads: before.reads + reads,
      failures: before.failures + failures,
      last: before.last ?? (loads + reads > 0 ? day : undefined),
    })
  }
}

/** The page of a skill prints this number before the counts (`recentUse` in `serve/page/skill`). */
const RECENT_DAYS = 30
const AGAIN_MS = 180_000
