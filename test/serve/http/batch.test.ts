import { expect, test } from 'vitest'
import { answerBatch } from '../../../src/serve/http/batch.ts'

const REQUESTS = [1, 2, 3, 4].map((id) => ({ jsonrpc: '2.0', id, method: 'skills/list' }) as const)

test('of a batch whose answer grows too large, each request that is not served is told of', async () => {
  const large = 'x'.repeat(40 * 2 ** 20)
  const { served, unserved, serve } = recorder(async (id) => ({ jsonrpc: '2.0', id, result: { large } }))

  const answers = JSON.parse(await answerBatch(REQUESTS, { serve, unserved: unserved.add }))

  expect(answers.map(({ error }: { error?: { code: number } }) => error?.code)).toEqual([
    undefined,
    -32603,
    -32603,
    -32603,
  ])
  expect([served, unserved.told]).toEqual([
    [1, 2],
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

type Answer = Awaited<ReturnType<Parameters<typeof answerBatch>[1]['serve']>>

function recorder(answer: (id: string | number) => Promise<Answer>) {
  const served: (string | number)[] = []
  const told: (readonly [id: string | number, why: string])[] = []
  return {
    served,
    unserved: { told, add: ({ id }: { readonly id: string | number }, why: string) => void told.push([id, why]) },
    serve: async ({ id }: { readonly id: string | number }): Promise<Answer> => {
      served.push(id)
      return answer(id)
    },
  }
}
