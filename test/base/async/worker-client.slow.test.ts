import { expect, test } from 'vitest'
import { WorkerClient } from '../../../src/base/async/worker-client.ts'

/** Answers a question with itself, but for those that say what else to do. */
const SCRIPT = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', (question) => {
    if (question === 'spin') for (;;) {}
    if (question === 'throw') throw new Error('a fault')
    if (question === 'eat') { const all = []; for (;;) all.push(new Array(1e5).fill(question + all.length)) }
    parentPort.postMessage(question)
  })
`)}`,
)

test('questions are answered one after another, in their order', async () => {
  await using thread = new WorkerClient<string, string>(SCRIPT, { deadlineMs: 60_000, heapMb: 64, waiting: 8 })

  expect(await Promise.all(['a', 'b', 'c'].map((question) => thread.ask(question)))).toEqual(['a', 'b', 'c'])
})

test.each([
  ['takes too long', 'spin', 200],
  ['fails', 'throw', 60_000],
  ['takes too much', 'eat', 60_000],
])('one that %s has no answer, and those behind it have theirs', async (_, question, deadlineMs) => {
  await using thread = new WorkerClient<string, string>(SCRIPT, { deadlineMs, heapMb: 64, waiting: 8 })

  expect(await thread.ask(question)).toBeUndefined()
  // The thread is started anew, and that alone can take longer than a short deadline.
  const answers = [thread.ask(question), thread.ask(question)]

  expect(await Promise.all(answers)).toEqual([undefined, undefined])
})

test('above so many that wait there is no answer, at once', async () => {
  await using thread = new WorkerClient<string, string>(SCRIPT, { deadlineMs: 60_000, heapMb: 64, waiting: 2 })

  const answers = await Promise.all(['a', 'b', 'c', 'd'].map((question) => thread.ask(question)))

  expect(answers).toEqual(['a', 'b', 'c', undefined])
})

test('whoever waits when it is ended has no answer, nor has who asks after that', async () => {
  const thread = new WorkerClient<string, string>(SCRIPT, { deadlineMs: 60_000, heapMb: 64, waiting: 8 })
  const answers = [thread.ask('spin'), thread.ask('a')]

  await thread[Symbol.asyncDispose]()

  expect(await Promise.all(answers)).toEqual([undefined, undefined])
  expect(await thread.ask('b')).toBeUndefined()
})
