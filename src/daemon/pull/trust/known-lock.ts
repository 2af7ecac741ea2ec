import { stat } from 'node:fs/promises'
import type { LockEntry } from '../../../sync/model/decisions/lock.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { Config } from '../../config/config.ts'
import { expectProof } from './lock-proof.ts'
import { entryIn, followedBy, lockRead, lockStateOf } from './lock-rules.ts'
import type { Holding, LockRead, LockStanding } from './lock-rules.ts'

/**
 * The lock file in a running process. Each pull checks the file and reads it again if it changed. A lock that
 * disappears is an error and not "no lock", since a checkout in the team's repository removes it for a moment.
 */
export class KnownLock {
  readonly #config: Config
  #known: LockRead
  #mark: string | undefined

  constructor(config: Config) {
    this.#config = config
  }

  async read(): Promise<LockRead> {
    const mark = await this.#markNow()
    if (mark !== undefined && mark === this.#mark) return this.#known
    const read = await lockRead(this.#config)
    const isGone = read === undefined && this.#known !== undefined
    this.#known = isGone ? this.#gone() : read
    // A file that is being written may have the same mark as what was read: after an error it is read again.
    this.#mark = read instanceof SyncError ? undefined : mark
    return this.#known
  }

  /** After this call, a missing lock counts as no lock. */
  forget(): void {
    this.#known = undefined
    this.#mark = undefined
  }

  get known(): LockRead {
    return this.#known
  }

  /**
   * The lock's entry for the source now; throws as `entryIn` does, and if the lock must be followed and the proof beside it
   * is not of that entry.
   */
  async entryOf(source: Source, decision: Holding): Promise<LockEntry | undefined> {
    const entry = entryIn(await this.read(), this.#config, source, decision)
    const { lock } = this.#config
    if (entry !== undefined && lock !== undefined && followedBy(this.#config, source) !== undefined)
      await expectProof(lock, source, entry.revision.commit)
    return entry
  }

  standingOf(source: Source, decision: Holding): LockStanding {
    return lockStateOf(this.#known, this.#config, source, decision)
  }

  #gone(): SyncError {
    const { lock } = this.#config
    const tries = 'put it back, or go on without it: skillsyncd reload'
    return new SyncError('lock-mismatch', `Cannot follow the lock "${lock}": it was there and is gone; ${tries}`)
  }

  async #markNow(): Promise<string | undefined> {
    const { lock } = this.#config
    if (lock === undefined) return undefined
    // Reading the file reports the reason if it cannot be checked.
    const found = await stat(lock, { bigint: true }).catch(() => undefined)
    return found && `${found.ino} ${found.ctimeNs} ${found.mtimeNs} ${found.size}`
  }
}
