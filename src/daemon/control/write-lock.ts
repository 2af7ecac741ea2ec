import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Clock } from '../../base/async/clock.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError, isUnwritable } from '../../sync/store/files/disk-error.ts'
import { openState, type StateOpening } from '../../sync/store/files/state-folder.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { isAlive } from '../runtime/process-identity.ts'
import { acquireLock } from './daemon-lock.ts'
import type { DaemonLock, FoundHolder, LockHolder } from './daemon-lock.ts'
import { LeaseRenewal, TERM_MS } from './lease-renewal.ts'

/** The parts that a write right uses. */
export interface WriteRightParts {
  readonly clock: Pick<Clock, 'wait' | 'monotonicMs'>
  /** The purpose of the opening of the folder. */
  readonly opening?: StateOpening
  /** Called before a holder in another container or machine is watched for a term. */
  readonly onWatch?: (holder: FoundHolder) => void
}

/**
 * The right to write a state folder: its lock, as soon as the disk accepts one. Until then nothing is written, but
 * everything can be read.
 */
export class WriteRight {
  readonly #state: string
  readonly #parts: WriteRightParts
  readonly #lost = new AbortController()
  #me: Pick<LockHolder, 'pid' | 'socket' | 'command'>
  #lock: DaemonLock | undefined
  #renewal: LeaseRenewal | undefined
  #isGranted = false
  #refusal: SyncError | undefined

  constructor(state: string, me: Pick<LockHolder, 'pid' | 'socket' | 'command'>, parts: WriteRightParts) {
    this.#state = state
    this.#me = me
    this.#parts = parts
  }

  /** Aborted, with the reason, when another process writes the folder. This process then never writes it again. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** The reason why the disk refused the lock or the database at the last attempt; `undefined` if it accepted both. */
  get refusal(): SyncError | undefined {
    return this.#refusal
  }

  /** The reason why nothing is written at this moment; `undefined` if the right is held and granted. */
  get readOnly(): SyncError | undefined {
    return this.#isGranted ? undefined : new SyncError('store-failed', this.#why, { cause: this.#refusal?.cause })
  }

  /**
   * Creates the folder and acquires its lock. Returns the holder if another process has the lock. A refusal of the disk
   * becomes the `refusal`.
   */
  async take(signal: AbortSignal, listens = false): Promise<{ readonly heldBy: FoundHolder } | undefined> {
    // A second attempt would find the lock held by this very process.
    if (this.#lock !== undefined) {
      this.#refusal = undefined
      return undefined
    }
    try {
      await openState(this.#state, this.#parts.opening)
      const lock = await acquireLock(this.#state, { ...this.#me, ...this.#parts, signal, listens })
      if ('heldBy' in lock) return lock
      this.#lock = lock
      this.#renewal = new LeaseRenewal(async () => this.#renew(lock), this.#parts.clock)
      this.#refusal = undefined
    } catch (error) {
      if (!isUnwritable(error)) throw error
      this.#refusal = error
    }
    return undefined
  }

  /** Records that the disk accepts the lock, but not the database. Keeps the lock. */
  refuse(refusal: SyncError): void {
    this.#isGranted = false
    this.#refusal = refusal
  }

  /** Records the new socket of this process in the lock, if it has one. */
  async moveTo(socket: string): Promise<void> {
    if (socket === this.#me.socket) return
    await this.#lock?.moveTo(socket)
    this.#me = { ...this.#me, socket }
  }

  /** Allows this process to write. Everything that it read from the folder before the lock must be read again first. */
  grant(): void {
    this.#isGranted = this.#lock !== undefined && !this.#lost.signal.aborted
  }

  /** Forbids writes until the next `grant`. Keeps the lock. */
  revoke(): void {
    this.#isGranted = false
  }

  /**
   * Throws if writes are not allowed. A process that was stopped for a long time finds out here, before its next write.
   */
  async expect(): Promise<void> {
    if (this.#isGranted) await this.#renewal?.expect()
    const { readOnly } = this
    if (readOnly !== undefined) throw readOnly
  }

  /** Records that another process writes the folder. Nothing is written from now on. */
  lose(reason: HeldByOther): void {
    this.#isGranted = false
    this.#lost.abort(reason)
  }

  async release(): Promise<void> {
    this.#isGranted = false
    await this.#renewal?.[Symbol.asyncDispose]()
    await this.#lock?.release()
  }

  async #renew(lock: DaemonLock): Promise<boolean> {
    const { isRenewed, heldBy } = await lock.renew()
    if (heldBy !== undefined && !this.#lost.signal.aborted) this.lose(new LeaseLost(this.#state, heldBy))
    return isRenewed
  }

  get #why(): string {
    const { reason }: { readonly reason: unknown } = this.#lost.signal
    if (reason instanceof HeldByOther) return reason.message
    const why = this.#refusal === undefined ? 'it is about to be' : this.#refusal.message
    return `Cannot write "${this.#state}": what is stored is served read-only until it can be written (${why})`
  }
}

/** Another process writes the state folder. */
export class HeldByOther extends OperatorError {
  /** The command of that process. */
  readonly command: string

  constructor(state: string, holder: FoundHolder, message = heldText(state, holder)) {
    super('state-in-use', message)
    this.command = holder.command
  }
}

/** Another process has taken over the state folder from this one. */
class LeaseLost extends HeldByOther {
  constructor(state: string, holder: FoundHolder) {
    super(
      state,
      holder,
      `Cannot go on writing "${state}": this process was stopped for over ${TERM_MS / 1000} s, or its lock was removed, and ` +
        `${processText(holder)} took over`,
    )
  }
}

function heldText(state: string, holder: FoundHolder): string {
  const mend = holder.isElsewhere === true ? ELSEWHERE_MEND : 'stop it first'
  return `Cannot write "${state}": ${processText(holder)} writes it; ${mend}, or use another --state`
}

/** The process and the command with which it was started. */
export function processText({
  pid,
  command,
  isElsewhere,
}: Pick<FoundHolder, 'pid' | 'command' | 'isElsewhere'>): string {
  return `process ${pid} (skillsyncd ${command})${isElsewhere === true ? ' of another container or machine' : ''}`
}

/**
 * The state of a process of this machine that has the lock and did not answer at its socket; `undefined` if there is no
 * such process. A daemon whose socket was removed makes it again within seconds.
 */
export async function silentHolderText(
  holder: FoundHolder | undefined,
  mend = 'try again in some seconds, and see skillsyncd doctor if it stays silent',
): Promise<string | undefined> {
  if (holder === undefined || holder.isElsewhere === true || !(await isAlive(holder))) return undefined
  return `${processText(holder)} has the lock and does not answer at its socket; ${mend}`
}

/** Says that no daemon answers. On a state folder that takes no lock, one may be out of reach. `about`: more on the daemon. */
export async function absenceText(state: string, about = ''): Promise<string> {
  const error: unknown = await access(state, constants.W_OK).catch((cause: unknown) => cause)
  if (!isDiskError(error, 'EACCES', 'EPERM', 'EROFS')) return `no daemon runs${about}`
  return `no daemon is found${about}; one that cannot write its state is found only with its XDG_RUNTIME_DIR or TMPDIR`
}

/** A remedy for the operator if the control socket of the writer cannot be reached. */
export const ELSEWHERE_MEND = 'run the command there, or give both one runtime folder (XDG_RUNTIME_DIR)'
