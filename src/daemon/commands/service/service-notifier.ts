import type { Clock } from '../../../base/async/clock.ts'
import { codeOf } from '../../../base/error-code.ts'
import type { Log } from '../../../base/log.ts'
import type { ManagerVariables } from '../../config/environment.ts'
import { Reaction } from '../../runtime/reaction.ts'
import type { NotifySocket } from './notify-socket.ts'

/** The parts for notifying the service manager. */
export interface ManagerParts {
  /** `undefined` if there is no manager: then no messages are sent. */
  readonly socket: NotifySocket | undefined
  readonly manager: Pick<ManagerVariables, 'watchdogMs'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Reports the state of this process to the service manager, one message after the other. A failure never affects the
 * daemon.
 */
export class ServiceNotifier implements AsyncDisposable {
  readonly #parts: ManagerParts
  #reactions: readonly Reaction[] = []
  #standing = (): string => ''
  #last: Promise<void> = Promise.resolve()
  #status = ''
  #isPinging = false
  #isMute = false

  constructor(parts: ManagerParts) {
    this.#parts = parts
  }

  /**
   * Reports that the catalog is loaded and the listeners are open. From now on the manager gets watchdog pings and a
   * one-line status.
   */
  ready(standing: () => string): void {
    this.#standing = standing
    this.#tell(['READY=1', this.#newStatus(), ...this.#ping()])
    const { socket, manager, clock } = this.#parts
    if (socket === undefined) return
    const status = new Reaction({ clock, run: async () => this.#tellStatus(), againMs: () => STATUS_MS })
    status.start(STATUS_MS)
    const { watchdogMs } = manager
    this.#reactions = watchdogMs === undefined ? [status] : [status, pinging(watchdogMs, clock, () => this.#pingOnce())]
  }

  /** Makes the manager wait while a configuration is applied, whatever the result. */
  async reloading<Result>(apply: () => Promise<Result>): Promise<Result> {
    // The manager compares it with its own monotonic clock, which is the same; Node reads it in nanoseconds.
    this.#tell(['RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`])
    try {
      return await apply()
    } finally {
      this.#tell(['READY=1', this.#newStatus()])
    }
  }

  /** Reports that the process stops, on request or by itself. */
  stopping(): void {
    void this.#end()
    this.#tell(['STOPPING=1', 'STATUS=stopping'])
  }

  /** Resolves when all messages are sent. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end()
    await this.#last
  }

  async #end(): Promise<void> {
    await Promise.all(this.#reactions.map(async (reaction) => reaction[Symbol.asyncDispose]()))
  }

  #tellStatus(): void {
    const before = this.#status
    const line = this.#newStatus()
    if (this.#status !== before) this.#tell([line])
  }

  #newStatus(): string {
    this.#status = this.#standing()
    return `STATUS=${this.#status}`
  }

  /** One queued ping is enough. */
  #pingOnce(): void {
    if (this.#isPinging) return
    this.#isPinging = true
    this.#tell(this.#ping())
    void this.#last.then(() => (this.#isPinging = false))
  }

  #ping(): readonly string[] {
    return this.#parts.manager.watchdogMs === undefined ? [] : ['WATCHDOG=1']
  }

  #tell(lines: readonly string[]): void {
    this.#last = this.#tellAfter(this.#last, lines)
  }

  /** Keeps the order, because each message can be sent by a process of its own. */
  async #tellAfter(before: Promise<void>, lines: readonly string[]): Promise<void> {
    const { socket, log } = this.#parts
    if (socket === undefined) return
    await before
    try {
      await socket.tell(lines)
      this.#isMute = false
    } catch (error) {
      // Clients are served regardless of the failure.
      if (!this.#isMute) log.warn('service-manager-not-told', { code: codeOf(error), message: String(error) })
      this.#isMute = true
    }
  }
}

/** It also limits the rate: several changes within this time are reported as one. */
const STATUS_MS = 10_000

/**
 * Pings while this thread's event loop keeps time, until it is disposed. If a timer fires late by more than its own period,
 * the event loop was blocked, and no ping is sent. A loop that blocks repeatedly counts as dead, as it is for clients.
 * Other threads and processes, and the duration of pulls, have no influence.
 */
function pinging(watchdogMs: number, clock: Pick<Clock, 'monotonicMs' | 'wait'>, ping: () => void): Reaction {
  const periodMs = watchdogMs / PINGS_IN_TIME
  let setMs = clock.monotonicMs()
  const run = async (): Promise<void> => {
    if (clock.monotonicMs() - setMs <= 2 * periodMs) ping()
    setMs = clock.monotonicMs()
  }
  const reaction = new Reaction({ clock, run, againMs: () => periodMs })
  reaction.start(periodMs)
  return reaction
}

/** Enough for one ping to be skipped and another one to be slow. */
const PINGS_IN_TIME = 4
