import { SerialQueue } from '../../base/async/serial-queue.ts'
import { SyncError } from '../model/sync-error.ts'
import { DecisionFiles, NO_DECISIONS, SHARED_DECISIONS } from './decision-files.ts'
import type { StoredDecisions } from './decisions-text.ts'
import type { StateFolder } from './files/state-folder.ts'
import { SharedValue } from './shared-text.ts'
import type { Change, SharedText } from './shared-text.ts'

/**
 * The decisions that this process holds. Their files have them in a hub of one process; in a hub of several, a shared
 * text has them, and the files are the copy for a start without it.
 */
export class HeldDecisions {
  readonly files: DecisionFiles
  #value: StoredDecisions = NO_DECISIONS
  #failure: SyncError | undefined
  #loss: SyncError | undefined
  #damage: SyncError | undefined
  #wasRead = false
  #shared: SharedValue<StoredDecisions> | undefined
  /** The call of `mend` that waits for its turn. */
  #mending: Promise<boolean> | undefined
  readonly #queue = new SerialQueue()

  constructor(state: StateFolder) {
    this.files = new DecisionFiles(state)
  }

  /** The decisions, as this process last read or wrote them. A change produces a new value. */
  get value(): StoredDecisions {
    return this.#value
  }

  /** The reason why the last attempt to read the decisions failed. */
  get failure(): SyncError | undefined {
    return this.#shared === undefined ? this.#failure : this.#shared.failure
  }

  get loss(): SyncError | undefined {
    return this.#loss
  }

  get damage(): SyncError | undefined {
    return this.#damage
  }

  /** True if this process has read the decisions successfully. */
  get wasRead(): boolean {
    return this.#wasRead
  }

  get unwritten(): SyncError | undefined {
    return this.#shared?.unwritten
  }

  shareWith(text: SharedText): void {
    this.#shared ??= new SharedValue(text, SHARED_DECISIONS, {
      read: async () => {
        const { written, isAbsent } = await this.files.read()
        return isAbsent === true ? undefined : written
      },
      write: async (decisions) => this.files.restore(decisions),
      hold: (decisions) => this.#hold(decisions),
    })
  }

  async refresh(): Promise<boolean> {
    return this.#queue.next(async () => this.#shared?.refresh() ?? false)
  }

  async read(): Promise<StoredDecisions> {
    return this.#queue.next(async () => {
      if (this.#shared === undefined) await this.#readFiles()
      else await this.#shared.read()
      return this.#value
    })
  }

  async #readFiles(): Promise<void> {
    try {
      const { written, damage, loss } = await this.files.read()
      this.#hold(written)
      this.#damage = damage
      this.#loss = loss
    } catch (error) {
      if (error instanceof SyncError) this.#failure = error
      throw error
    }
  }

  #hold(decisions: StoredDecisions): void {
    this.#value = decisions
    this.#damage = undefined
    this.#loss = undefined
    this.#failure = undefined
    this.#wasRead = true
  }

  /** Changes the decisions; the change is on the disk, or in the shared text, when this returns. */
  async change<Result>(change: Change<StoredDecisions, Result>): Promise<Result> {
    return this.#queue.next(async () => this.#change(change))
  }

  /** Makes a change that is due to the known decisions. One that leaves them as they are does not need the database. */
  async follow<Result>(change: Change<StoredDecisions, Result>): Promise<Result> {
    return this.#queue.next(async () => {
      if (this.#shared === undefined) return this.#change(change)
      const { after, result } = await change(this.#value)
      return after === this.#value ? result : this.#change(change)
    })
  }

  async #change<Result>(change: Change<StoredDecisions, Result>): Promise<Result> {
    if (this.#shared !== undefined) return this.#shared.change(change)
    if (this.#failure !== undefined) throw this.#failure
    const { after, result } = await change(this.#value)
    await this.#write(after)
    return result
  }

  async mend(): Promise<boolean> {
    // The decisions are unknown here, because they could not be read. The operator must act first.
    if (this.#failure !== undefined || this.#loss !== undefined) return false
    this.#mending ??= this.#queue.next(async () => {
      this.#mending = undefined
      if (this.#shared !== undefined) return this.#shared.mend()
      if (this.#failure !== undefined) throw this.#failure
      const isMended = await this.files.mend(this.#value)
      this.#damage = undefined
      return isMended
    })
    return this.#mending
  }

  async #write(after: StoredDecisions): Promise<void> {
    if (after === this.#value) return
    if (SHARED_DECISIONS.textOf(after) !== SHARED_DECISIONS.textOf(this.#value)) {
      await this.files.write(after)
      this.#loss = undefined
    }
    this.#value = after
  }
}
