import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { ContentUse, ContentUseReader, SkillContent } from '../../daemon/runtime/content-use.ts'
import { contentUsesIn } from './content-uses.ts'
import { openUsageToRead } from './usage-database.ts'
import { countedDaysIn, lastUseOfSkills, usageRowsIn } from './usage-report.ts'
import type { CountedDays, DaySpan, Dimension, UsageRow } from './usage-report.ts'

/** Reads counts, of one process or of all of a hub. Each call throws `store-failed` if they cannot be read. */
export interface UsageReader extends ContentUseReader {
  /** The counts of a span, the most loads first; in the order of days if these come first. */
  rows(span: DaySpan, by: readonly Dimension[]): Promise<readonly UsageRow[]>
  /** The last day on which each skill was loaded or read, up to this one. */
  lastUses(to: string): Promise<ReadonlyMap<string, string>>
  countedDays(span: DaySpan): Promise<CountedDays>
}

/** The counts of the processes of one state folder. Without a file, no day was counted. */
export class LocalUsage implements UsageReader {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async rows(span: DaySpan, by: readonly Dimension[]): Promise<readonly UsageRow[]> {
    return this.#read([], (database) => usageRowsIn(database, span, by))
  }

  async lastUses(to: string): Promise<ReadonlyMap<string, string>> {
    return this.#read(new Map<string, string>(), (database) => lastUseOfSkills(database, to))
  }

  async countedDays(span: DaySpan): Promise<CountedDays> {
    return this.#read({ since: null, missing: 0 }, (database) => countedDaysIn(database, span))
  }

  async contentUses(wanted: readonly SkillContent[]): Promise<readonly ContentUse[]> {
    return this.#read([], (database) => contentUsesIn(database, wanted))
  }

  #read<Found>(none: NoInfer<Found>, find: (database: DatabaseSync) => Found): Found {
    if (!existsSync(this.#path)) return none
    using database = openUsageToRead(this.#path)
    return find(database)
  }
}
