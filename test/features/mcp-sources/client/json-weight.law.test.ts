import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonWeight, jsonWeightOf } from '../../../../src/features/mcp-sources/client/json-weight.ts'

test('JSON weighs its bytes, or 32 for each value that it opens or separates; however it is cut and laid out', () => {
  const indents = fc.constantFrom(undefined, 2)
  fc.assert(
    fc.property(fc.jsonValue(), indents, fc.integer({ min: 1, max: 7 }), (value, indent, size) => {
      const text = Buffer.from(JSON.stringify(value, undefined, indent))
      const weight = new JsonWeight()

      for (let at = 0; at < text.length; at += size) weight.add(text.subarray(at, at + size))

      expect(weight.total).toBe(Math.max(text.length, 32 * marksIn(value)))
    }),
  )
})

test('nothing that stands on a line before hides what a line of events has', () => {
  const hidden = Buffer.from(`: "\ndata: [${'{},'.repeat(1000)}{}]\n\n`)

  expect(jsonWeightOf(hidden)).toBeGreaterThan(32 * 2000)
})

/** The braces and brackets that open something, and the commas between values. */
function marksIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value)
  return 1 + Math.max(0, inner.length - 1) + inner.reduce((sum: number, one) => sum + marksIn(one), 0)
}
