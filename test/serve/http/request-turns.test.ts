import { expect, test } from 'vitest'
import { RequestTurns } from '../../../src/serve/http/request-turns.ts'

test('a holder that asks alone waits for nothing', () => {
  const turns = new RequestTurns(() => 0)

  const waits = Array.from({ length: 100 }, () => turns.begin('ada'))

  expect(waits.filter((wait) => wait !== undefined)).toEqual([])
})

test('of two holders each begins one piece in a turn, however many one of them brings', async () => {
  const turns = new RequestTurns(() => 0)
  const begun: string[] = []
  const ask = async (holder: string): Promise<void> => {
    await turns.begin(holder)
    begun.push(holder)
  }
  await ask('ada')

  const all = [...Array.from({ length: 50 }, () => ask('mallory')), ask('ada'), ask('ada'), ask('ada')]
  await Promise.all(all)

  expect(begun.slice(1, 8).filter((holder) => holder === 'ada')).toHaveLength(3)
  expect(begun).toHaveLength(54)
})

test('a second after another has asked for the last time a holder waits for nothing again', async () => {
  let now = 0
  const turns = new RequestTurns(() => now)
  await turns.begin('mallory')
  await turns.begin('ada')
  const waits = [turns.begin('ada'), turns.begin('ada')]
  for (const wait of waits) await wait

  now = 1_001
  const later = Array.from({ length: 10 }, () => turns.begin('ada'))

  expect(waits.every((wait) => wait !== undefined)).toBe(true)
  expect(later.filter((wait) => wait !== undefined)).toEqual([])
})
