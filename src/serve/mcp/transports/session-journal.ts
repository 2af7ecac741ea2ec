import { join } from 'node:path'
import type { Clock } from '../../../base/async/clock.ts'
import type { Log } from '../../../base/log.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { LifecycleRules } from '../../../sync/catalog/operator-lifecycle.ts'
import { SyncError, unlessSyncError } from '../../../sync/model/sync-error.ts'
import { pastCatalog } from '../../../sync/pull/generation-catalog.ts'
import type { PastStore } from '../../../sync/pull/generation-catalog.ts'
import { Journal, readJournal } from '../../../sync/store/files/journal.ts'
import type { Store } from '../../../sync/store/store.ts'
import { sessionLineOf, recordIn } from './session-line.ts'
import { markedDigestIn, sessionsAfter } from './session-store.ts'
import type { KeptSession, NotifiedCatalog, SessionLog, SessionRecord } from './session-store.ts'

interface Parts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** The statements of the operator about skills, which a reload may change. */
  readonly lifecycles?: () => LifecycleRules
}

/**
 * The sessions of clients, `sessions.journal` in the state folder. If the disk refuses the file, the sessions are lost
 * at a restart, and only then.
 */
export class SessionJournal implements SessionLog, AsyncDisposable {
  readonly #parts: Parts
  readonly #file: string
  #journal: Journal | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#file = join(parts.store.folder.path, 'sessions.journal')
  }

  async load(all: () => Iterable<SessionRecord>): Promise<readonly KeptSession[]> {
    const { clock } = this.#parts
    this.#journal = new Journal(this.#file, {
      all: () => this.#lines(all()),
      expectRight: async () => this.#parts.store.folder.expectRight(),
      monotonicMs: () => clock.monotonicMs(),
      onEnd: (failure) => this.#report(failure),
    })
    const now = clock.now()
    const records: SessionRecord[] = []
    const { lines, isDamaged } = await this.#read()
    for (const [index, line] of lines.entries()) {
      const record = recordIn(line, now)
      if (record === undefined) {
        this.#tellDamage(index + 1)
        break
      }
      records.push(record)
    }
    if (isDamaged) this.#tellDamage(lines.length + 1)
    return sessionsAfter(records)
  }

  async append(record: SessionRecord): Promise<void> {
    await this.#journal?.append(sessionLineOf(record, this.#parts.clock.now()))
  }

  async catalogOf(mark: NotifiedCatalog, ring?: string): Promise<Catalog | undefined> {
    const { store, lifecycles } = this.#parts
    return catalogOfMark(store, mark, ring, lifecycles?.())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#journal?.[Symbol.asyncDispose]()
  }

  *#lines(records: Iterable<SessionRecord>): Iterable<string> {
    const now = this.#parts.clock.now()
    for (const record of records) yield sessionLineOf(record, now)
  }

  async #read(): ReturnType<typeof readJournal> {
    try {
      return await readJournal(this.#file)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#parts.log.warn('sessions-not-read', { code: error.code, message: error.message })
      return { lines: [], isDamaged: false }
    }
  }

  #tellDamage(line: number): void {
    const message = `Cannot read line ${line} of "${this.#file}", nor what follows it: it is damaged`
    this.#parts.log.warn('sessions-not-read', { code: 'store-failed', message })
  }

  #report(failure: SyncError | undefined): void {
    const { log } = this.#parts
    if (failure === undefined) log.recovery('sessions-not-kept', '')
    else log.failure('warn', 'sessions-not-kept', { source: '', code: failure.code, message: failure.message })
  }
}

/** Returns the catalog of a mark, in a ring; `undefined` if the store no longer has it. */
export async function catalogOfMark(
  store: PastStore,
  mark: NotifiedCatalog,
  ring: string | undefined,
  lifecycles: LifecycleRules | undefined,
): Promise<Catalog | undefined> {
  const { generation: number, sources } = mark
  try {
    const catalog = await pastCatalog(store, { number, sources, lifecycles, ring })
    return catalog?.digest === markedDigestIn(mark, ring) ? catalog : undefined
  } catch (error) {
    // It counts as collected: its sessions are notified of everything.
    unlessSyncError(error)
    return undefined
  }
}
