import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../base/async/clock.ts'
import type { ListUses, PageUses, SkillUses } from '../../serve/page/page-data.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { UsageReader } from './local-usage.ts'
import { dayBefore, dayOf } from './usage-database.ts'
import type { UsageRow } from './usage-report.ts'

/** The use of all skills in the last `RECENT_DAYS` days, as it is in the database. */
export class RecentUses {
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
