import { expect, test } from 'vitest'
import type { Ref } from '../../../src/sync/git/objects/ref-rules.ts'
import { isObjectId } from '../../../src/sync/model/revision.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { SharedListings } from '../../../src/sync/upstream/shared-listings.ts'

const MAIN = 'refs/heads/main'
const NEXT = 'refs/heads/next'

test('those who asked before a listing began share it, whether they come while it runs or after it', async () => {
  const [listings, host] = [new SharedListings<Ref>(), new Host()]
  const requests = [MAIN, NEXT, MAIN].map((name) => listings.request('team', [name]))

  const first = requests[0]!.list([MAIN], host.list, signal())
  const second = requests[1]!.list([NEXT], host.list, signal())
  host.answer(0, [ref(MAIN), ref(NEXT)])
  const answers = [await first, await second, await requests[2]!.list([MAIN], host.list, signal())]

  expect(host.asked).toEqual([[MAIN, NEXT]])
  for (const answer of answers) expect(answer).toEqual([ref(MAIN), ref(NEXT)])
})

test('who asks while a listing runs gets one that begins later: the running one may miss its commit', async () => {
  const [listings, host] = [new SharedListings<Ref>(), new Host()]
  const early = listings.request('team', [MAIN]).list([MAIN], host.list, signal())

  const late = listings.request('team', [MAIN]).list([MAIN], host.list, signal())
  host.answer(1, [ref(MAIN, 'b')])
  host.answer(0, [ref(MAIN, 'a')])

  expect(await early).toEqual([ref(MAIN, 'a')])
  expect(await late).toEqual([ref(MAIN, 'b')])
})

test('who asked before both of two listings gets the later one', async () => {
  const [listings, host] = [new SharedListings<Ref>(), new Host()]
  const patient = listings.request('team', [MAIN])
  const early = listings.request('team', [MAIN]).list([MAIN], host.list, signal())
  const late = listings.request('team', [MAIN]).list([MAIN], host.list, signal())
  host.answer(0, [ref(MAIN, 'a')])
  host.answer(1, [ref(MAIN, 'b')])
  await Promise.all([early, late])

  expect(await patient.list([MAIN], host.list, signal())).toEqual([ref(MAIN, 'b')])
  expect(host.asked).toHaveLength(2)
})

test('an error reaches all who asked before the listing began, and nobody after', async () => {
  const [listings, host] = [new SharedListings<Ref>(), new Host()]
  const requests = [1, 2, 3].map(() => listings.request('team', [MAIN]))
  const down = new SyncError('source-unreachable', 'Cannot reach "team"')

  const waiting = [requests[0]!, requests[1]!].map((request) => request.list([MAIN], host.list, signal()))
  host.fail(0, down)
  for (const end of waiting) await expect(end).rejects.toBe(down)
  await expect(requests[2]!.list([MAIN], host.list, signal())).rejects.toBe(down)
  const after = listings.request('team', [MAIN]).list([MAIN], host.list, signal())
  host.answer(1, [ref(MAIN)])

  expect(await after).toEqual([ref(MAIN)])
  expect(host.asked).toHaveLength(2)
})

test('one who goes does not end the listing of the others; when the last one goes it is given up', async () => {
  const [listings, host] = [new SharedListings<Ref>(), new Host()]
  const requests = [1, 2, 3].map(() => listings.request('team', [MAIN]))
  const [first, second] = [new AbortController(), new AbortController()]
  const left = requests[0]!.list([MAIN], host.list, first.signal)
  const stayed = requests[1]!.list([MAIN], host.list, second.signal)

  first.abort(new Error('first'))
  await expect(left).rejects.toThrow('first')
  expect(host.signals[0]?.aborted).toBe(false)
  second.abort(new Error('second'))
  await expect(stayed).rejects.toThrow('second')

  expect(host.signals[0]?.aborted).toBe(true)
  const third = requests[2]!.list([MAIN], host.list, signal())
  host.answer(1, [ref(MAIN)])
  expect(await third).toEqual([ref(MAIN)])
})

test('another key, and a ref that the others did not ask for, is another listing', async () => {
  const [listings, host] = [new SharedListings<Ref>(), new Host()]
  const requests = ['team', 'more', 'team'].map((key) => listings.request(key, [MAIN]))
  const wanted = [[MAIN], [MAIN], [NEXT]]

  const ends = requests.map((request, index) => request.list(wanted[index]!, host.list, signal()))
  for (const index of [0, 1, 2]) host.answer(index, [])
  await Promise.all(ends)

  expect(host.asked).toEqual([[MAIN], [MAIN], [NEXT, MAIN]])
})

test('those who are gone are asked for no more, and nothing of their listing is kept', async () => {
  const [listings, host] = [new SharedListings<Ref>(), new Host()]
  {
    using gone = listings.request('team', [NEXT])
    const end = gone.list([NEXT], host.list, signal())
    host.answer(0, [])
    await end
  }

  const end = listings.request('team', [MAIN]).list([MAIN], host.list, signal())
  host.answer(1, [])
  await end

  expect(host.asked).toEqual([[NEXT], [MAIN]])
})

/** A host whose answers are in the test's hands. */
class Host {
  readonly asked: (readonly string[])[] = []
  readonly signals: AbortSignal[] = []
  readonly #answers: PromiseWithResolvers<readonly Ref[]>[] = []

  readonly list = (names: readonly string[], until: AbortSignal): Promise<readonly Ref[]> => {
    const answer = Promise.withResolvers<readonly Ref[]>()
    this.asked.push(names)
    this.signals.push(until)
    this.#answers.push(answer)
    return answer.promise
  }

  answer(index: number, refs: readonly Ref[]): void {
    this.#answers[index]!.resolve(refs)
  }

  fail(index: number, error: Error): void {
    this.#answers[index]!.reject(error)
  }
}

function ref(name: string, digit = 'a'): Ref {
  const id = digit.repeat(40)
  if (!isObjectId(id)) throw new TypeError(`"${id}" is no object id`)
  return { name, id }
}

function signal(): AbortSignal {
  return new AbortController().signal
}
