import { isUnwritable } from '../../sync/store/files/disk-error.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { openState } from '../../sync/store/files/state-folder.ts'
import type { Clock } from '../../base/clock.ts'
import { OperatorError } from '../base/operator-error.ts'
import { acquireLock } from './daemon-lock.ts'
import type { DaemonLock, FoundHolder, Holder } from './daemon-lock.ts'
import { Renewal, TERM_MS } from './lease.ts'

/** What a write right is taken with. */
export interface WriteRightParts {
  readonly clock: Pick<Clock, 'wait' | 'monotonicMs'>
  /** Is called before a holder of another container or machine is watched for a term. */
  readonly onWatch?: (holder: FoundHolder) => void
}

/** The right to write a state folder: its lock, once the disk takes one. Until then nothing is written, and all can be read. */
export class WriteRight {
  readonly #state: string
  readonly #parts: WriteRightParts
  readonly #lost = new AbortController()
  #me: Pick<Holder, 'pid' | 'socket' | 'command'>
  #lock: DaemonLock | undefined
  #renewal: Renewal | undefined
  #isGranted = false
  #refusal: SyncError | undefined

  constructor(state: string, me: Pick<Holder, 'pid' | 'socket' | 'command'>, parts: WriteRightParts) {
    this.#state = state
    this.#me = me
    this.#parts = parts
  }

  /** Raised, with the reason, once another process writes the folder: this one never does again. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Why the disk took no lock when that was tried last; undefined where it did. */
  get refusal(): SyncError | undefined {
    return this.#refusal
  }

  /** Why nothing is written at this moment; undefined where the right is had and granted. */
  get readOnly(): SyncError | undefined {
    return this.#isGranted ? undefined : new SyncError('store-failed', this.#why, { cause: this.#refusal?.cause })
  }

  /** Makes the folder, and takes its lock; says who has that where another process does. What the disk refuses is the `refusal`. */
  async take(signal: AbortSignal, listens = false): Promise<{ readonly heldBy: FoundHolder } | undefined> {
    // Taken again it would be found held, by this very process.
    if (this.#lock !== undefined) return undefined
    try {
      await openState(this.#state)
      const lock = await acquireLock(this.#state, { ...this.#me, ...this.#parts, signal, listens })
      if ('heldBy' in lock) return lock
      this.#lock = lock
      this.#renewal = new Renewal(async () => this.#renew(lock), this.#parts.clock)
      this.#refusal = undefined
    } catch (error) {
      if (!isUnwritable(error)) throw error
      this.#refusal = error
    }
    return undefined
  }

  /** Says in the lock, if there is one, that this process listens elsewhere. */
  async moveTo(socket: string): Promise<void> {
    if (socket === this.#me.socket) return
    await this.#lock?.moveTo(socket)
    this.#me = { ...this.#me, socket }
  }

  /** From now on this process writes: whatever it knew of the folder from before the lock is to be read anew first. */
  grant(): void {
    this.#isGranted = this.#lock !== undefined && !this.#lost.signal.aborted
  }

  /** Nothing is written until it is granted again. The lock stays. */
  revoke(): void {
    this.#isGranted = false
  }

  /** Throws where nothing may be written: a process that was stopped for long finds out here, before its next write. */
  async expect(): Promise<void> {
    if (this.#isGranted) await this.#renewal?.expect()
    const { readOnly } = this
    if (readOnly !== undefined) throw readOnly
  }

  /** Another process writes the folder: nothing is written from now on. */
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
  /** What that process was started as. */
  readonly command: string

  constructor(state: string, holder: FoundHolder, message = heldText(state, holder)) {
    super('held', message)
    this.command = holder.command
  }
}

/** Another process writes the state folder by now, that this one wrote. */
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
  return `Cannot write "${state}": ${processText(holder)} does; ${mend}, or use another --state`
}

/** The process, and what it was started as. */
export function processText({
  pid,
  command,
  isElsewhere,
}: Pick<FoundHolder, 'pid' | 'command' | 'isElsewhere'>): string {
  return `process ${pid} (skillsyncd ${command})${isElsewhere === true ? ' of another container or machine' : ''}`
}

/** What a person can try where the control socket of the writer cannot be reached. */
export const ELSEWHERE_MEND = 'run the command there, or give both one runtime folder (XDG_RUNTIME_DIR)'
