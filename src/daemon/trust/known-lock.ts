import { stat } from 'node:fs/promises'
import type { LockEntry } from '../../sync/decisions/lock.ts'
import type { Source } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Config } from '../config/config.ts'
import { entryIn, lockRead, standingIn } from './lock-rules.ts'
import type { Frozen, LockRead, LockStanding } from './lock-rules.ts'

/**
 * The lock of a running process: read anew when its file is another, which each pull asks for. One that was there and is gone is an
 * error and not "no lock", since a checkout in the team's repository takes it away for a moment.
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
    // A file that is being written may have the mark of what was read: an error is read again.
    this.#mark = read instanceof SyncError ? undefined : mark
    return this.#known
  }

  /** What is not there now is none from here on. */
  forget(): void {
    this.#known = undefined
    this.#mark = undefined
  }

  get known(): LockRead {
    return this.#known
  }

  /** What the lock says of the source now; throws as `entryIn` does. */
  async entryOf(source: Source, decision: Frozen): Promise<LockEntry | undefined> {
    return entryIn(await this.read(), this.#config, source, decision)
  }

  standingOf(source: Source, decision: Frozen): LockStanding {
    return standingIn(this.#known, this.#config, source, decision)
  }

  #gone(): SyncError {
    const { lock } = this.#config
    const tries = 'put it back, or go on without it: skillsyncd reload'
    return new SyncError('lock-mismatch', `Cannot follow the lock "${lock}": it was there and is gone; ${tries}`)
  }

  async #markNow(): Promise<string | undefined> {
    const { lock } = this.#config
    if (lock === undefined) return undefined
    // Why it cannot be looked at is said by reading it.
    const found = await stat(lock, { bigint: true }).catch(() => undefined)
    return found && `${found.ino} ${found.ctimeNs} ${found.mtimeNs} ${found.size}`
  }
}
