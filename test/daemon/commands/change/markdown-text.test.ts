import { expect, test } from 'vitest'
import { codeSpan } from '../../../../src/daemon/commands/change/pull-request-text.ts'

test.each([
  ['plain', '`plain`'],
  ['a `b` c', '``a `b` c``'],
  ['`', '`` ` ``'],
  ['', '(empty)'],
  ['\n@user', '`\\u{a}@user`'],
  ['a\u200Bb', '`a\\u{200b}b`'],
])('%j is %j', (text, span) => {
  expect(codeSpan(text)).toBe(span)
})

test('a text is cut where its escapes are too long, and never within one', () => {
  const span = codeSpan('\u{E0041}'.repeat(200))

  expect(span.length).toBeLessThanOrEqual(303)
  expect(span).toMatch(/^`(?:\\u\{e0041\})+…`$/)
})
