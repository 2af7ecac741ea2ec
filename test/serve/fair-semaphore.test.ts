import { expect, test } from 'vitest'
import { FairSemaphore } from '../../src/serve/fair-semaphore.ts'

test('once all places are taken the holder of most loses its youngest to another, and is refused more', async () => {
  const places = new FairSemaphore(3)
  const held = [places.place('mallory')!, places.place('mallory')!, places.place('mallory')!]
  const lost: number[] = []
  for (const [index, place] of held.entries()) void place.lost.then(() => lost.push(index))

  const more = places.place('mallory')
  const ada = places.place('ada')
  await held[2]!.lost

  expect([more, lost]).toEqual([undefined, [2]])
  expect(ada).toBeDefined()
})

test('a place that is disposed is there for the next', () => {
  const places = new FairSemaphore(1)
  const first = places.place('ada')!

  const refused = places.place('ada')
  first[Symbol.dispose]()

  expect(refused).toBeUndefined()
  expect(places.place('ada')).toBeDefined()
})
