import { createHash } from 'node:crypto'
import type { CronTime } from 'cron'
import { isAbortError } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Schedule } from '../../sync/model/source.ts'
import { isPassing, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import { cronTimeOf } from '../base/cron-time.ts'
import type { HostBackoff } from './host-backoff.ts'

/** Determines the jitter that separates the polls of one source from those of other sources and machines. */
export interface PollKey {
  readonly id: SourceId
  /** The name of this machine: a thousand machines with one configuration must not poll in the same second. */
  readonly machine: string
}

/**
 * The first poll after the given time. A period is never exceeded: the jitter is subtracted from it. A cron expression
 * uses the machine's local time, as cron does, and the jitter is added. Throws if cron cannot read the expression or it
 * has no time in the next 8 years.
 */
export function nextAt(schedule: Schedule, key: PollKey, after: Date): Date {
  if (schedule.kind === 'every') {
    return new Date(after.getTime() + schedule.periodMs - jitterMs(key, schedule.periodMs))
  }
  const at = cronTimeOf(schedule.expression).getNextDateFrom(after).toJSDate()
  return new Date(at.getTime() + jitterMs(key, periodMs(schedule, at)))
}

/** The time between the last two times of a cron expression, as seen from any moment before the next one. */
export interface LastPeriod {
  /** Infinite if there are no two times. */
  readonly ms: number
  /** The time from which it is outdated: the next time of the expression. */
  readonly untilMs: number
}

/** Cron needs some milliseconds to compute it. */
export function lastPeriod(expression: string, now: Date): LastPeriod {
  const cron = cronTimeOf(expression)
  const next = nextTimeMs(cron, now.getTime())
  const last = lastTimeMs(cron, now.getTime(), nextTimeMs(cron, next) - next)
  const before = lastTimeMs(cron, last - 1_000, next - last)
  return { ms: Number.isFinite(before) ? last - before : Number.POSITIVE_INFINITY, untilMs: next }
}

/**
 * The last time not after `ms`. Cron computes only the next time, so this searches backwards, starting at the usual
 * distance between two times.
 */
function lastTimeMs(cron: CronTime, ms: number, apartMs: number): number {
  let backMs = Number.isFinite(apartMs) ? apartMs : LONGEST_LOOK_BACK_MS
  while (nextTimeMs(cron, ms - backMs) > ms) {
    if (backMs >= LONGEST_LOOK_BACK_MS) return Number.NEGATIVE_INFINITY
    backMs *= 2
  }
  // The result is one of the times between these two.
  let [early, late] = [ms - backMs, ms]
  for (;;) {
    const time = nextTimeMs(cron, early)
    if (nextTimeMs(cron, time) > ms) return time
    const middle = Math.floor((time + late) / 2)
    if (nextTimeMs(cron, middle) > ms) [early, late] = [time, middle]
    else early = middle
  }
}

const LONGEST_LOOK_BACK_MS = 10 * 366 * 86_400_000

function nextTimeMs(cron: CronTime, ms: number): number {
  // The previous time was the last one.
  if (!Number.isFinite(ms)) return Number.POSITIVE_INFINITY
  try {
    return cron.getNextDateFrom(new Date(ms)).toMillis()
  } catch (error) {
    return neverIfNone(error)
  }
}

/** Cron searches only 8 years from today; then it throws an error that only its message identifies. */
function neverIfNone(error: unknown): number {
  if (error instanceof Error && error.message.includes('No execution date was found')) return Number.POSITIVE_INFINITY
  throw error
}

/** The facts about a source that a poller needs. */
export interface Polled {
  readonly id: SourceId
  /** The host that is polled. A backoff that it requests applies to all of its sources. */
  readonly host: string
  /**
   * Sources of one group have the same host and schedule, and are polled at the same moments: one listing can serve
   * them all.
   */
  readonly group: string
  readonly schedule: Schedule
  /** True if nothing of it is served yet: clients may be waiting, so it is polled at once. */
  readonly isNew: boolean
}

export interface PollEnd {
  /** `undefined` if the poll succeeded. */
  readonly failed: SyncErrorCode | undefined
  /** The time for which the answer stays fresh; the next poll comes no sooner. */
  readonly freshMs?: number
}

export interface PollerOptions {
  readonly clock: Clock
  /** The poll callback keeps the backoffs up to date. */
  readonly hosts: HostBackoff
  readonly machine: string
  /** At least 0, less than 1. */
  readonly random: () => number
  /** Polls one source. It rejects only if it is stopped, or with an error that must end the process. */
  readonly poll: (id: SourceId) => Promise<PollEnd>
}

/**
 * Polls each source on its own schedule until disposed. The first polls come soon, with a little jitter; that of a new
 * source comes at once. A source never waits for another, and does not make up for missed polls. Disposing does not
 * stop running polls.
 */
export class Poller implements AsyncDisposable {
  readonly #options: PollerOptions
  readonly #plans: ReadonlyMap<SourceId, Plan>
  #isStopped = false
  /** Aborts the wait for the next poll. */
  #wait = new AbortController()

  constructor(sources: readonly Polled[], options: PollerOptions) {
    this.#options = options
    const groups = Map.groupBy(sources, ({ group }) => group)
    this.#plans = new Map([...groups.values()].flatMap((members) => this.#plansOf(members)))
    // It rejects only if the clock fails.
    void this.#run()
  }

  /** The time of the next poll of each source; for a source that is being polled, the time at which that was due. */
  nextPolls(): ReadonlyMap<SourceId, Date> {
    return new Map([...this.#plans.values()].map((plan) => [plan.source.id, new Date(this.#dueOf(plan).wallMs)]))
  }

  /**
   * Retries a source after the failure of a pull that was not a poll, with the same backoff as after a poll. A poll
   * that is due sooner stays.
   */
  retry(id: SourceId, failed: SyncErrorCode): void {
    const plan = this.#plans.get(id)
    if (plan === undefined || plan.isPolled || !isPassing(failed)) return
    plan.failures += 1
    const retry = this.#retry(plan)
    if (this.#leftMs(retry) >= this.#leftMs(plan.due)) return
    plan.due = retry
    this.#wait.abort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    this.#wait.abort()
  }

  #plansOf(members: readonly Polled[]): (readonly [SourceId, Plan])[] {
    const [first] = members
    if (first === undefined) return []
    const group = { key: { id: first.id, machine: this.#options.machine } }
    const [now, soon] = [this.#after(0), this.#after(this.#spreadMs(first, group))]
    return members.map((source) => {
      return [source.id, { source, group, due: source.isNew ? now : soon, isPolled: false, failures: 0 }]
    })
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      // All due sources are requested in one go: a source that is requested later must not join an earlier listing.
      for (const plan of this.#plans.values()) {
        // It rejects only if a poll did, with an error that must end the process.
        if (this.#isDue(plan)) void this.#poll(plan)
      }
      await this.#untilNext()
    }
  }

  /** Checks the host last: another of its sources may have received a backoff meanwhile. */
  #isDue(plan: Plan): boolean {
    if (plan.isPolled || this.#leftMs(plan.due) > 0) return false
    plan.due = this.#dueOf(plan)
    return this.#leftMs(plan.due) <= 0
  }

  async #poll(plan: Plan): Promise<void> {
    plan.isPolled = true
    const { failed, freshMs } = await this.#options.poll(plan.source.id).catch(stoppedPoll)
    plan.failures = failed !== undefined && isPassing(failed) ? plan.failures + 1 : 0
    plan.due = plan.failures === 0 ? this.#regular(plan, freshMs) : this.#retry(plan)
    plan.isPolled = false
    this.#wait.abort()
  }

  /** Waits until a source is due, or until a poll has ended. */
  async #untilNext(): Promise<void> {
    const { signal } = (this.#wait = new AbortController())
    let ms = Number.POSITIVE_INFINITY
    for (const { isPolled, due } of this.#plans.values()) if (!isPolled) ms = Math.min(ms, this.#leftMs(due))
    await this.#options.clock.wait(ms, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }

  #regular({ source, group }: Plan, freshMs = 0): Moment {
    const now = this.#options.clock.now()
    const regularMs = nextAt(source.schedule, group.key, now).getTime() - now.getTime()
    return this.#joined(group, 'regular', Math.max(regularMs, freshMs))
  }

  /**
   * A random delay up to a limit that doubles with each failure in a row. The largest limit is two periods: a source
   * recovers that soon after its fault is gone, and a dead source is polled about as often as a healthy one.
   */
  #retry({ source, group, failures }: Plan): Moment {
    const { clock, random } = this.#options
    const longestMs = Math.min(2 * periodMs(source.schedule, clock.now()), LONGEST_BACKOFF_MS)
    const boundMs = Math.min(longestMs, FIRST_BACKOFF_MS * 2 ** failures)
    return this.#joined(group, 'retry', Math.max(SHORTEST_BACKOFF_MS, Math.round(random() * boundMs)), boundMs)
  }

  /**
   * The moment that others of the group wait for, if it is within `boundMs`; otherwise a new moment after `ms`, which
   * the next can join.
   */
  #joined(group: Group, kind: 'regular' | 'retry', ms: number, boundMs = ms): Moment {
    const known = group[kind]
    const leftMs = known === undefined ? 0 : this.#leftMs(known)
    if (known !== undefined && leftMs > 0 && leftMs <= boundMs) return known
    return (group[kind] = this.#after(ms))
  }

  /** Postponed by the backoff of the host; after that, its sources are spread by their jitter. */
  #dueOf({ source, group, due, isPolled }: Plan): Moment {
    const closedMs = isPolled ? 0 : this.#options.hosts.closedMs(source.host)
    if (closedMs === 0 || closedMs < this.#leftMs(due)) return due
    return this.#after(closedMs + this.#spreadMs(source, group))
  }

  #spreadMs({ schedule }: Polled, { key }: Group): number {
    return jitterMs(key, periodMs(schedule, this.#options.clock.now()))
  }

  #after(ms: number): Moment {
    const { clock } = this.#options
    return { wallMs: clock.now().getTime() + ms, monotonicMs: clock.monotonicMs() + ms }
  }

  /**
   * The smaller value of both clocks: the wall clock can be set back, and the monotonic clock stops while the machine
   * sleeps.
   */
  #leftMs({ wallMs, monotonicMs }: Moment): number {
    const { clock } = this.#options
    return Math.min(wallMs - clock.now().getTime(), monotonicMs - clock.monotonicMs())
  }
}

/** The limit after the first failure is twice this. */
const FIRST_BACKOFF_MS = 5_000
const LONGEST_BACKOFF_MS = 3_600_000
/** The shortest period that can be configured. A purely random delay could retry a host almost at once. */
const SHORTEST_BACKOFF_MS = 1_000

/** A time on both clocks. */
interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

interface Plan {
  readonly source: Polled
  readonly group: Group
  due: Moment
  isPolled: boolean
  /** Failures in a row that may pass with time. */
  failures: number
}

/** Sources that are polled together, and the moments that the last polled of them wait for. */
interface Group {
  readonly key: PollKey
  regular?: Moment
  retry?: Moment
}

/** A stopped poll gives no information about its source. */
function stoppedPoll(error: unknown): PollEnd {
  if (isAbortError(error)) return { failed: undefined }
  throw error
}

const LONGEST_JITTER_MS = 60_000

/**
 * At most a tenth of the period and at most a minute: constant for a source, evenly spread over sources and machines.
 */
function jitterMs({ id, machine }: PollKey, periodMs: number): number {
  const hash = createHash('sha256').update(`${machine}\0${id}`).digest()
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * Math.min(periodMs / 10, LONGEST_JITTER_MS))
}

/** The time from one poll to the next; infinite if cron finds no further time. */
export function periodMs(schedule: Schedule, after: Date): number {
  if (schedule.kind === 'every') return schedule.periodMs
  const cron = cronTimeOf(schedule.expression)
  try {
    const at = cron.getNextDateFrom(after)
    return cron.getNextDateFrom(at.toJSDate()).toMillis() - at.toMillis()
  } catch (error) {
    return neverIfNone(error)
  }
}
