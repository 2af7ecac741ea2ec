import { createHash } from 'node:crypto'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { FetchBudget } from './fetch-budget.ts'
import type { ResourceContents } from './upstream/contents.ts'
import type { UnreadFile, Unusable } from './upstream/file-cache.ts'

/** Fetched bytes that match the declaration of the server. */
export interface Fetched {
  readonly ok: true
  readonly sha256: string
  readonly bytes: Uint8Array
}

/** Reads files of one server within its budgets, and checks each against its declaration. */
export class BudgetedReads {
  readonly #source: McpSource
  readonly #spendings: FetchBudget

  constructor(source: McpSource, spendings: FetchBudget) {
    this.#source = source
    this.#spendings = spendings
  }

  /** Counts the file as fetched. Returns the reason if the budget does not allow it, else `undefined`. */
  async spend({ size }: UnreadFile): Promise<string | undefined> {
    return overBudget(this.#spendings.spend(this.#source, size ?? UNKNOWN_BYTES))
  }

  check({ sha256: promised, size }: UnreadFile, sent: ResourceContents): Fetched | Unusable {
    const { id } = this.#source
    if ('why' in sent) {
      const { why, came, isTooLarge = false } = sent
      this.#spendings.addBeyond(id, size ?? UNKNOWN_BYTES, came)
      return { ok: false, rule: size === undefined && isTooLarge ? 'limit-bytes' : 'content-mismatch', why }
    }
    const { bytes } = sent
    this.#spendings.add(id, bytes.byteLength - (size ?? UNKNOWN_BYTES))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    if (size !== undefined && size !== bytes.byteLength)
      return mismatch(`it has ${bytes.byteLength} bytes, and ${size} are declared`)
    if (promised !== undefined && promised !== sha256)
      return mismatch(`its SHA-256 is ${sha256}, and ${promised} is declared`)
    return { ok: true, sha256, bytes }
  }
}

/** The count for a file without a declared size, until it has arrived. */
const UNKNOWN_BYTES = 1

function mismatch(why: string): Unusable {
  return { ok: false, rule: 'content-mismatch', why }
}

/** The reason why a budget has no room; `undefined` if it has room. */
export async function overBudget(spent: Promise<void>): Promise<string | undefined> {
  try {
    await spent
    return undefined
  } catch (error) {
    if (error instanceof SyncError && error.code === 'limit-exceeded') return error.message
    throw error
  }
}
