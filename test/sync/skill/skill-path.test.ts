import { expect, test } from 'vitest'
import { formProblem } from '../../../src/sync/skill/skill-path.ts'

const LIMITS = { segmentBytes: 4, pathBytes: 14, depth: 4 }

test.each([
  ['segment', 'éé', 'ééa', 'has a segment longer than 4 bytes'],
  ['path', 'abcd/efgh/ijkl', 'abcd/efgh/ij/kl', 'is longer than 14 bytes'],
  ['depth', 'a/b/c/d', 'a/b/c/d/e', 'is deeper than 4 segments'],
])('a %s may be as long as its limit, and no longer', (_what, allowed, refused, message) => {
  expect(formProblem(allowed, LIMITS)).toBeUndefined()
  expect(formProblem(refused, LIMITS)).toBe(message)
})
