import { expect, test } from 'vitest'
import { SharedTurns } from '../../src/serve/shared-turns.ts'

test('a holder that brings one piece of work waits for one of another, however many that one has brought', async () => {
  const turns = new SharedTurns(100)
  const done: string[] = []
  const ask = async (holder: string, name: string): Promise<unknown> =>
    turns.next(turns.place(holder)!, async () => done.push(name))

  await Promise.all([
    ...Array.from({ length: 5 }, (_, index) => ask('mallory', `mallory ${index}`)),
    ask('ada', 'ada 0'),
    ask('ada', 'ada 1'),
  ])

  expect(done).toEqual(['mallory 0', 'mallory 1', 'ada 0', 'mallory 2', 'ada 1', 'mallory 3', 'mallory 4'])
})

test('once all places are taken the holder of most loses its youngest to another, and is refused more', async () => {
  const turns = new SharedTurns(3)
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
  const turns = new SharedTurns(1)
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
