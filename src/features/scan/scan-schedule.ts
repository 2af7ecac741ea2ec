import type { Clock } from '../../base/async/clock.ts'
import { nextMs } from '../../daemon/runtime/cron-time.ts'
import type { Schedule } from '../../sync/model/source.ts'
import type { SkillScan } from '../../sync/store/scan-records.ts'

export interface ScanScheduleParts {
  readonly clock: Clock
  /** The stored scans of what is served; `undefined` for content that was never scanned. */
  readonly contents: () => readonly (SkillScan | undefined)[]
}

/**
 * Decides when everything that is served is scanned again. The age of the oldest stored scan counts, so a restart neither
 * delays a run nor causes one.
 */
export class ScanSchedule {
  readonly #schedule: Schedule | undefined
  readonly #parts: ScanScheduleParts
  /** The identity of the scanner, and the time, of the last attempt. */
  #tried: { readonly by: string | undefined; readonly atMs: number } | undefined
  #hasChecked = false
  #hasFailed = false
  /** The number of contents of which the last run got no answer, and that wait for the next set time. */
  #left = 0

  constructor(schedule: Schedule | undefined, parts: ScanScheduleParts) {
    this.#schedule = schedule
    this.#parts = parts
  }

  /** The next set time; `undefined` if there is none. */
  get next(): Date | undefined {
    const ms = this.#nextMs()
    return Number.isFinite(ms) ? new Date(ms) : undefined
  }

  /** The milliseconds to the next check: ten minutes, or less if a set time comes first. */
  get waitMs(): number {
    const waitMs = this.#hasChecked ? CHECK_MS : FIRST_MS
    const untilNextMs = Math.max(0, this.#nextMs() - this.#parts.clock.now().getTime())
    return this.#hasFailed ? waitMs : Math.min(waitMs, untilNextMs)
  }

  /**
   * Checks if a run is due: true at a set time, at which nothing stored counts, and false if the scanner or its rules
   * changed, or something was never scanned; `undefined` if none is.
   */
  async check(identity: () => Promise<string | undefined>): Promise<boolean | undefined> {
    const atMs = this.#parts.clock.now().getTime()
    const isSetTime = this.#nextMs() <= atMs
    this.#hasChecked = true
    // After a failure, the next attempt comes after a pause, and not at once.
    this.#hasFailed = true
    const by = await identity()
    this.#hasFailed = false
    const left = this.#tried?.by === by ? this.#left : 0
    if (!isSetTime && this.#missing(by) <= left) return undefined
    this.#tried = { by, atMs }
    this.#left = 0
    return isSetTime
  }

  /**
   * Call it when the run that was due has ended. What it got no answer for is tried again after a pause, unless all the rest
   * would be scanned again with it.
   */
  ended(): void {
    if (this.#tried?.by === undefined) this.#left = this.#missing(undefined)
  }

  /** The number of contents without a scan by this scanner. */
  #missing(by: string | undefined): number {
    return this.#parts.contents().filter((scan) => scan === undefined || (by !== undefined && scan.by !== by)).length
  }

  #nextMs(): number {
    if (this.#schedule === undefined) return Number.POSITIVE_INFINITY
    let oldestMs = Number.POSITIVE_INFINITY
    for (const scan of this.#parts.contents())
      if (scan !== undefined) oldestMs = Math.min(oldestMs, Date.parse(scan.at))
    const fromMs = Math.max(Number.isFinite(oldestMs) ? oldestMs : 0, this.#tried?.atMs ?? 0)
    // Nothing was ever scanned: that is due without a set time.
    if (fromMs === 0) return Number.POSITIVE_INFINITY
    return nextMs(this.#schedule, fromMs)
  }
}

const FIRST_MS = 10_000
const CHECK_MS = 600_000
