import { stat } from 'node:fs/promises'
import type { LockEntry } from '../../../sync/model/decisions/lock.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { Config } from '../../config/config.ts'
import type { PullReport } from '../pull-report.ts'
import { expectProof } from './lock-proof.ts'
import { entryIn, followedBy, lockRead, lockStateOf } from './lock-rules.ts'
import type { Holding, LockRead, LockStanding } from './lock-rules.ts'

/** The lock file in a running process. Each pull checks the file and reads it again if it changed. */
export class KnownLock {
  readonly #config: Config
  readonly #records: Pick<PullReport, 'recordOf' | 'locked'> | undefined
  #known: LockRead
  #mark: string | undefined

  /** Without `records`, no lock is known to be lost. */
  constructor(config: Config, records?: Pick<PullReport, 'recordOf' | 'locked'>) {
    this.#config = config
    this.#records = records
  }

  async read(): Promise<LockRead> {
    const mark = await this.#markNow()
    if (mark !== undefined && mark === this.#mark) return this.#known
    this.#known = await lockRead(this.#config)
    // A file that is being written may have the same mark as what was read: after an error it is read again.
    this.#mark = this.#known instanceof SyncError ? undefined : mark
    return this.#known
  }

  get known(): LockRead {
    return this.#known
  }

  /**
   * The lock's entry for the source now; throws as `entryIn` does, and if the lock must be followed and the proof beside it
   * is not of that entry. The entry is recorded, so that no loss of the lock lets the source move.
   */
  async entryOf(source: Source, decision: Holding): Promise<LockEntry | undefined> {
    const entry = entryIn(await this.read(), this.#config, source, decision, this.#records?.recordOf(source))
    const { lock, lockUse } = this.#config
    const by = followedBy(this.#config, source)
    if (entry !== undefined || (by === undefined && lockUse === 'ignore'))
      await this.#records?.locked(source, entry?.revision.commit)
    if (entry !== undefined && lock !== undefined && by !== undefined)
      await expectProof(lock, source, entry.revision.commit)
    return entry
  }

  standingOf(source: Source, decision: Holding): LockStanding {
    return lockStateOf(this.#known, this.#config, source, decision, this.#records?.recordOf(source))
  }

  async #markNow(): Promise<string | undefined> {
    const { lock } = this.#config
    if (lock === undefined) return undefined
    // Reading the file reports the reason if it cannot be checked.
    const found = await stat(lock, { bigint: true }).catch(() => undefined)
    return found && `${found.ino} ${found.ctimeNs} ${found.mtimeNs} ${found.size}`
  }
}
