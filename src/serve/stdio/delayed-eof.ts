import { Transform } from 'node:stream'

/**
 * What goes in comes out; only its end waits for the work, so long at most. The SDK takes the end of its input for the end of
 * the connection, and drops what is on its way. The work must not reject.
 */
export function endingAfter(work: () => Promise<void>, mostMs: number): Transform {
  return new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush(done) {
      // Whoever reads has the last of it by then, and knows what there is to work on.
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
