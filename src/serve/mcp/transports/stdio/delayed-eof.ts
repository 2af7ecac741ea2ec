import { Transform } from 'node:stream'

/**
 * Passes its input through, but delays the end until the work settles, for at most `mostMs`. The SDK treats the end of
 * its input as the end of the connection, and drops the requests in flight. The work must not reject.
 */
export function endingAfter(work: () => Promise<void>, mostMs: number): Transform {
  return new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush(done) {
      // By then the reader has received the last chunk, and `work` knows which requests are open.
      setImmediate(() => void atMost(mostMs, work(), done))
    },
  })
}

async function atMost(ms: number, work: Promise<void>, done: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  void work.then(resolve)
  await promise
  clearTimeout(timer)
  done()
}
