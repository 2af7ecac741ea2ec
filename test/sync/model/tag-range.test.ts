import { expect, test } from 'vitest'
import type { TagRange } from '../../../src/sync/model/revision.ts'
import { isOlder } from '../../../src/sync/model/tag-range.ts'

const RANGE = { range: '*', prefix: '', prereleases: false } as TagRange

test('a tag is older than one of a higher version, and not than one of its own version', () => {
  const older = (tag: string, other: string): boolean => isOlder(tag, other, RANGE)

  expect([older('v1.2.0', 'v1.10.0'), older('1.0.0-rc.1', '1.0.0')]).toEqual([true, true])
  expect([older('v1.2.0', '1.2.0'), older('v1.2.0', 'v1.2.0'), older('v2.0.0', 'v1.0.0')]).toEqual([
    false,
    false,
    false,
  ])
  expect([older('main', 'v1.0.0'), older('v1.0.0', 'main')]).toEqual([false, false])
})
