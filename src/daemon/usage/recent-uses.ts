import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { SkillUses } from '../../serve/page/page-data.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { runOnDatabase } from '../../sync/store/objects/database.ts'
import type { SharedUsage } from './shared-usage.ts'
import { dayBefore, dayOf, openUsageToRead } from './usage-database.ts'

/** Loads and reads of all skills in the last `RECENT_DAYS` days, as they are in the database. */
export class RecentUses {
  readonly #path: string
  readonly #clock: Clock
  readonly #shared: Pick<SharedUsage, 'rows'> | undefined
  #latest: Promise<ReadonlyMap<string, SkillUses>> | undefined
  #againAtMs = 0

  constructor(path: string, clock: Clock, shared?: Pick<SharedUsage, 'rows'>) {
    this.#path = path
    this.#shared = shared
    this.#clock = clock
  }

  /** By `<source>/<path>`; at most a few minutes old. Empty if the database cannot be read now. */
  async all(): Promise<ReadonlyMap<string, SkillUses>> {
    const nowMs = this.#clock.monotonicMs()
    if (this.#latest !== undefined && nowMs < this.#againAtMs) return this.#latest
    this.#againAtMs = nowMs + AGAIN_MS
    this.#latest = this.#read()
    return this.#latest
  }

  async #read(): Promise<ReadonlyMap<string, SkillUses>> {
    const uses = new Map<string, { loads: number; reads: number }>()
    if (this.#shared !== undefined) return usesOfAll(this.#shared, dayOf(this.#clock.now()))
    if (!existsSync(this.#path)) return uses
    try {
      using database = openUsageToRead(this.#path)
      const today = dayOf(this.#clock.now())
      for (let ago = 0; ago < RECENT_DAYS; ago += 1) {
        addDay(uses, database, dayBefore(today, ago))
        // Clients are answered between two days.
        await setImmediate()
      }
      return uses
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return new Map()
    }
  }
}

/** Of all processes of the hub. Empty if their database cannot be read now. */
async function usesOfAll(shared: Pick<SharedUsage, 'rows'>, today: string): Promise<ReadonlyMap<string, SkillUses>> {
  try {
    const rows = await shared.rows({ from: dayBefore(today, RECENT_DAYS - 1), to: today }, ['skill'])
    return new Map(rows.flatMap(({ skill, loads, reads }) => (skill ? [[skill, { loads, reads }] as const] : [])))
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return new Map()
  }
}

function addDay(uses: Map<string, { loads: number; reads: number }>, database: DatabaseSync, day: string): void {
  const rows = runOnDatabase('read the counts of use', () => database.prepare(USES_OF_A_DAY).all(day))
  for (const row of rows) {
    const skill = String(row['skill'])
    const { loads, reads } = uses.get(skill) ?? { loads: 0, reads: 0 }
    uses.set(skill, { loads: loads + Number(row['loads']), reads: reads + Number(row['reads']) })
  }
}

const USES_OF_A_DAY = `
  SELECT skill, sum(loads) AS loads, sum(reads) AS reads FROM use_of_day WHERE day = ? AND skill <> '' GROUP BY skill`

/** The page of a skill prints this number before the counts (`recentUse` in `serve/page/skill`). */
const RECENT_DAYS = 30
const AGAIN_MS = 180_000
