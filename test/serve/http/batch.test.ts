import { expect, test } from 'vitest'
import { answerBatch } from '../../../src/serve/http/batch.ts'

const REQUESTS = [1, 2, 3, 4].map((id) => ({ jsonrpc: '2.0', id, method: 'skills/list' }) as const)

test('of a batch whose answer grows too large, each request is told of as it is answered', async () => {
  const large = 'x'.repeat(40 * 2 ** 20)
  const { served, told, unserved, serve } = recorder(async (id) => ({ jsonrpc: '2.0', id, result: { large } }))

  const answers = JSON.parse(await answerBatch(REQUESTS, { serve, unserved: unserved.add }))

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

  await expect(answerBatch(REQUESTS, { serve, unserved: unserved.add })).rejects.toThrow('gone')

  expect([served, unserved.told.map(([id]) => id)]).toEqual([
    [1, 2],
    [3, 4],
  ])
})

type Id = string | number
type Serve = Parameters<typeof answerBatch>[1]['serve']
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
