import { isAbortError } from '../../../base/async/abort-error.ts'
import type { Clock } from '../../../base/async/clock.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Schedule } from '../../../sync/model/source.ts'
import { isPassing, type SyncErrorCode } from '../../../sync/model/sync-error.ts'
import type { HostBackoff } from './host-backoff.ts'
import { jitterMs, nextAt, periodMs, type PollKey } from './poll-times.ts'

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
    return this.#join(group, 'regular', Math.max(regularMs, freshMs))
  }

  /**
   * A random delay up to a limit that doubles with each failure in a row. The largest limit is two periods: a source
   * recovers that soon after its fault is gone, and a dead source is polled about as often as a healthy one.
   */
  #retry({ source, group, failures }: Plan): Moment {
    const { clock, random } = this.#options
    const longestMs = Math.min(2 * periodMs(source.schedule, clock.now()), LONGEST_BACKOFF_MS)
    const boundMs = Math.min(longestMs, FIRST_BACKOFF_MS * 2 ** failures)
    return this.#join(group, 'retry', Math.max(SHORTEST_BACKOFF_MS, Math.round(random() * boundMs)), boundMs)
  }

  /**
   * The moment that others of the group wait for, if it is within `boundMs`; otherwise a new moment after `ms`, which
   * the next can join.
   */
  #join(group: Group, kind: 'regular' | 'retry', ms: number, boundMs = ms): Moment {
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
