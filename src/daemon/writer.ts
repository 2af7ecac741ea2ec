import { stat } from 'node:fs/promises'
import { cannot } from '../sync/store/disk-error.ts'
import { Store } from '../sync/store/store.ts'
import { Changeover } from './changeover.ts'
import { systemClock } from './clock.ts'
import type { Environment } from './config/environment.ts'
import type { Config } from './config.ts'
import { askDaemon, ControlError } from './control-client.ts'
import { redacted } from './control-redaction.ts'
import { serveControl, socketPathOf } from './control.ts'
import type { ControlHandler, ControlHandlers, ControlServer } from './control.ts'
import { acquireLock } from './daemon-lock.ts'
import type { DaemonLock, Holder } from './daemon-lock.ts'
import { Daemon } from './daemon.ts'
import type { Log } from './log.ts'
import type { Parts } from './parts.ts'
import type { Redactor } from './redactor.ts'
import { requestHandlers } from './requests.ts'

/** What a process is, that wants to write a state folder. */
export interface Candidate {
  readonly config: Config
  readonly environment: Environment
  readonly log: Log
  readonly redactor: Redactor
  /** `start`, `mcp` or `sync`: told to whoever finds the lock. */
  readonly command: string
  /** What else it can be asked for. */
  readonly handlers?: ControlHandlers
}

/** The daemon of this process, with the lock that makes it the only one and the socket it is asked over. */
export class Writer implements AsyncDisposable {
  readonly #parts: Parts
  readonly #lock: DaemonLock
  readonly #changeover = new Changeover()
  #daemon: Daemon
  #control: ControlServer | undefined

  private constructor(daemon: Daemon, parts: Parts, lock: DaemonLock) {
    this.#daemon = daemon
    this.#parts = parts
    this.#lock = lock
  }

  /** Another one after a reload. */
  get daemon(): Daemon {
    return this.#daemon
  }

  /** Takes the lock and loads the last generation, or says who has the lock. */
  static async open(candidate: Candidate): Promise<Writer | { readonly heldBy: Holder }> {
    const { config, environment, log, redactor, command, handlers } = candidate
    const store = await Store.open(config.state, { pathLimits: config.limits.fetch })
    const socket = socketPathOf(config.state, environment.runtime)
    const lock = await acquireLock(config.state, { pid: process.pid, socket, command })
    if ('heldBy' in lock) return lock
    try {
      await warnOfOwner(config.state, log)
      await store.sweep()
      const parts = { store, clock: systemClock, log, environment, redactor }
      const writer = new Writer(await Daemon.start(config, parts), parts, lock)
      writer.#control = await serveControl(socket, redacted({ ...writer.#handlers(), ...handlers }, redactor))
      return writer
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  /**
   * Nobody else may publish before what this daemon was publishing is on the disk, so the lock goes last. A pull that does not
   * heed its signal in time publishes nothing any more.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changeover.end(async () => this.#daemon[Symbol.asyncDispose]())
    await this.#control?.[Symbol.asyncDispose]()
    await this.#lock.release()
  }

  /**
   * Has a daemon of this configuration go on where the one before stopped, of the same state folder. `serve` is called with it
   * before what clients were served with is let go. Where it cannot start, the one before goes on, and the error is thrown.
   */
  async reload(config: Config, serve: (daemon: Daemon) => void): Promise<void> {
    await this.#changeover.change(
      async () => this.#daemon.stop(),
      async () => {
        await using before = this.#daemon
        this.#daemon = await this.#after(before, config, serve)
      },
    )
  }

  async #after(before: Daemon, config: Config, serve: (daemon: Daemon) => void): Promise<Daemon> {
    try {
      return goOn(await Daemon.start(config, this.#parts, before), serve)
    } catch (error) {
      this.#daemon = goOn(await this.#again(before), serve)
      throw error
    }
  }

  async #again(before: Daemon): Promise<Daemon> {
    return Daemon.start(before.config, this.#parts, before).catch((cause: unknown) => {
      // No daemon at all is worse than a process that ends: that is started again.
      throw new Error('Cannot go on with the configuration from before the reload', { cause })
    })
  }

  /** Each asks the daemon that there is when its turn comes. */
  #handlers(): ControlHandlers {
    const methods = Object.keys(requestHandlers(this.#daemon, this.#daemon.config))
    return Object.fromEntries(methods.map((method) => [method, this.#handler(method)]))
  }

  #handler(method: string): ControlHandler {
    return async (params, send, signal) =>
      this.#changeover.ask(signal, async (until) => {
        const handler = requestHandlers(this.#daemon, this.#daemon.config)[method]
        if (handler === undefined) throw new TypeError(`A daemon is asked for no "${method}"`)
        return handler(params, send, until)
      })
  }
}

/** What root writes there is root's, and the user of the folder may not be able to read it. */
async function warnOfOwner(state: string, log: Log): Promise<void> {
  const user = process.getuid?.()
  const { uid: owner } = await stat(state).catch(cannot(`look at "${state}"`))
  if (user === undefined || user === owner) return
  const mend = 'Run this, and every command, as the user that the folder is of, or give it to this one'
  log.warn('state-of-another', { state, owner, user, mend })
}

function goOn(daemon: Daemon, serve: (daemon: Daemon) => void): Daemon {
  serve(daemon)
  daemon.poll()
  return daemon
}

/** `Writer.open`, after asking an `mcp` that writes meanwhile to hand over. Throws where another daemon stays. */
export async function becomeWriter(candidate: Candidate, signal: AbortSignal): Promise<Writer> {
  for (let attempt = 1; ; attempt += 1) {
    const writer = await Writer.open(candidate)
    if (!('heldBy' in writer)) return writer
    const { heldBy } = writer
    if (heldBy.command !== 'mcp' || attempt > HANDOVER_ATTEMPTS) throw new HeldByOther(candidate.config.state, heldBy)
    await askForLock(heldBy, signal)
    await systemClock.wait(HANDOVER_PAUSE_MS, signal)
  }
}

/** A writer that hangs up before it has answered is one that hands over. */
async function askForLock({ socket }: Holder, signal: AbortSignal): Promise<void> {
  try {
    await askDaemon(socket, 'handover', {}, { onEvent: () => {}, signal, timeoutMs: HANDOVER_MS })
  } catch (error) {
    if (!(error instanceof ControlError)) throw error
  }
}

/** Together longer than a writer takes to end its running pulls. */
const HANDOVER_ATTEMPTS = 100
const HANDOVER_PAUSE_MS = 100
const HANDOVER_MS = 10_000

/** Another process writes the state folder. */
export class HeldByOther extends ControlError {
  /** What that process was started as. */
  readonly command: string

  constructor(state: string, { pid, command }: Holder) {
    super(
      'held',
      `Cannot write "${state}": process ${pid} (skillsyncd ${command}) does; stop it first, or use another --state`,
    )
    this.command = command
  }
}
