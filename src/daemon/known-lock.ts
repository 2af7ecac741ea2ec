import type { LockEntry } from '../sync/model/lock.ts'
import type { Source } from '../sync/model/source.ts'
import type { Config } from './config.ts'
import { entryIn, lockRead, standingIn } from './lock-rules.ts'
import type { LockRead, LockStanding } from './lock-rules.ts'

/** The lock of a running daemon. Each pull reads it anew, and a status tells of what was read last. */
export class KnownLock {
  readonly #config: Config
  #known: LockRead

  constructor(config: Config) {
    this.#config = config
  }

  async read(): Promise<LockRead> {
    this.#known = await lockRead(this.#config)
    return this.#known
  }

  /** Throws as `lockedEntry` does. */
  async entryOf(source: Source): Promise<LockEntry | undefined> {
    return entryIn(await this.read(), this.#config, source)
  }

  get known(): LockRead {
    return this.#known
  }

  standingOf(source: Source): LockStanding {
    return standingIn(this.#known, this.#config, source)
  }
}
