import { createHash } from 'node:crypto'
import type { CronTime } from 'cron'
import type { Schedule } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isPassing, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import { isAbortError } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'
import { cronTimeOf } from '../base/cron-time.ts'
import type { Hosts } from './host-backoff.ts'

/** What sets the polls of one source apart from those of others, and of the same source on other machines. */
export interface PollKey {
  readonly id: SourceId
  /** The name of this machine: a thousand machines with one configuration must not poll in the same second. */
  readonly machine: string
}

/**
 * The first poll after the given time. A period is never exceeded: what sets sources apart is taken off it. A cron
 * expression means the machine's local time, as cron itself does, and what sets sources apart is added. Throws for an
 * expression that cron cannot read or that names no time in the next 8 years.
 */
export function nextAt(schedule: Schedule, key: PollKey, after: Date): Date {
  if (schedule.kind === 'every') {
    return new Date(after.getTime() + schedule.periodMs - jitterMs(key, schedule.periodMs))
  }
  const at = cronTimeOf(schedule.expression).getNextDateFrom(after).toJSDate()
  return new Date(at.getTime() + jitterMs(key, periodMs(schedule, at)))
}

/** The time that lies between the last two times of a cron expression, seen from any moment between the last and the next. */
export interface LastPeriod {
  /** Infinite where there were no two times. */
  readonly ms: number
  /** When it is another: the next time. */
  readonly untilMs: number
}

/** To work it out takes cron some milliseconds. */
export function lastPeriod(expression: string, now: Date): LastPeriod {
  const cron = cronTimeOf(expression)
  const next = nextTimeMs(cron, now.getTime())
  const last = lastTimeMs(cron, now.getTime(), nextTimeMs(cron, next) - next)
  const before = lastTimeMs(cron, last - 1_000, next - last)
  return { ms: Number.isFinite(before) ? last - before : Number.POSITIVE_INFINITY, untilMs: next }
}

/** The last time that is no later than this. Cron tells only what comes next; times are often about so far apart. */
function lastTimeMs(cron: CronTime, ms: number, apartMs: number): number {
  let backMs = Number.isFinite(apartMs) ? apartMs : LONGEST_LOOK_BACK_MS
  while (nextTimeMs(cron, ms - backMs) > ms) {
    if (backMs >= LONGEST_LOOK_BACK_MS) return Number.NEGATIVE_INFINITY
    backMs *= 2
  }
  // It is one of those that lie between these two.
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
  // It was one that names no later time.
  if (!Number.isFinite(ms)) return Number.POSITIVE_INFINITY
  try {
    return cron.getNextDateFrom(new Date(ms)).toMillis()
  } catch (error) {
    return neverIfNone(error)
  }
}

/** Cron looks no further than 8 years from today, and throws then what has nothing but its message to be known by. */
function neverIfNone(error: unknown): number {
  if (error instanceof Error && error.message.includes('No execution date was found')) return Number.POSITIVE_INFINITY
  throw error
}

/** What a poller has to know of a source. */
export interface Polled {
  readonly id: SourceId
  /** The host that is asked. One that wants to be left alone is left alone by all its sources. */
  readonly host: string
  /** Those of one group have the same host and schedule, and are polled at the same moments: one listing can serve them all. */
  readonly group: string
  readonly schedule: Schedule
  /** Nothing of it is served yet: somebody waits, so it is polled at once. */
  readonly isNew: boolean
}

export interface PollEnd {
  /** Undefined where all went well. */
  readonly failed: SyncErrorCode | undefined
  /** For how long nothing new is to be expected; the next poll comes no sooner. */
  readonly freshMs?: number
}

export interface PollerOptions {
  readonly clock: Clock
  /** Who is asked for a poll keeps it up to date. */
  readonly hosts: Hosts
  readonly machine: string
  /** At least 0, less than 1. */
  readonly random: () => number
  /** What a poll is. It never rejects but when it is stopped or in ways that end the process. */
  readonly poll: (id: SourceId) => Promise<PollEnd>
}

