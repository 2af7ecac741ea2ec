import type { Clock } from '../../base/clock.ts'
import type { ManagerVariables } from '../config/environment.ts'
import { ignoreAbort } from '../../base/abort-error.ts'
import { codeOf } from '../../base/error-code.ts'
import type { Log } from '../base/log.ts'
import type { NotifySocket } from './notify-socket.ts'
import { pingWatchdog } from './watchdog.ts'

/** What telling the service manager takes. */
export interface ManagerParts {
  /** Undefined where no manager wants to know: then nothing is told. */
  readonly socket: NotifySocket | undefined
  readonly manager: Pick<ManagerVariables, 'watchdogMs'>
  readonly clock: Clock
  readonly log: Log
}

/** Tells the service manager how this process stands, one message after the other. None of it ever fails the daemon. */
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
   * What is served is loaded and the listeners are open. From now on the manager hears that we live, and in one line how we
   * stand.
   */
  ready(standing: () => string): void {
    this.#standing = standing
    this.#tell(['READY=1', this.#newStatus(), ...this.#ping()])
    const { socket, manager, clock } = this.#parts
    if (socket === undefined) return
    const { signal } = this.#over
    // Both go on until the signal, and throw nothing else.
    void this.#tellStatus().catch(ignoreAbort)
    if (manager.watchdogMs !== undefined)
      void pingWatchdog(manager.watchdogMs, clock, () => this.#pingOnce(), signal).catch(ignoreAbort)
  }

  /** Has the manager wait while a configuration is applied, however that ends. */
  async reloading<Result>(apply: () => Promise<Result>): Promise<Result> {
    // The manager compares it with its own clock, which is the same; Node reads it in nanoseconds.
    this.#tell(['RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`])
    try {
      return await apply()
    } finally {
      this.#tell(['READY=1', this.#newStatus()])
    }
  }

  /** It was asked to stop, or stops by itself: what is left is the end of what runs. */
  stopping(): void {
    this.#over.abort()
    this.#tell(['STOPPING=1', 'STATUS=stopping'])
  }

  /** Resolves when all was told. */
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

  /** One that waits for its turn is enough. */
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

  /** In order, since a program of its own may tell each of them. */
  async #tellAfter(before: Promise<void>, lines: readonly string[]): Promise<void> {
    const { socket, log } = this.#parts
    if (socket === undefined) return
    await before
    try {
      await socket.tell(lines)
      this.#isMute = false
    } catch (error) {
      // Whatever is the matter with it, clients are served all the same.
      if (!this.#isMute) log.warn('service-manager-not-told', { code: codeOf(error), message: String(error) })
      this.#isMute = true
    }
  }
}

/** Also bounds how often: what changes more often than this is told once. */
const STATUS_MS = 10_000
