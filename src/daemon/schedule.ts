import { createHash } from 'node:crypto'
import { CronTime } from 'cron'
import type { Schedule } from '../sync/model/source.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { isAbortError } from './abort-error.ts'
import type { Clock } from './clock.ts'
import type { Hosts } from './hosts.ts'

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
  const cron = new CronTime(schedule.expression)
  const at = cron.getNextDateFrom(after).toJSDate()
  return new Date(at.getTime() + jitterMs(key, cronPeriodMs(cron, at)))
}

/** What a poller has to know of a source. */
export interface Polled {
  readonly id: SourceId
  /** The host that is asked. One that wants to be left alone is left alone by all its sources. */
  readonly host: string
  readonly schedule: Schedule
  /** Nothing of it is served yet: somebody waits, so it is polled at once. */
  readonly isNew: boolean
}

export interface PollEnd {
  readonly failed: boolean
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
  readonly #stop = new AbortController()
  readonly #plans = new Map<SourceId, Plan>()

  constructor(sources: readonly Polled[], options: PollerOptions) {
    this.#options = options
    for (const source of sources) {
      const plan = { source, dueMs: this.#firstMs(source), failures: 0 }
      this.#plans.set(source.id, plan)
      // It rejects only where a poll did, in a way that is to end the process.
      void this.#follow(plan)
    }
  }

  /** When each source is polled next; for one that is being polled right now, when that was due. */
  nextPolls(): ReadonlyMap<SourceId, Date> {
    const nowMs = this.#nowMs()
    const dueMs = ({ source, dueMs }: Plan): number =>
      Math.max(dueMs, nowMs + this.#options.hosts.closedMs(source.host))
    return new Map([...this.#plans.values()].map((plan) => [plan.source.id, new Date(dueMs(plan))]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
  }

  async #follow(plan: Plan): Promise<void> {
    for (;;) {
      await this.#untilDue(plan)
      if (this.#stop.signal.aborted) return
      const end = await this.#options.poll(plan.source.id).catch(stoppedPoll)
      plan.failures = end.failed ? plan.failures + 1 : 0
      plan.dueMs = this.#nowMs() + this.#delayMs(plan)
    }
  }

  async #untilDue({ source, dueMs }: Plan): Promise<void> {
    const { hosts } = this.#options
    await this.#wait(dueMs - this.#nowMs())
    // Another source of the host may have been told to stay away meanwhile.
    for (let ms = hosts.closedMs(source.host); ms > 0; ms = hosts.closedMs(source.host)) {
      if (this.#stop.signal.aborted) return
      await this.#wait(ms)
    }
  }

  /** Waits so long, or until disposed. */
  async #wait(ms: number): Promise<void> {
    const { signal } = this.#stop
    await this.#options.clock.wait(ms, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }

  #firstMs(source: Polled): number {
    if (source.isNew) return this.#nowMs()
    return this.#nowMs() + jitterMs(this.#keyOf(source), this.#regularMs(source))
  }

  /** The regular delay; after failures a random one, from that to a bound that doubles with each failure. */
  #delayMs({ source, failures }: Plan): number {
    const regularMs = this.#regularMs(source)
    const boundMs = Math.min(Math.max(regularMs, LONGEST_BACKOFF_MS), regularMs * 2 ** failures)
    return Math.round(regularMs + this.#options.random() * (boundMs - regularMs))
  }

  #regularMs(source: Polled): number {
    const now = this.#options.clock.now()
    return nextAt(source.schedule, this.#keyOf(source), now).getTime() - now.getTime()
  }

  #keyOf({ id }: Polled): PollKey {
    return { id, machine: this.#options.machine }
  }

  #nowMs(): number {
    return this.#options.clock.now().getTime()
  }
}

const LONGEST_BACKOFF_MS = 3_600_000

interface Plan {
  readonly source: Polled
  dueMs: number
  /** In a row. */
  failures: number
}

/** A poll that was stopped says nothing about its source. */
function stoppedPoll(error: unknown): PollEnd {
  if (isAbortError(error)) return { failed: false }
  throw error
}

const LONGEST_JITTER_MS = 60_000

/** At most a tenth of the period and a minute: always the same for a source, evenly spread over sources and machines. */
function jitterMs({ id, machine }: PollKey, periodMs: number): number {
  const hash = createHash('sha256').update(`${machine}\0${id}`).digest()
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * Math.min(periodMs / 10, LONGEST_JITTER_MS))
}

/** From one time to the next; infinite where cron looks no further: it throws 8 years from today. */
function cronPeriodMs(cron: CronTime, at: Date): number {
  try {
    return cron.getNextDateFrom(at).toMillis() - at.getTime()
  } catch (error) {
    if (error instanceof Error) return Number.POSITIVE_INFINITY
    throw error
  }
}
