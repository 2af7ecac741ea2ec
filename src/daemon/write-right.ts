import { isUnwritable } from '../sync/store/disk-error.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { openState } from '../sync/store/state-folder.ts'
import { acquireLock } from './daemon-lock.ts'
import type { DaemonLock, FoundHolder, Holder } from './daemon-lock.ts'

/** The right to write a state folder: its lock, once the disk takes one. Until then nothing is written, and all can be read. */
export class WriteRight {
  readonly #state: string
  #me: Pick<Holder, 'pid' | 'socket' | 'command'>
  #lock: DaemonLock | undefined
  #isGranted = false
  #refusal: SyncError | undefined

  constructor(state: string, me: Pick<Holder, 'pid' | 'socket' | 'command'>) {
    this.#state = state
    this.#me = me
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
  async take(listens = false): Promise<{ readonly heldBy: FoundHolder } | undefined> {
    // Taken again it would be found held, by this very process.
    if (this.#lock !== undefined) return undefined
    try {
      await openState(this.#state)
      const lock = await acquireLock(this.#state, { ...this.#me, listens })
      if ('heldBy' in lock) return lock
      this.#lock = lock
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
    this.#isGranted = this.#lock !== undefined
  }

  /** Nothing is written until it is granted again. The lock stays. */
  revoke(): void {
    this.#isGranted = false
  }

  /** Throws where nothing may be written. */
  async expect(): Promise<void> {
    const { readOnly } = this
    if (readOnly !== undefined) throw readOnly
  }

  async release(): Promise<void> {
    this.#isGranted = false
    await this.#lock?.release()
  }

  get #why(): string {
    const why = this.#refusal === undefined ? 'it is about to be' : this.#refusal.message
    return `Cannot write "${this.#state}": what is stored is served read-only until it can be written (${why})`
  }
}
