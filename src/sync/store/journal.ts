import { open, readFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { SyncError } from '../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'

/** What a journal is given to work with. */
export interface JournalParts {
  /** The lines that say at this moment all that is to be remembered: what was appended before adds nothing to them. */
  readonly all: () => Iterable<string>
  /** A clock that nobody sets, in milliseconds. */
  readonly monotonicMs: () => number
  /** Is told of each write that failed, and of each that was done. */
  readonly onEnd: (failure: SyncError | undefined) => void
}

/**
 * A file of lines that grows at its end. Lines that are appended while others are being written go to the disk together. A
 * disk that refuses them costs what they say over a restart, and nothing before: everything is written anew when it takes
 * them again.
 */
export class Journal implements AsyncDisposable {
  readonly #path: string
  readonly #parts: JournalParts
  #queue: string[] = []
  /** Of what is in the queue: it is on the disk, or cannot be brought there. */
  #next: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()
  /** Undefined while the file is not known to end where we ended it. */
  #handle: FileHandle | undefined
  #bytes = 0
  #mostBytes = 0
  #failedAt: number | undefined
  #isEnded = false

  constructor(path: string, parts: JournalParts) {
    this.#path = path
    this.#parts = parts
  }

  /** Resolves when the line is on the disk, or when it is known that it does not get there. */
  async append(line: string): Promise<void> {
    if (this.#isEnded || this.#isWaiting) return
    this.#queue.push(line)
    this.#next ??= this.#inTurn()
    await this.#next
  }

  /** Writes what could not be written so far, if it can be now. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true
    await this.#last
    if (this.#failedAt !== undefined) await this.#write([])
    await this.#close()
  }

  /** Soon after a failure nothing is tried: whoever is answered when it is written should not wait for that. */
  get #isWaiting(): boolean {
    return this.#failedAt !== undefined && this.#parts.monotonicMs() - this.#failedAt < RETRY_MS
  }

  async #inTurn(): Promise<void> {
    const turn = this.#writeQueue(this.#last)
    // The next in turn does not ask how this one went; its own callers are told.
    this.#last = turn.catch(() => {})
    return turn
  }

  async #writeQueue(previous: Promise<void>): Promise<void> {
    await previous
    const lines = this.#queue
    this.#queue = []
    this.#next = undefined
    if (!this.#isWaiting) await this.#write(lines)
  }

  async #write(lines: readonly string[]): Promise<void> {
    try {
      await this.#bring(lines)
        .catch(tooLong(`write "${this.#path}"`))
        .catch(cannot(`write "${this.#path}"`))
      this.#failedAt = undefined
      this.#parts.onEnd(undefined)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#failedAt = this.#parts.monotonicMs()
      await this.#close()
      this.#parts.onEnd(error)
    }
  }

  async #bring(lines: readonly string[]): Promise<void> {
    const text = textOf(lines)
    if (this.#handle === undefined || this.#bytes + text.length > this.#mostBytes) return this.#writeAll()
    await this.#handle.appendFile(text)
    await this.#handle.datasync()
    this.#bytes += Buffer.byteLength(text)
  }

  async #writeAll(): Promise<void> {
    const bytes = Buffer.from(textOf(this.#parts.all()))
    await this.#close()
    await writeWhole(this.#path, bytes)
    this.#handle = await open(this.#path, 'a')
    this.#bytes = bytes.length
    this.#mostBytes = Math.max(LEAST_BYTES, 2 * bytes.length)
  }

  async #close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    // What was written is on the disk already; a disk that is broken may refuse to say so.
    await handle?.close().catch((error: unknown) => {
      if (!isDiskError(error)) throw error
    })
  }
}

/** The lines of a journal up to the first that is not as it was written, and whether there is such a one. */
export async function readJournal(path: string): Promise<Written> {
  return readLines(path).catch(tooLong(`read "${path}"`))
}

interface Written {
  readonly lines: string[]
  readonly isDamaged: boolean
}

async function readLines(path: string): Promise<Written> {
  const bytes = await unlessAbsent(readFile(path)).catch(cannot(`read "${path}"`))
  const lines: string[] = []
  // A process that was killed while it wrote leaves a last line without an end: nobody was told that it is there.
  const written = bytes
    ?.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
    .toString('utf8')
    .split('\n') ?? ['']
  written.pop()
  for (const numbered of written) {
    const line = numbered.slice(CHECK_LENGTH + 1)
    if (lineOf(line) !== `${numbered}\n`) return { lines, isDamaged: true }
    lines.push(line)
  }
  return { lines, isDamaged: false }
}

/** For `.catch`: what no string or buffer can hold is refused, as a disk refuses what it has no room for. */
function tooLong(attempt: string): (cause: unknown) => never {
  return (cause) => {
    const isTooLong = cause instanceof RangeError || Object(cause).code === 'ERR_STRING_TOO_LONG'
    if (!isTooLong) throw cause
    throw new SyncError('store-failed', `Cannot ${attempt}: it is too long`, { cause })
  }
}

/** With its checksum: a machine that lost its power may leave a page that was not written between two that were. */
function lineOf(text: string): string {
  return `${crc32(text).toString(16).padStart(CHECK_LENGTH, '0')} ${text}\n`
}

function textOf(lines: Iterable<string>): string {
  let text = ''
  for (const line of lines) text += lineOf(line)
  return text
}

const NEWLINE = 0x0a
const CHECK_LENGTH = 8

/** A file is written anew when it is twice as long as it need be, but not for less than this. */
const LEAST_BYTES = 2 ** 20

const RETRY_MS = 60_000
