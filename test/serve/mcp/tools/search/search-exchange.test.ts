import { expect, test } from 'vitest'
import { SearchExchange } from '../../../../../src/serve/mcp/tools/search/search-exchange.ts'
import type { SearchAnswer, SearchQuestion } from '../../../../../src/serve/mcp/tools/search/search-worker.ts'

test('what comes while the thread is asked goes along with the next question, all at once', async () => {
  const thread = new FakeThread()
  const exchange = new SearchExchange(thread.ask)

  const first = exchange.find(FOR_ADA, KEPT)
  const others = [exchange.find(FOR_ADA, KEPT), exchange.find(FOR_ADA, KEPT)]
  thread.answer({ kind: 'searched', unknown: [], ended: [{ id: 1, ids: ['a'] }] })
  expect(await first).toEqual(['a'])
  thread.answer({ kind: 'searched', unknown: [3], ended: [{ id: 2, ids: undefined }] })

  expect(await Promise.all(others)).toEqual(['moved-on', 'unknown'])
  expect(thread.begun).toEqual([[1], [2, 3]])
})

test('a search that is lost is given up in the thread too, and one that has not begun never begins', async () => {
  const thread = new FakeThread()
  const exchange = new SearchExchange(thread.ask)
  const losing = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const

  const begun = exchange.find(FOR_ADA, { ...KEPT, lost: losing[0].promise })
  const coming = exchange.find(FOR_ADA, { ...KEPT, lost: losing[1].promise })
  const kept = exchange.find(FOR_ADA, KEPT)
  for (const { resolve } of losing) resolve()
  expect([await begun, await coming]).toEqual(['lost', 'lost'])
  thread.answer({ kind: 'searched', unknown: [], ended: [] })
  await thread.isAsked
  thread.answer({ kind: 'searched', unknown: [], ended: [{ id: 3, ids: [] }] })

  expect(await kept).toEqual([])
  expect(thread.begun).toEqual([[1], [3]])
  expect(thread.dropped).toEqual([[], [1, 2]])
})

test('a search whose index has changed before it begins is not asked for', async () => {
  const thread = new FakeThread()
  const exchange = new SearchExchange(thread.ask)
  const first = exchange.find(FOR_ADA, KEPT)
  let isCurrent = true

  const second = exchange.find(FOR_ADA, { ...KEPT, isCurrent: () => isCurrent })
  isCurrent = false
  thread.answer({ kind: 'searched', unknown: [], ended: [{ id: 1, ids: [] }] })

  expect([await first, await second]).toEqual([[], 'moved-on'])
  expect(thread.begun[0]).toEqual([1])
  expect(thread.begun.flat()).not.toContain(2)
})

test('where the thread ends, those that had begun have no answer, and those that came since are asked for anew', async () => {
  const thread = new FakeThread()
  const exchange = new SearchExchange(thread.ask)

  const begun = exchange.find(FOR_ADA, KEPT)
  const coming = exchange.find(FOR_ADA, KEPT)
  thread.answer(undefined)
  expect(await begun).toBe('unknown')
  thread.answer({ kind: 'searched', unknown: [], ended: [{ id: 2, ids: ['b'] }] })

  expect(await coming).toEqual(['b'])
})

const FOR_ADA = { index: 1, holder: 'ada', query: { text: 'forms', limit: 5 } }
const KEPT = { isCurrent: () => true, lost: new Promise<void>(() => {}) }

/** Answers when it is told to. */
class FakeThread {
  readonly begun: number[][] = []
  readonly dropped: (readonly number[])[] = []
  #asked = Promise.withResolvers<void>()
  #answer: ((answer: SearchAnswer | undefined) => void) | undefined

  readonly ask = async (question: SearchQuestion): Promise<SearchAnswer | undefined> => {
    if (question.kind !== 'search') throw new TypeError('Nothing else is asked here')
    this.begun.push(question.begin.map(({ id }) => id))
    this.dropped.push(question.drop)
    const { promise, resolve } = Promise.withResolvers<SearchAnswer | undefined>()
    this.#answer = resolve
    this.#asked.resolve()
    return promise
  }

  /** Resolves once it is asked after its last answer. */
  get isAsked(): Promise<void> {
    return this.#asked.promise
  }

  answer(answer: SearchAnswer | undefined): void {
    this.#asked = Promise.withResolvers()
    this.#answer?.(answer)
  }
}
