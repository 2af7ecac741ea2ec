import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { SyncError } from '../../sync/model/sync-error.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { ignoreAbort } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'

/** Milliseconds between two renewals of a lease. */
const RENEW_MS = 2_000

/** Milliseconds after the last renewal from which a write waits for the next one: half a term, so none is written after it. */
const OVERDUE_MS = 5_000

/** Milliseconds for which a lease stays as it is before another process may take the lock. */
export const TERM_MS = 10_000

/** Milliseconds in which a living holder of a lease shows, for those who only want to say so. */
export const GLANCE_MS = 5_000

/** Milliseconds between two looks at the lease of another process. */
const LOOK_MS = 500

/** Text that no lock had before. Its length is always the same: it is written over the last one. */
export function newLease(): string {
  return randomBytes(8).toString('hex')
}

/**
 * Writes a lease over the one in a lock, and says whether that is the lock of the nonce still. In place, so that a full disk takes
 * it, and a file that took the place of the one that was looked at is never changed.
 */
export async function replaceLease(path: string, nonce: string, lease: string): Promise<boolean> {
  await using file = await unlessAbsent(open(path, 'r+'))
  const bytes = await file?.readFile()
  const at = bytes?.includes(`"nonce":"${nonce}"`) === true ? bytes.lastIndexOf(FIELD) : -1
  if (file === undefined || at < 0) return false
  await file.write(lease, at + FIELD.length)
  return true
}

/** No text within JSON holds it: quotes are escaped there. */
const FIELD = '"lease":"'

/** Time as it is measured here, and the end of it. */
export interface Watching {
  readonly clock: Pick<Clock, 'wait' | 'monotonicMs'>
  readonly signal: AbortSignal
}

/**
 * Watches what is read for so many milliseconds, and says whether it stayed as it is. No clock of another
 * machine takes part. A process that was stopped itself meanwhile goes on looking: the other one may have been stopped with it.
 */
export async function staysAsIs(
  read: () => Promise<string | undefined>,
  { clock, signal }: Watching,
  ms: number,
): Promise<boolean> {
  const before = await read()
  const endMs = clock.monotonicMs() + ms
  for (let looks = 1; ; looks += 1) {
    await clock.wait(LOOK_MS, signal)
    if ((await read()) !== before) return false
    if (looks * LOOK_MS >= ms && clock.monotonicMs() >= endMs) return true
  }
}

/** Renews a lease every two seconds until disposed, and before a write where that is overdue. */
export class Renewal implements AsyncDisposable {
  readonly #renew: () => Promise<boolean>
  readonly #clock: Watching['clock']
  readonly #over = new AbortController()
  readonly #renewing: Promise<void>
  #last: Promise<void> = Promise.resolve()
  #renewedMs: number

  /**
   * `renew` says whether it did, is called by one at a time, and throws what is to be thrown to the write that waits for it. Where the
   * disk takes no renewal it says so, and the write is tried: that disk takes none either.
   */
  constructor(renew: () => Promise<boolean>, clock: Watching['clock']) {
    this.#renew = renew
    this.#clock = clock
    this.#renewedMs = clock.monotonicMs()
    this.#renewing = this.#renewNowAndThen()
  }

  /** Resolves once the lease was renewed within half a term, or was seen to be that of this process still. */
  async expect(): Promise<void> {
    if (this.#isOverdue) await this.#once()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#renewing
  }

  get #isOverdue(): boolean {
    return this.#clock.monotonicMs() - this.#renewedMs >= OVERDUE_MS
  }

  async #once(): Promise<void> {
    const beforeMs = this.#renewedMs
    // Another one in turn may do it meanwhile.
    const turn = this.#last.then(async () => (this.#renewedMs === beforeMs ? this.#renewNow() : undefined))
    this.#last = turn.catch(() => {}) // The next in turn does not ask how this one went; its own caller is told.
    await turn
  }

  async #renewNow(): Promise<void> {
    const startMs = this.#clock.monotonicMs()
    if (await this.#renew()) this.#renewedMs = startMs
  }

  async #renewNowAndThen(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      await this.#clock.wait(RENEW_MS, signal).catch(ignoreAbort)
      if (!signal.aborted) await this.#once().catch(unlessRefused)
    }
  }
}

/** What the disk refuses is thrown to the write that needs it, too. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof SyncError)) throw error
}