/**
 * Polls each source on its own schedule until disposed; the first polls come soon, a little apart; that of a new source at once. A source never waits
 * for another, nor makes up for polls that it missed. What is being polled when the poller is disposed goes on.
 */
export class Poller implements AsyncDisposable {
  readonly #options: PollerOptions
  readonly #plans: ReadonlyMap<SourceId, Plan>
  #isStopped = false
  /** Ends the wait for the next poll. */
  #wait = new AbortController()

  constructor(sources: readonly Polled[], options: PollerOptions) {
    this.#options = options
    const groups = Map.groupBy(sources, ({ group }) => group)
    this.#plans = new Map([...groups.values()].flatMap((members) => this.#plansOf(members)))
    // It rejects only where the clock fails.
    void this.#run()
  }

  /** When each source is polled next; for one that is being polled right now, when that was due. */
  nextPolls(): ReadonlyMap<SourceId, Date> {
    return new Map([...this.#plans.values()].map((plan) => [plan.source.id, new Date(this.#dueOf(plan).wallMs)]))
  }

  /** Another pull of the source failed: it is tried again as after a poll that did, unless a poll comes sooner. */
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
      // All that are due are asked for in one go: who is asked for later must not join the listing of who was earlier.
      for (const plan of this.#plans.values()) {
        // It rejects only where a poll did, in a way that is to end the process.
        if (this.#isDue(plan)) void this.#poll(plan)
      }
      await this.#untilNext()
    }
  }

  /** Looks at the host last: another source of it may have been told to stay away meanwhile. */
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
   * At random from now to a bound that doubles with each failure in a row. At its largest it is two periods: so long
   * after its fault is gone a source is well again, and one that is down for good is asked about as often as one that is well.
   */
  #retry({ source, group, failures }: Plan): Moment {
    const { clock, random } = this.#options
    const longestMs = Math.min(2 * periodMs(source.schedule, clock.now()), LONGEST_BACKOFF_MS)
    const boundMs = Math.min(longestMs, FIRST_BACKOFF_MS * 2 ** failures)
    return this.#joined(group, 'retry', Math.max(SHORTEST_BACKOFF_MS, Math.round(random() * boundMs)), boundMs)
  }

  /** The moment that others of the group are waiting for, if it comes soon enough; else after so long, for the next to join. */
  #joined(group: Group, kind: 'regular' | 'retry', ms: number, boundMs = ms): Moment {
    const known = group[kind]
    const leftMs = known === undefined ? 0 : this.#leftMs(known)
    if (known !== undefined && leftMs > 0 && leftMs <= boundMs) return known
    return (group[kind] = this.#after(ms))
  }

  /** Put off for as long as the host is to be left alone; after that its sources come a little apart. */
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

  /** By the clock that says the least: one is set back, the other stands still while the machine sleeps. */
  #leftMs({ wallMs, monotonicMs }: Moment): number {
    const { clock } = this.#options
    return Math.min(wallMs - clock.now().getTime(), monotonicMs - clock.monotonicMs())
  }
}

/** The bound after the first failure is twice this. */
const FIRST_BACKOFF_MS = 5_000
const LONGEST_BACKOFF_MS = 3_600_000
/** The shortest period that can be configured. Chance alone would now and then ask a host again in the same breath. */
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
  /** In a row, and such that waiting helps. */
  failures: number
}

/** Sources that are polled together, and what those of them wait for that were polled last. */
interface Group {
  readonly key: PollKey
  regular?: Moment
  retry?: Moment
}

/** A poll that was stopped says nothing about its source. */
function stoppedPoll(error: unknown): PollEnd {
  if (isAbortError(error)) return { failed: undefined }
  throw error
}

const LONGEST_JITTER_MS = 60_000

/** At most a tenth of the period and a minute: always the same for a source, evenly spread over sources and machines. */
function jitterMs({ id, machine }: PollKey, periodMs: number): number {
  const hash = createHash('sha256').update(`${machine}\0${id}`).digest()
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * Math.min(periodMs / 10, LONGEST_JITTER_MS))
}

/** From one time to the next; infinite where cron looks no further. */
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
