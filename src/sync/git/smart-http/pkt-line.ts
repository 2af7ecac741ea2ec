import { MOST_LINE_BYTES } from '../../../base/pkt-line.ts'
import { printable } from '../../../base/text/printable.ts'
import { SyncError } from '../../model/sync-error.ts'

/** One line of git's wire protocol, or one of its markers, which have no content. */
export type Packet = Uint8Array | 'flush' | 'delimiter' | 'end'

/** Parses the lines of an answer as they arrive. */
export async function* packets(body: AsyncIterable<Uint8Array>): AsyncGenerator<Packet> {
  let pending: Buffer = Buffer.alloc(0)
  for await (const chunk of body) {
    // The rest is always shorter than one packet (64 KiB), so the concatenation stays linear.
    pending = pending.length === 0 ? asBuffer(chunk) : Buffer.concat([pending, chunk])
    let at = 0
    while (pending.length - at >= 4) {
      const length = readLength(pending, at)
      if (pending.length - at < Math.max(length, 4)) break
      yield length < 4 ? markOf(length) : pending.subarray(at + 4, at + length)
      at += Math.max(length, 4)
    }
    pending = pending.subarray(at)
  }
}

/**
 * Passes an answer on and checks it meanwhile. A truncated one throws at its end, even if it ends between two lines. A
 * reported failure throws a `ServerRefusedError` at once. `what` starts the message.
 */
export async function* guardAnswer(body: AsyncIterable<Uint8Array>, what: string): AsyncGenerator<Uint8Array> {
  const guard = new Guard(what)
  for await (const chunk of body) {
    guard.feed(asBuffer(chunk))
    yield chunk
  }
  guard.end()
}

/** The server understood the request and refuses it, with its own message. */
export class ServerRefusedError extends SyncError {
  readonly said: string

  constructor(what: string, said: string) {
    super('source-unreachable', `${what}: the server says "${said}"`)
    this.said = said
  }
}

/** Follows the frames without keeping what they carry. */
class Guard {
  readonly #what: string
  #head = ''
  /** The remaining bytes of the present line. */
  #left = 0
  /** The start of the present line. */
  #start = ''
  #endsOnFlush = false
  #flushes = 0
  #flushesNeeded = 1

  constructor(what: string) {
    this.#what = what
  }

  feed(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) at += this.#left > 0 ? this.#payload(chunk, at) : this.#length(chunk, at)
  }

  end(): void {
    if (this.#left > 0 || this.#head !== '' || !this.#endsOnFlush || this.#flushes < this.#flushesNeeded) {
      throw new SyncError('source-unreachable', `${this.#what}: the answer was cut off`)
    }
  }

  #length(chunk: Buffer, at: number): number {
    const taken = Math.min(4 - this.#head.length, chunk.length - at)
    this.#head += chunk.toString('latin1', at, at + taken)
    if (this.#head.length < 4) return taken
    const length = readLength(Buffer.from(this.#head, 'latin1'), 0)
    this.#head = ''
    this.#endsOnFlush = length === 0
    if (length === 0) this.#flushes += 1
    this.#left = Math.max(length - 4, 0)
    this.#start = ''
    return taken
  }

  #payload(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#left, chunk.length - at)
    const missing = SAID_LIMIT - this.#start.length
    if (missing > 0) this.#start += chunk.toString('latin1', at, at + Math.min(taken, missing))
    this.#left -= taken
    if (this.#left === 0) this.#judge()
    return taken
  }

  #judge(): void {
    // Band 3 of a pack is a fatal error.
    const mark = ['\u0003', 'ERR '].find((mark) => this.#start.startsWith(mark))
    if (mark !== undefined) {
      const said = Buffer.from(this.#start.slice(mark.length), 'latin1').toString('utf8')
      throw new ServerRefusedError(this.#what, printable(said))
    }
    // A flush ends the service name, so the first flush is not the end yet.
    if (this.#start.startsWith('# service=')) this.#flushesNeeded = 2
  }
}

const SAID_LIMIT = 300

function readLength(bytes: Buffer, at: number): number {
  const digits = bytes.toString('latin1', at, at + 4)
  const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 3
  if (length === 3 || length > MOST_LINE_BYTES) {
    throw new SyncError('source-unreachable', 'Cannot read the answer: it is not in the frames of git')
  }
  return length
}

function markOf(length: number): 'flush' | 'delimiter' | 'end' {
  if (length === 0) return 'flush'
  return length === 1 ? 'delimiter' : 'end'
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
