import { expect, test } from 'vitest'
import { statusLine } from '../../../src/daemon/status/status-reader.ts'
import type { DaemonStanding } from '../../../src/daemon/status/status-reader.ts'
import { isSourceId } from '../../../src/sync/model/source-id.ts'

test('while all is well it says what is served', () => {
  expect(statusLine(standing({ a: {}, b: {} }))).toBe('1 skill of 2 sources, generation 7')
})

test('of sources that fail it names the one that has failed longest, and no message of anybody', () => {
  const failed = (lastSuccess: string | undefined) => ({
    condition: { code: 'source-unreachable' as const, message: 'a secret\nof two lines' },
    lastSuccess,
  })
  const some = { a: failed('2026-06-02T00:00:00Z'), b: {}, c: failed('2026-06-01T00:00:00Z') }

  expect(statusLine(standing(some))).toBe(
    '1 skill of 3 sources, generation 7; 2 with a condition, longest "c": source-unreachable, last success 2026-06-01T00:00:00Z',
  )
  expect(statusLine(standing({ ...some, d: failed(undefined) }))).toMatch(
    /; 3 with a condition, longest "d": source-unreachable, never succeeded$/,
  )
})

function standing(records: Readonly<Record<string, Partial<ReturnType<DaemonStanding['recordOf']>>>>): DaemonStanding {
  const recordOf = (id: string) => ({ condition: undefined, lastSuccess: undefined, ...records[id] })
  return { generation: 7, skills: 1, sources: Object.keys(records).filter(isSourceId), recordOf }
}
