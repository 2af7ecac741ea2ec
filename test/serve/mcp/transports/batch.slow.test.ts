import { expect, test } from 'vitest'
import { answerBatch } from '../../../../src/serve/mcp/transports/batch.ts'
import type { BatchServer } from '../../../../src/serve/mcp/transports/batch.ts'

const REQUESTS = [1, 2, 3, 4].map((id) => ({ jsonrpc: '2.0', id, method: 'skills/list' }) as const)

test('of a batch whose answer grows too large, each request is told of as it is answered', async () => {
  const large = 'x'.repeat(40 * 2 ** 20)
  const { served, told, unserved, serve } = recorder(async (id) => ({ jsonrpc: '2.0', id, result: { large } }))

  const answers = await answered({ serve, unserved: unserved.add })

  expect(answers.map(({ error }: { error?: { code: number } }) => error?.code)).toEqual([
    undefined,
    -32603,
    -32603,
    -32603,
  ])
  expect(served).toEqual([1, 2])
  expect([told, unserved.told]).toEqual([
    [
      [1, undefined],
      [2, expect.stringContaining('too large')],
    ],
    [
      [3, expect.stringContaining('too large')],
      [4, expect.stringContaining('too large')],
    ],
  ])
})

test('of a batch that nobody waits for any more, each request that is not served is told of', async () => {
  const { served, unserved, serve } = recorder(async (id) => {
    if (id === 2) throw new Error('gone')
    return { jsonrpc: '2.0', id, result: {} }
  })

  await expect(answered({ serve, unserved: unserved.add })).rejects.toThrow('gone')

  expect([served, unserved.told.map(([id]) => id)]).toEqual([
    [1, 2],
    [3, 4],
  ])
})

test('between the requests of a batch the loop turns', async () => {
  const seen: Id[] = []
  const { unserved, serve } = recorder(async (id) => {
    seen.push(id)
    setImmediate(() => seen.push('others'))
    return { jsonrpc: '2.0', id, result: {} }
  })

  await answered({ serve, unserved: unserved.add })

  expect(seen.slice(0, 7)).toEqual([1, 'others', 2, 'others', 3, 'others', 4])
})

test('a client that leaves in the middle of a batch has no more of it served, and each request that is left is told of', async () => {
  const leaving = new AbortController()
  const { served, unserved, serve } = recorder(async (id) => {
    // As a socket closes: in a turn of the loop, and not while a request is answered.
    if (id === 2) setImmediate(() => leaving.abort(new Error('left')))
    return { jsonrpc: '2.0', id, result: {} }
  })

  await expect(answered({ serve, unserved: unserved.add, signal: leaving.signal })).rejects.toThrow('left')

  expect([served, unserved.told]).toEqual([
    [1, 2],
    [
      [3, expect.stringContaining('the client no longer waited')],
      [4, expect.stringContaining('the client no longer waited')],
    ],
  ])
})

test('of a batch whose time is over, the requests that are left are answered with why they are not served', async () => {
  let nowMs = 0
  const { served, unserved, serve } = recorder(async (id) => {
    if (id === 2) nowMs = 30_001
    return { jsonrpc: '2.0', id, result: {} }
  })

  const answers = await answered({ serve, unserved: unserved.add, now: () => nowMs })

  const why = expect.stringContaining('longer than a request may')
  expect(served).toEqual([1, 2])
  expect(answers.slice(2)).toEqual([
    { jsonrpc: '2.0', id: 3, error: { code: -32603, message: why } },
    { jsonrpc: '2.0', id: 4, error: { code: -32603, message: why } },
  ])
  expect(unserved.told).toEqual([
    [3, why],
    [4, why],
  ])
})

interface Answering extends Pick<BatchServer, 'serve' | 'unserved'> {
  readonly now?: () => number
  readonly signal?: AbortSignal
}

async function answered({ serve, unserved, now = () => 0, signal = new AbortController().signal }: Answering) {
  const pieces = await answerBatch(REQUESTS, { serve, unserved }, { batchMs: 30_000, now }, signal)
  return JSON.parse(Buffer.concat(pieces).toString())
}

type Id = string | number
type Serve = BatchServer['serve']
type Answer = Awaited<ReturnType<Serve>>

function recorder(answer: (id: Id) => Promise<Answer>) {
  const served: Id[] = []
  const told: (readonly [id: Id, why: string | undefined])[] = []
  const untold: (readonly [id: Id, why: string])[] = []
  const serve: Serve = async ({ id }, goesOut) => {
    served.push(id)
    const end = goesOut(await answer(id))
    told.push([id, 'error' in end ? end.error.message : undefined])
    return end
  }
  return {
    served,
    told,
    unserved: { told: untold, add: ({ id }: { readonly id: Id }, why: string) => void untold.push([id, why]) },
    serve,
  }
}
