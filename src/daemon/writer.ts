import { Store } from '../sync/store/store.ts'
import { systemClock } from './clock.ts'
import type { Environment } from './config/environment.ts'
import type { Config } from './config.ts'
import { askDaemon, ControlError } from './control-client.ts'
import { redacted } from './control-redaction.ts'
import { serveControl, socketPathOf } from './control.ts'
import type { ControlHandlers, ControlServer } from './control.ts'
import { acquireLock } from './daemon-lock.ts'
import type { DaemonLock, Holder } from './daemon-lock.ts'
import { Daemon } from './daemon.ts'
import type { Log } from './log.ts'
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
  readonly daemon: Daemon
  readonly #control: ControlServer
  readonly #lock: DaemonLock

  private constructor(daemon: Daemon, control: ControlServer, lock: DaemonLock) {
    this.daemon = daemon
    this.#control = control
    this.#lock = lock
  }

  /** Takes the lock and loads the last generation, or says who has the lock. */
  static async open(candidate: Candidate): Promise<Writer | { readonly heldBy: Holder }> {
    const { config, environment, log, redactor, command, handlers } = candidate
    const store = await Store.open(config.state, { pathLimits: config.limits.fetch })
    const socket = socketPathOf(config.state, environment.runtime)
    const lock = await acquireLock(config.state, { pid: process.pid, socket, command })
    if ('heldBy' in lock) return lock
    try {
      await store.sweep()
      const daemon = await Daemon.start(config, { store, clock: systemClock, log, environment, redactor })
      const control = await serveControl(
        socket,
        redacted({ ...requestHandlers(daemon, config), ...handlers }, redactor),
      )
      return new Writer(daemon, control, lock)
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
    await this.daemon[Symbol.asyncDispose]()
    await this.#control[Symbol.asyncDispose]()
    await this.#lock.release()
  }
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
