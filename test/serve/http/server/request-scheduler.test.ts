import { expect, test } from 'vitest'
import { RequestScheduler } from '../../../../src/serve/http/server/request-scheduler.ts'

test('a holder that asks alone waits for nothing', () => {
  const turns = new RequestScheduler(() => 0)

  const waits = Array.from({ length: 100 }, () => turns.begin('ada', WANTED))

  expect(waits.filter((wait) => wait !== undefined)).toEqual([])
})

test('of two holders whose pieces take as long each begins as many, however many one of them brings', async () => {
  const scene = new Scene()
  await scene.ask('ada')

  await Promise.all([...Array.from({ length: 50 }, () => scene.ask('mallory')), ...three(() => scene.ask('ada'))])

  expect(scene.begun.slice(1, 8).filter((holder) => holder === 'ada')).toHaveLength(3)
  expect(scene.begun).toHaveLength(54)
})

test('a holder whose pieces take fifty times as long begins one where another begins fifty', async () => {
  const scene = new Scene()
  await scene.ask('mallory', 50)

  await Promise.all([
    ...Array.from({ length: 10 }, () => scene.ask('mallory', 50)),
    ...Array.from({ length: 100 }, () => scene.ask('ada', 1)),
  ])

  const ofAda = scene.begun.lastIndexOf('ada')
  expect(scene.begun.slice(1, ofAda).filter((holder) => holder === 'mallory').length).toBeLessThanOrEqual(3)
})

test('one that comes while another floods waits for one piece of it at most', async () => {
  const scene = new Scene()
  await scene.ask('ada')
  const flood = Array.from({ length: 200 }, () => scene.ask('mallory', 8))

  for (let count = 0; count < 20; count += 1) {
    const before = scene.begun.length
    await scene.ask('ada', 1)
    expect(scene.begun.slice(before).filter((holder) => holder === 'mallory').length).toBeLessThanOrEqual(1)
  }

  await Promise.all(flood)
  expect(scene.begun).toHaveLength(221)
})

test('what goes on comes before what begins, and both count for the same holder', async () => {
  const scene = new Scene()
  await scene.ask('ada')
  const order: string[] = []
  const begin = async (name: string): Promise<void> => {
    await scene.turns.begin('mallory', WANTED)
    order.push(name)
  }
  const all = [begin('first'), begin('second')]

  const going = Promise.resolve(scene.turns.goOn('mallory', WANTED)).then(() => order.push('goes on'))
  await Promise.all([...all, going])

  expect(order).toEqual(['goes on', 'first', 'second'])
})

test('one that is given up while it waits gives its place to the next, and what waits for it goes on', async () => {
  const scene = new Scene()
  await scene.ask('ada')
  await scene.ask('mallory')
  const leaving = new AbortController()
  const gone = Array.from({ length: 50 }, () => scene.turns.begin('mallory', () => leaving.signal))
  const stays = scene.ask('mallory')
  const turns = scene.countTurns()

  leaving.abort()
  await Promise.all([...gone, stays])

  expect(turns.count()).toBeLessThanOrEqual(2)
  expect(scene.turns.begin('mallory', () => leaving.signal)).toBeUndefined()
})

test('a holder alone whose pieces fill a turn of the loop lets one that comes meanwhile in after a few of them', async () => {
  const scene = new Scene()

  const flood: Promise<void>[] = []
  for (let count = 0; count < 100; count += 1) {
    flood.push(scene.ask('mallory', 5))
    await Promise.resolve()
  }
  const before = scene.begun.length
  const comes = new Promise<void>((resolve) => setImmediate(() => void scene.ask('ada').then(resolve)))
  await comes

  expect(before).toBeLessThanOrEqual(2)
  expect(scene.begun.length).toBeLessThanOrEqual(2 + 4 + 2)
  await Promise.all(flood)
  expect(scene.begun).toHaveLength(101)
})

test('what requests take before their turn counts for those that they come from', async () => {
  const scene = new Scene()
  await scene.ask('ada')
  await scene.ask('mallory')
  const all = ['ada', 'mallory'].flatMap((holder) => Array.from({ length: 1_000 }, () => scene.ask(holder)))

  for (let round = 0; round < 20; round += 1) {
    scene.nowMs += 500
    all.push(scene.ask('mallory'))
    // Timers come in another phase of the loop than turns.
    await new Promise((resolve) => setTimeout(resolve))
  }
  await Promise.all(all)

  const untilAda = scene.begun.slice(0, scene.begun.lastIndexOf('ada'))
  expect(untilAda.filter((holder) => holder === 'mallory').length).toBeLessThan(500)
})

test('a second after another has asked for the last time a holder waits for nothing again', async () => {
  const scene = new Scene()
  await scene.ask('mallory')
  await scene.ask('ada')
  const waits = [scene.turns.begin('ada', WANTED), scene.turns.begin('ada', WANTED)]
  for (const wait of waits) await wait

  scene.nowMs += 1_001
  const later = Array.from({ length: 10 }, () => scene.turns.begin('ada', WANTED))

  expect(waits.every((wait) => wait !== undefined)).toBe(true)
  expect(later.filter((wait) => wait !== undefined)).toEqual([])
})

const WANTED = (): AbortSignal => new AbortController().signal

function three<Made>(make: () => Made): Made[] {
  return [make(), make(), make()]
}

/** Pieces that take as long as they say, on a clock that nothing else moves. */
class Scene {
  nowMs = 0
  readonly turns = new RequestScheduler(() => this.nowMs)
  readonly begun: string[] = []

  async ask(holder: string, ms = 1): Promise<void> {
    await this.turns.begin(holder, WANTED)
    this.begun.push(holder)
    this.nowMs += ms
  }

  /** Turns of the loop from here on. */
  countTurns(): { count(): number } {
    let count = 0
    const next = (): void => void setImmediate(() => ((count += 1), next())).unref()
    next()
    return { count: () => count }
  }
}
