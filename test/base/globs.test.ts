import { expect, test } from 'vitest'
import { matcher, nameMatcher } from '../../src/base/globs.ts'

test.each(['\n', '\r', '\u2028', '\u2029'])('a line break in a path is a character like others: %j', (line) => {
  const path = `a${line}b/secret${line}c`

  expect(matcher(['**'])(path)).toBe(true)
  expect(matcher(['**/secret*'])(path)).toBe(true)
  expect(matcher(['a*/**'])(path)).toBe(true)
  expect(matcher(['a?b/*'])(path)).toBe(true)
  expect(matcher(['a*'])(path)).toBe(false)
  expect(nameMatcher('*secret*')(path)).toBe(true)
  expect(nameMatcher('secret*')(path)).toBe(false)
})
