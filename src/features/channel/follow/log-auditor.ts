import type { SyncError, SyncErrorCode } from '../../../sync/model/sync-error.ts'
import { parseEntry } from '../../../sync/store/channel-entry.ts'
import type { LogAudit } from '../../../sync/upstream/upstream.ts'

/** The entries of a log as they are read: their times, and the newest one that names what is served. */
export class LogAuditor {
  readonly #served: string | undefined
  readonly #onRead: (entries: number) => void
  #first: string | undefined
  #last: string | undefined
  #found: LogAudit['served']
  #unread = 0

  constructor(served: string | undefined, onRead: (entries: number) => void) {
    this.#served = served
    this.#onRead = onRead
  }

  readonly add = (bytes: Uint8Array, index: number): void => {
    const entry = parseEntry(bytes)
    if (entry === undefined) this.#unread += 1
    else {
      this.#first ??= entry.at
      this.#last = entry.at
      if (entry.head === this.#served) this.#found = { index, at: entry.at }
    }
    if ((index + 1) % SHOWN_EVERY === 0) this.#onRead(index + 1)
  }

  get result(): Pick<LogAudit, 'first' | 'last' | 'served' | 'unread'> {
    const [first, last, served] = [this.#first, this.#last, this.#found]
    return { ...(first && { first }), ...(last && { last }), ...(served && { served }), unread: this.#unread }
  }
}

/** Entries between two reports of the progress: those of one bundle. */
const SHOWN_EVERY = 256

/** The finding for a refusal. */
export function findingOf({ code, message }: SyncError): LogAudit['findings'][number] {
  return { code, message }
}

/** The codes of a log that is not as it was signed. Any other failure says nothing about it. */
export const LOG_CODES: ReadonlySet<SyncErrorCode> = new Set([
  'log-unsigned',
  'log-rolled-back',
  'log-forked',
  'log-unwitnessed',
  'content-refused',
])

/** The longest log that is read whole: its hashes take some 150 MB of memory meanwhile. */
export const MOST_AUDITED = 2 ** 17
