import { expect, test } from 'vitest'
import { FairScheduler } from '../../src/serve/fair-scheduler.ts'

test('holders that always have work get equal times, whatever one piece of each takes', () => {
  const desk = new Desk({ mallory: 50, ada: 1, bob: 3 })
  for (let count = 0; count < 1_000; count += 1) for (const holder of ['mallory', 'ada', 'bob']) desk.wait(holder)

  desk.serve(600)

  expect([desk.servedMs('mallory'), desk.servedMs('ada'), desk.servedMs('bob')]).toEqual([
    expect.closeTo(200, -2),
    expect.closeTo(200, -2),
    expect.closeTo(200, -2),
  ])
})

test('a holder that comes waits for the piece under way alone, however many another has waiting and however long they take', () => {
  const desk = new Desk({ mallory: 50, ada: 1 })
  for (let count = 0; count < 1_000; count += 1) desk.wait('mallory')

  for (let round = 0; round < 100; round += 1) {
    desk.serveOne()
    desk.wait('ada')
    expect(desk.serveOne()).toBe('ada')
  }
})

test('a holder that was idle has saved nothing up: from then on it gets no more than the others', () => {
  const desk = new Desk({ mallory: 10, ada: 10 })
  for (let count = 0; count < 1_000; count += 1) desk.wait('mallory')
  desk.wait('ada')
  desk.serve(5_000)

  for (let count = 0; count < 100; count += 1) desk.wait('ada')
  const next = Array.from({ length: 20 }, () => desk.serveOne())

  expect(next.filter((holder) => holder === 'ada')).toHaveLength(10)
})

test('a holder that has just had a long piece comes after the others until they have had as much', () => {
  const desk = new Desk({ mallory: 50, ada: 1 })
  desk.wait('ada')
  desk.wait('mallory')
  while (desk.serveOne() !== 'mallory') desk.wait('ada')
  for (let count = 0; count < 100; count += 1) desk.wait('ada')
  desk.wait('mallory')

  const next = Array.from({ length: 40 }, () => desk.serveOne())

  expect(next).not.toContain('mallory')
})

test('holders that come anew all the time keep none that waits from its turn', () => {
  const desk = new Desk({ ada: 10 })
  desk.wait('ada')
  desk.wait('ada')
  desk.wait('stranger 0')
  desk.serveOne()

  let served: string | undefined
  let count = 1
  for (; served !== 'ada' && count < 1_000; count += 1) {
    desk.wait(`stranger ${count}`)
    served = desk.serveOne()
  }

  expect(count).toBeLessThan(30)
})

test('pieces of one holder come in their order, those that go on before those that begin', () => {
  const turns = new FairScheduler<string>()
  turns.wait('ada', 'first')
  turns.wait('ada', 'second')
  turns.wait('ada', 'goes on', true)

  expect([1, 2, 3, 4].map(() => turns.next()?.piece)).toEqual(['goes on', 'first', 'second', undefined])
})

test('a piece that is taken away leaves its place to the next, and is charged to none', () => {
  const turns = new FairScheduler<string>()
  for (const piece of ['first', 'second']) turns.wait('ada', piece)

  turns.leave('ada', 'first')
  turns.leave('ada', 'first')

  expect(turns.size).toBe(1)
  expect(turns.next()).toEqual({ holder: 'ada', piece: 'second' })
  expect([turns.size, turns.next()]).toEqual([0, undefined])
})

test('of a hundred thousand holders that came once a bounded number is remembered', () => {
  const desk = new Desk({ mallory: 1 })
  let most = 0
  for (let count = 0; count < 100_000; count += 1) {
    desk.wait('mallory')
    desk.wait(`stranger ${count}`)
    desk.serveOne()
    desk.serveOne()
    most = Math.max(most, desk.turns.holders)
  }

  expect(most).toBeLessThanOrEqual(2_048)
})

/** Serves what waits, each piece of a holder in its own time. */
class Desk {
  readonly turns = new FairScheduler<string>()
  readonly #takes: Readonly<Record<string, number>>
  readonly #served = new Map<string, number>()
  #count = 0

  constructor(takes: Readonly<Record<string, number>>) {
    this.#takes = takes
  }

  wait(holder: string): void {
    this.#count += 1
    this.turns.wait(holder, `${holder} ${this.#count}`)
  }

  serveOne(): string | undefined {
    const next = this.turns.next()
    if (next === undefined) return undefined
    const ms = this.#takes[next.holder] ?? 1
    this.#served.set(next.holder, this.servedMs(next.holder) + ms)
    this.turns.spend(next.holder, ms)
    return next.holder
  }

  serve(ms: number): void {
    const sum = (): number => [...this.#served.values()].reduce((all, one) => all + one, 0)
    while (sum() < ms && this.serveOne() !== undefined);
  }

  servedMs(holder: string): number {
    return this.#served.get(holder) ?? 0
  }
}
