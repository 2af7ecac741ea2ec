import { open, readFile, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { SyncError } from '../../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'

/** What a journal is given to work with. */
export interface JournalParts {
  /** The lines that say at this moment all that is to be remembered: what was appended before adds nothing to them. */
  readonly all: () => Iterable<string>
  /** Throws where nothing may be written. */
  readonly expectRight?: () => Promise<void>
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
    // What was written is on the disk already; a disk that is broken may refuse to say so.
    await handle?.close().catch((error: unknown) => {
      if (!isDiskError(error)) throw error
    })
  }
}

/**
 * The lines of a journal up to the first that is not as it was written, and whether there is such a one. A file that is larger
 * than any of ours is none, and is not looked into.
 */
export async function readJournal(path: string): Promise<{ readonly lines: string[]; readonly isDamaged: boolean }> {
  const bytes = await readBounded(path).catch(cannot(`read "${path}"`))
  const lines: string[] = []
  // A process that was killed while it wrote leaves a last line without an end: nobody was told that it is there.
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

/** Undefined for one that is not as it was written. */
function lineIn(numbered: Buffer): string | undefined {
  const text = numbered.subarray(CHECK_LENGTH + 1)
  if (text.length > MOST_LINE_BYTES) return undefined
  return numbered.toString('latin1', 0, CHECK_LENGTH + 1) === checkOf(text) ? text.toString('utf8') : undefined
}

/** With its checksum: a machine that lost its power may leave a page that was not written between two that were. */
function lineOf(text: string): string {
  return `${checkOf(text)}${text}\n`
}

function checkOf(text: string | Buffer): string {
  return `${crc32(text).toString(16).padStart(CHECK_LENGTH, '0')} `
}

/** All of them in one text could be longer than a text can be. */
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

/** A file is written anew when it is twice as long as it need be, but not for less than this. */
const LEAST_BYTES = 2 ** 20

/** More is not written at once, so that no file has more than twice as much. */
const MOST_SAID_BYTES = 2 ** 29

/** Longer ones could not be held as text. */
const MOST_LINE_BYTES = 2 ** 28

const PIECE_LENGTH = 2 ** 20

const RETRY_MS = 60_000
