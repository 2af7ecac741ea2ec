import { Transform } from 'node:stream'

const [LINE_END, BATCH_START] = [0x0a, 0x5b]

/**
 * Passes lines through, and those that are a batch as a line for each message. A server of revision 2025-03-26 must
 * receive batches, and the SDK does not; each message is answered by itself. A batch of over `mostBytes` passes as it
 * is.
 */
export function withoutBatches(mostBytes: number): Transform {
  /** The line of a batch so far; `undefined` outside of one. */
  let batch: Buffer | undefined
  let isAtStart = true
  function* linesOf(chunk: Buffer): Generator<Buffer> {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(LINE_END, from) + 1 || chunk.length
      const part = chunk.subarray(from, end)
      if (isAtStart && part[0] === BATCH_START) batch = Buffer.alloc(0)
      isAtStart = part.at(-1) === LINE_END
      from = end
      if (batch === undefined) yield part
      else {
        batch = Buffer.concat([batch, part])
        if (!isAtStart && batch.length <= mostBytes) continue
        yield isAtStart ? messagesOf(batch) : batch
        batch = undefined
      }
    }
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const line of linesOf(chunk)) this.push(line)
      done()
    },
    flush: (done) => done(null, batch),
  })
}

/** A line for each message of a batch; the same bytes if they are none. */
function messagesOf(line: Buffer): Buffer {
  try {
    const batch: unknown = JSON.parse(line.toString('utf8'))
    if (!Array.isArray(batch) || batch.length === 0) return line
    return Buffer.from(batch.map((message) => `${JSON.stringify(message)}\n`).join(''))
  } catch {
    return line
  }
}
