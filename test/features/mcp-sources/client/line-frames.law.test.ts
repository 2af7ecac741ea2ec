import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineFrames } from '../../../../src/features/mcp-sources/client/program-channel.ts'

const LIMIT = 40

test('lines come whole however they are cut, and a longer one hides none of its neighbours', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'é', '"', '😀', '}'), maxLength: 30 })
  const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 20 })

  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), cuts, (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
      const whole: string[] = []
      const over: string[] = []
      const frames = new LineFrames(
        LIMIT,
        (text) => whole.push(text),
        (start, end) => over.push(start.slice(0, 1) + end),
      )

      for (const part of cutAt(bytes, cuts)) frames.push(part)

      const isWhole = (text: string) => Buffer.byteLength(text) <= LIMIT
      expect(whole).toEqual(lines.filter(isWhole))
      expect(over).toHaveLength(lines.filter((text) => !isWhole(text)).length)
    }),
  )
})

test('a line that is short, and comes to too much once it is parsed, is told of by its ends', () => {
  const whole: string[] = []
  const over: (readonly [string, string])[] = []
  const frames = new LineFrames(
    1_000,
    (text) => whole.push(text),
    (start, end) => over.push([start, end]),
  )

  frames.push(Buffer.from(`[1]\n{"id":7,"x":[${'{},'.repeat(300)}{}]}\n[2]\n`))

  expect(whole).toEqual(['[1]', '[2]'])
  expect(over).toEqual([[expect.stringMatching(/^\{"id":7,/), expect.stringMatching(/\{\}\]\}$/)]])
})

test('of a line that is too long both ends are told, and the middle is not kept', () => {
  const long = `{"id":7,${'x'.repeat(100_000)},"id":8}`

  fc.assert(
    fc.property(fc.array(fc.nat({ max: long.length }), { maxLength: 20 }), (cuts) => {
      const over: (readonly [string, string])[] = []
      const frames = new LineFrames(
        LIMIT,
        () => {},
        (start, end) => over.push([start, end]),
      )

      for (const part of cutAt(Buffer.from(`${long}\n`), cuts)) frames.push(part)

      const [start = '', end = ''] = over[0] ?? []
      expect(over).toHaveLength(1)
      expect(long.startsWith(start) && start !== '').toBe(true)
      expect(long.endsWith(end) && end !== '').toBe(true)
      expect(start.length + end.length).toBeLessThanOrEqual(512)
    }),
    { numRuns: 50 },
  )
})

function cutAt(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const ends = [...cuts.filter((cut) => cut < bytes.length).toSorted((one, two) => one - two), bytes.length]
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end))
}
