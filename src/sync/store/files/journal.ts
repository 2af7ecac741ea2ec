import { open, readFile, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { SyncError } from '../../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'

/** The dependencies of a journal. */
export interface JournalParts {
  /** Returns the lines for the complete present state; previously appended lines add nothing to them. */
  readonly all: () => Iterable<string>
  /** Throws if writing is not allowed. */
  readonly expectRight?: () => Promise<void>
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs: () => number
  /** Notified after each write, with its failure if there is one. */
  readonly onEnd: (failure: SyncError | undefined) => void
}

/**
 * An append-only file of lines. Lines that are appended during a write go to the disk together in the next one. If the
 * disk fails, a restart loses only the lines since then. As soon as the disk works again, the whole state is rewritten.
 */
export class Journal implements AsyncDisposable {
  readonly #path: string
  readonly #parts: JournalParts
  #queue: string[] = []
  /** The write of the queue: it settles when the lines are on the disk or have failed. */
  #next: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()
  /** `undefined` while the end of the file is uncertain. */
  #handle: FileHandle | undefined
  #bytes = 0
  #mostBytes = 0
  #failedAt: number | undefined
  #isEnded = false

  constructor(path: string, parts: JournalParts) {
    this.#path = path
    this.#parts = parts
  }

  /** Resolves when the line is on the disk, or when it is certain not to get there. */
  async append(line: string): Promise<void> {
    if (this.#isEnded || this.#isWaiting) return
    this.#queue.push(line)
    this.#next ??= this.#inTurn()
    await this.#next
  }

  /** Retries a failed write and closes the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true
    await this.#last
    if (this.#failedAt !== undefined) await this.#write([])
    await this.#close()
  }

  /**
   * True shortly after a failure: no write is tried then, because a caller whose answer depends on the write should not
   * wait.
   */
  get #isWaiting(): boolean {
    return this.#failedAt !== undefined && this.#parts.monotonicMs() - this.#failedAt < RETRY_MS
  }

  async #inTurn(): Promise<void> {
    const turn = this.#writeQueue(this.#last)
    // Only these callers see the failure; the next turn runs regardless.
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
      await this.#parts.expectRight?.()
      await this.#bring(lines).catch(cannot(`write "${this.#path}"`))
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
    const bytes = bytesOf(lines)
    if (this.#handle === undefined || this.#bytes + bytes.length > this.#mostBytes) return this.#writeAll()
    await this.#handle.appendFile(bytes)
    await this.#handle.datasync()
    this.#bytes += bytes.length
  }

  async #writeAll(): Promise<void> {
    const bytes = bytesOf(this.#parts.all())
    if (bytes.length > MOST_SAID_BYTES) {
      throw new SyncError('store-failed', `Cannot write "${this.#path}": it would have over ${MOST_SAID_BYTES} bytes`)
    }
    await this.#close()
    await writeWhole(this.#path, bytes)
    this.#handle = await open(this.#path, 'a')
    this.#bytes = bytes.length
    this.#mostBytes = Math.max(LEAST_BYTES, 2 * bytes.length)
  }

  async #close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    // The data is on the disk already; a broken disk may still fail the close.
    await handle?.close().catch((error: unknown) => {
      if (!isDiskError(error)) throw error
    })
  }
}

/**
 * Reads the lines of a journal up to the first damaged one. `isDamaged` is true if there is such a line. Throws for a
 * file larger than this program writes, without reading it.
 */
export async function readJournal(path: string): Promise<{ readonly lines: string[]; readonly isDamaged: boolean }> {
  const bytes = await readBounded(path).catch(cannot(`read "${path}"`))
  const lines: string[] = []
  // A process that was killed during a write leaves a last line without a newline: no caller was notified of that line.
  for (let start = 0, end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    const line = lineIn(bytes.subarray(start, end))
    if (line === undefined) return { lines, isDamaged: true }
    lines.push(line)
    start = end + 1
  }
  return { lines, isDamaged: false }
}

async function readBounded(path: string): Promise<Buffer> {
  const found = await unlessAbsent(stat(path))
  if (found === undefined) return Buffer.alloc(0)
  if (found.size > 2 * MOST_SAID_BYTES) {
    throw new SyncError('store-failed', `Cannot read "${path}": it is damaged, with over ${2 * MOST_SAID_BYTES} bytes`)
  }
  return readFile(path)
}

/** `undefined` for a damaged line. */
function lineIn(numbered: Buffer): string | undefined {
  const text = numbered.subarray(CHECK_LENGTH + 1)
  if (text.length > MOST_LINE_BYTES) return undefined
  return numbered.toString('latin1', 0, CHECK_LENGTH + 1) === checkOf(text) ? text.toString('utf8') : undefined
}

/** Prefixes the line with its checksum: a power failure may leave an unwritten page between two written ones. */
function lineOf(text: string): string {
  return `${checkOf(text)}${text}\n`
}

function checkOf(text: string | Buffer): string {
  return `${crc32(text).toString(16).padStart(CHECK_LENGTH, '0')} `
}

/** Converts in pieces: all lines together may exceed the maximum length of a string. */
function bytesOf(lines: Iterable<string>): Buffer {
  const pieces: Buffer[] = []
  let text = ''
  for (const line of lines) {
    text += lineOf(line)
    if (text.length < PIECE_LENGTH) continue
    pieces.push(Buffer.from(text))
    text = ''
  }
  return Buffer.concat([...pieces, Buffer.from(text)])
}

const NEWLINE = 0x0a
const CHECK_LENGTH = 8

/** A file is rewritten at twice its needed size, but not below this size. */
const LEAST_BYTES = 2 ** 20

/** The maximum of one rewrite, so that no file exceeds twice this size. */
const MOST_SAID_BYTES = 2 ** 29

/** Longer lines would not fit into a string. */
const MOST_LINE_BYTES = 2 ** 28

const PIECE_LENGTH = 2 ** 20

const RETRY_MS = 60_000
