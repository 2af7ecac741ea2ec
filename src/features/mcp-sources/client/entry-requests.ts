import { inSlices } from '../../../base/async/cooperative.ts'
import type { JsonObject } from '../../../base/json-value.ts'
import { CredentialRefused, SyncError } from '../../../sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../sync/model/sync-error.ts'
import { AnswerLate, Overlong } from './channel.ts'
import type { McpConnection } from './mcp-connection.ts'
import type { Reply } from './message.ts'

/** No usable answer came about one skill, while the server answers other requests. It costs that skill alone. */
export class EntryUnanswered extends SyncError {
  readonly uri: string

  constructor(uri: string, cause: SyncError) {
    const why = cause instanceof AnswerLate ? `within ${cause.ms} ms` : `(${cause.message})`
    super('source-unreachable', `No answer about "${uri}" came ${why}`, { cause })
    this.uri = uri
  }
}

export interface EntryAsking {
  /** Returns the present connection: a new one if the last one was lost. */
  readonly connect: (signal: AbortSignal) => Promise<McpConnection>
  /** Resolves to true if the connection was lost. */
  readonly isLost: (connection: McpConnection) => Promise<boolean>
  /** The timeout for the first byte of an answer. */
  readonly connectMs: number
}

/** The requests of one listing that are about one skill each. All waits for answers that do not come are bounded. */
export class EntryRequests {
  readonly #asking: EntryAsking
  #unanswered = 0
  /** The unanswered requests of which some bytes came. */
  #unfinished = 0

  constructor(asking: EntryAsking) {
    this.#asking = asking
  }

  /** Asks about one skill. Throws `EntryUnanswered` if no usable answer comes and other skills may have one. */
  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<Reply> {
    const uri = typeof params['uri'] === 'string' ? params['uri'] : method
    const { connect, isLost, connectMs } = this.#asking
    if (this.#unanswered >= MOST_UNANSWERED) {
      const why = `it was not asked, since the server left ${MOST_UNANSWERED} requests of this listing unanswered`
      throw new EntryUnanswered(uri, new SyncError('source-unreachable', why))
    }
    const firstMs = this.#unanswered < PATIENTLY ? connectMs : Math.min(connectMs, AT_ONCE_MS)
    const totalMs = this.#unfinished < MOST_WAITING ? undefined : firstMs
    const connection = await connect(signal)
    return costsOnly(uri, async () => {
      const asked = async (to: McpConnection): Promise<Reply> => to.request(method, params, signal, totalMs, firstMs)
      try {
        try {
          return await asked(connection)
        } catch (error) {
          if (error instanceof AnswerLate || !(await isLost(connection)) || signal.aborted) throw error
          // The session may have expired, or the request for another file may have ended the program.
          return await asked(await connect(signal))
        }
      } catch (error) {
        this.#count(error, firstMs)
        throw error
      }
    })
  }

  #count(error: unknown, firstMs: number): void {
    if (!(error instanceof SyncError) || error instanceof Overlong || error.code === 'unsupported') return
    this.#unanswered += 1
    if (error instanceof AnswerLate && error.ms > firstMs) this.#unfinished += 1
  }
}

/** Turns each failure of the work that says nothing about other skills into `EntryUnanswered`. */
export async function costsOnly<Result>(uri: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isOfSkill = error instanceof SyncError && !(error instanceof EntryUnanswered) && !isOfServer(error)
    throw isOfSkill ? new EntryUnanswered(uri, error) : error
  }
}

/**
 * Does the work for all items in their order. One that waits long for the server does not hold up the others; only a
 * few wait at a time, because each may bring a large file.
 */
export async function withoutWaiting<Item, Made>(
  items: Iterable<Item>,
  work: (item: Item, signal: AbortSignal) => Promise<Made>,
  outer: AbortSignal,
): Promise<readonly Made[]> {
  const end = new AbortController()
  const signal = AbortSignal.any([outer, end.signal])
  const begun: Promise<Made>[] = []
  const waiting = new Set<Promise<unknown>>()
  try {
    const begin = async (item: Item): Promise<void> => {
      const one = work(item, signal)
      begun.push(one)
      const done = one.finally(() => waiting.delete(done))
      waiting.add(done)
      await unlessLong(done)
      while (waiting.size >= MOST_WAITING) await Promise.race(waiting)
    }
    await inSlices(items, begin, signal)
    return await Promise.all(begun)
  } finally {
    end.abort()
    await Promise.allSettled([...begun, ...waiting])
  }
}

async function unlessLong(done: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, AT_ONCE_MS)
  try {
    await Promise.race([done, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** True if the failure concerns all skills of the server. */
function isOfServer(error: SyncError): boolean {
  const isRefused = error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ECONNREFUSED'
  return isRefused || error instanceof CredentialRefused || OF_SERVER.has(error.code)
}

const OF_SERVER: ReadonlySet<SyncErrorCode> = new Set(['rate-limited', 'dns-failed', 'tls-failed'])

/** The time that an entry has before the next one begins. */
const AT_ONCE_MS = 1_000
const MOST_WAITING = 4

/** The unanswered requests that get the full timeout, and those after which nothing more is asked. */
const PATIENTLY = 16
const MOST_UNANSWERED = 64
