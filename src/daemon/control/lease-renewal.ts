import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Clock } from '../../base/async/clock.ts'
import { unlessSyncError } from '../../sync/model/sync-error.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { Reaction } from '../runtime/reaction.ts'

/** Milliseconds between two renewals of a lease. */
const RENEW_MS = 2_000

/**
 * Milliseconds after the last renewal from which a write waits for the next one. It is half a term, so no write happens
 * after the term.
 */
const OVERDUE_MS = 5_000

/** Milliseconds without a change of the lease after which another process may take the lock. */
export const TERM_MS = 10_000

/** Milliseconds within which a live holder renews its lease, for callers that only report it. */
export const GLANCE_MS = 5_000

/** Milliseconds between two checks of another process's lease. */
const LOOK_MS = 500

/** A text that no lock had before. Its length is constant, because it is written over the last one. */
export function newLease(): string {
  return randomBytes(8).toString('hex')
}

/**
 * Overwrites the lease in a lock. False if the lock no longer has the nonce. It writes in place, so that it works on a
 * full disk and never changes a file that has replaced the one that was read.
 */
export async function replaceLease(path: string, nonce: string, lease: string): Promise<boolean> {
  await using file = await unlessAbsent(open(path, 'r+'))
  const bytes = await file?.readFile()
  const at = bytes?.includes(`"nonce":"${nonce}"`) === true ? bytes.lastIndexOf(FIELD) : -1
  if (file === undefined || at < 0) return false
  await file.write(lease, at + FIELD.length)
  return true
}

/** No JSON string contains it, because quotes are escaped there. */
const FIELD = '"lease":"'

/** The local clock, and the signal that ends the watch. */
export interface Watching {
  readonly clock: Pick<Clock, 'wait' | 'monotonicMs'>
  readonly signal: AbortSignal
}

/**
 * Watches a value for so many milliseconds. True if it did not change. It uses no clock of another machine. A process
 * that was itself stopped meanwhile keeps watching, because the other one may have been stopped with it.
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

/** Renews a lease every two seconds until disposed, and before a write if a renewal is overdue. */
export class LeaseRenewal implements AsyncDisposable {
  readonly #renew: () => Promise<boolean>
  readonly #clock: Watching['clock']
  readonly #renewing: Reaction
  #renewedMs: number

  /**
   * `renew` returns true if it renewed the lease. It is never called concurrently. An error that it throws reaches the
   * write that waits for it. If the disk refuses the renewal, `renew` returns false and the write is tried: the disk
   * refuses that too.
   */
  constructor(renew: () => Promise<boolean>, clock: Watching['clock']) {
    this.#renew = renew
    this.#clock = clock
    this.#renewedMs = clock.monotonicMs()
    this.#renewing = new Reaction({
      clock,
      // A refusal of the disk is also thrown to the write that needs the renewal.
      run: async () => this.#renewNow().catch(unlessSyncError),
      againMs: () => RENEW_MS,
    })
    this.#renewing.start(RENEW_MS)
  }

  /** Resolves when the lease was renewed within half a term, or was found to belong to this process still. */
  async expect(): Promise<void> {
    if (this.#isOverdue) await this.#once()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#renewing[Symbol.asyncDispose]()
  }

  get #isOverdue(): boolean {
    return this.#clock.monotonicMs() - this.#renewedMs >= OVERDUE_MS
  }

  async #once(): Promise<void> {
    const beforeMs = this.#renewedMs
    // The previous one in the queue may have renewed it.
    await this.#renewing.inTurn(async () => (this.#renewedMs === beforeMs ? this.#renewNow() : undefined))
  }

  async #renewNow(): Promise<void> {
    const startMs = this.#clock.monotonicMs()
    if (await this.#renew()) this.#renewedMs = startMs
  }
}
