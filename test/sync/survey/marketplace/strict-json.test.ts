import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseStrictJson } from '../../../../src/sync/survey/marketplace/strict-json.ts'

test('every JSON object without a repeated key is read as it is', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value)

      expect(parseStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text) })
    }),
  )
})

test('a key that one object has twice is refused at any depth, however it is written', () => {
  const strings = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  fc.assert(
    fc.property(strings, fc.jsonValue(), fc.nat(5), (key, value, depth) => {
      const escaped = `"${escapedText(key)}"`
      const inner = `{${JSON.stringify(key)}: ${JSON.stringify(value)}, ${escaped}: 1}`
      const text = `{"x": ${'['.repeat(depth)}${inner}${']'.repeat(depth)}}`

      expect(parseStrictJson(text)).toMatchObject({ ok: false })
    }),
    { numRuns: 40 },
  )
})

test.each([
  ['a byte order mark', '\uFEFF{}', true],
  ['nesting of 64', `{"a":${'['.repeat(63)}${']'.repeat(63)}}`, true],
  ['deeper nesting', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, false],
  ['nesting that exceeds the stack', `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, false],
  ['a long string of escapes', `{"a":"${String.raw`\"`.repeat(2_000_000)}"}`, true],
  ['equal keys of different objects', '{"a":{"a":1},"b":[{"a":1},{"a":1}]}', true],
  ['a colon in a string', '{"a":":a:","b":"\\":"}', true],
  ['nothing', '', false],
  ['a text', '"x"', false],
])('%s', (_, text, isOk) => {
  expect(parseStrictJson(text).ok).toBe(isOk)
})

/** Each code unit as an escape. */
function escapedText(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
