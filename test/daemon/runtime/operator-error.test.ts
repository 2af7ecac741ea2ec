import { expect, test } from 'vitest'
import { OperatorError, operatorErrorCodeOf } from '../../../src/daemon/runtime/operator-error.ts'

test('a request that contradicts the configuration ends a command with 2, any other failure with 1', () => {
  const statusOf = (code: OperatorError['code']): number => new OperatorError(code, 'Cannot do it').exitStatus

  expect((['other-config', 'unknown-source', 'bad-config', 'needs-restart'] as const).map(statusOf)).toEqual([
    2, 2, 2, 2,
  ])
  expect((['unknown-skill', 'timed-out', 'source-unreachable', 'internal'] as const).map(statusOf)).toEqual([
    1, 1, 1, 1,
  ])
})

test('a code that this version does not have is internal, whatever it is called', () => {
  expect(operatorErrorCodeOf('nothing-to-decide')).toBe('nothing-to-decide')
  expect(operatorErrorCodeOf('rate-limited')).toBe('rate-limited')
  for (const text of ['from-next-year', 'toString', '__proto__', '']) expect(operatorErrorCodeOf(text)).toBe('internal')
})
