import { ignoreAbort } from '../../../base/async/abort-error.ts'
import type { Clock } from '../../../base/async/clock.ts'
import { codeOf } from '../../../base/error-code.ts'
import type { ManagerVariables } from '../../config/environment.ts'
import type { Log } from '../../runtime/log/log.ts'
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
  readonly #over = new AbortController()
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
    const { signal } = this.#over
    // Both run until the signal, and throw nothing else.
    void this.#tellStatus().catch(ignoreAbort)
    if (manager.watchdogMs !== undefined)
      void pingWatchdog(manager.watchdogMs, clock, () => this.#pingOnce(), signal).catch(ignoreAbort)
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
    this.#over.abort()
    this.#tell(['STOPPING=1', 'STATUS=stopping'])
  }

  /** Resolves when all messages are sent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#last
  }

  async #tellStatus(): Promise<never> {
    const { clock } = this.#parts
    for (;;) {
      await clock.wait(STATUS_MS, this.#over.signal)
      const before = this.#status
      const line = this.#newStatus()
      if (this.#status !== before) this.#tell([line])
    }
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
 * Pings while this thread's event loop keeps time, until the signal. If a timer fires late by more than its own period,
 * the event loop was blocked, and no ping is sent. A loop that blocks repeatedly counts as dead, as it is for clients.
 * Other threads and processes, and the duration of pulls, have no influence.
 */
async function pingWatchdog(
  watchdogMs: number,
  clock: Pick<Clock, 'monotonicMs' | 'wait'>,
  ping: () => void,
  signal: AbortSignal,
): Promise<never> {
  const periodMs = watchdogMs / PINGS_IN_TIME
  for (;;) {
    const due = clock.monotonicMs() + periodMs
    await clock.wait(periodMs, signal)
    if (clock.monotonicMs() - due <= periodMs) ping()
  }
}

/** Enough for one ping to be skipped and another one to be slow. */
const PINGS_IN_TIME = 4
