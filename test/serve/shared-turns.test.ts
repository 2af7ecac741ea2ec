import { expect, test } from 'vitest'
import { SharedTurns } from '../../src/serve/shared-turns.ts'

test('a holder that brings one piece of work waits for the one under way, however many that one has brought', async () => {
  const turns = new SharedTurns(100, () => 0)
  const done: string[] = []
  const ask = async (holder: string, name: string): Promise<unknown> =>
    turns.next(turns.place(holder)!, async () => done.push(name))

  await Promise.all([
    ...Array.from({ length: 5 }, (_, index) => ask('mallory', `mallory ${index}`)),
    ask('ada', 'ada 0'),
    ask('ada', 'ada 1'),
  ])

  expect(done).toEqual(['mallory 0', 'ada 0', 'mallory 1', 'ada 1', 'mallory 2', 'mallory 3', 'mallory 4'])
})

test('a holder whose pieces take ten times as long has one done where another has ten', async () => {
  let nowMs = 0
  const turns = new SharedTurns(100, () => nowMs)
  const done: string[] = []
  const ask = async (holder: string, ms: number): Promise<unknown> =>
    turns.next(turns.place(holder)!, async () => {
      nowMs += ms
      done.push(holder)
    })

  await Promise.all([
    ...Array.from({ length: 20 }, () => ask('mallory', 10)),
    ...Array.from({ length: 20 }, () => ask('ada', 1)),
  ])

  const before = done.slice(0, done.lastIndexOf('ada'))
  expect(before.filter((holder) => holder === 'mallory').length).toBeLessThanOrEqual(3)
  expect(done).toHaveLength(40)
})

test('work that comes in pieces lets another have its turn between two of them', async () => {
  let nowMs = 0
  const turns = new SharedTurns(100, () => nowMs)
  const done: string[] = []
  const piece = async (name: string): Promise<void> => {
    nowMs += 5
    done.push(name)
  }
  const long = async (): Promise<void> => {
    const place = turns.place('mallory')!
    for (let step = 0; step < 6; step += 1) await turns.next(place, () => piece('mallory'))
  }

  await Promise.all([long(), turns.next(turns.place('ada')!, () => piece('ada'))])

  expect(done).toEqual(['mallory', 'ada', ...Array.from({ length: 5 }, () => 'mallory')])
})

test('a place that is lost while its work waits has no turn, and who waits for it is told at once', async () => {
  const turns = new SharedTurns(2, () => 0)
  const busy = Promise.withResolvers<void>()
  const [first, second] = [turns.place('mallory')!, turns.place('mallory')!]
  const underWay = turns.next(first, async () => {
    await busy.promise
    return 'done'
  })
  const waits = turns.next(second, async () => 'never')

  turns.place('ada')

  expect(await waits).toBeUndefined()
  busy.resolve()
  expect(await underWay).toBe('done')
})

test('once all places are taken the holder of most loses its youngest to another, and is refused more', async () => {
  const turns = new SharedTurns(3, () => 0)
  const held = [turns.place('mallory')!, turns.place('mallory')!, turns.place('mallory')!]

  const more = turns.place('mallory')
  const ada = turns.place('ada')
  await held[2]!.lost
  const work = turns.next(held[2]!, async () => 'done')

  expect(more).toBeUndefined()
  expect(ada).toBeDefined()
  expect(await work).toBeUndefined()
  expect(await turns.next(held[0]!, async () => 'done')).toBe('done')
})

test('a place that is disposed is there for the next, and work that fails holds up none', async () => {
  const turns = new SharedTurns(1, () => 0)
  const first = turns.place('ada')!
  const failed = turns.next(first, async () => {
    throw new Error('It failed')
  })
  await expect(failed).rejects.toThrow('It failed')

  const refused = turns.place('ada')
  first[Symbol.dispose]()
  const second = turns.place('ada')!

  expect(refused).toBeUndefined()
  expect(await turns.next(second, async () => 'done')).toBe('done')
})
