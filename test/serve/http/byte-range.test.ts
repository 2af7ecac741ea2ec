import { expect, test } from 'vitest'
import { partAsked } from '../../../src/serve/http/byte-range.ts'

const ETAG = '"a"'

test.each([
  ['bytes=0-3', { start: 0, end: 4 }],
  ['bytes=9-9', { start: 9, end: 10 }],
  ['bytes=4-', { start: 4, end: 10 }],
  ['bytes=-3', { start: 7, end: 10 }],
  ['bytes=-30', { start: 0, end: 10 }],
  ['bytes=5-5000', { start: 5, end: 10 }],
  [`bytes=0-${'9'.repeat(30)}`, { start: 0, end: 10 }],
  ['bytes=10-', 'none'],
  ['bytes=-0', 'none'],
  [`bytes=${'9'.repeat(30)}-`, 'none'],
  [undefined, 'whole'],
  ['bytes=-', 'whole'],
  ['bytes=4-3', 'whole'],
  ['bytes=0-1,3-4', 'whole'],
  ['bytes=0x1-2', 'whole'],
  ['lines=0-3', 'whole'],
])('the range %s of ten bytes is %j', (range, part) => {
  expect(partAsked({ range }, 10, ETAG)).toEqual(part)
})

test.each([
  [ETAG, { start: 1, end: 3 }],
  ['"b"', 'whole'],
  ['W/"a"', 'whole'],
  ['Fri, 27 Nov 2026 12:00:00 GMT', 'whole'],
])('a range if the body is still %s is %j', (ifRange, part) => {
  expect(partAsked({ range: 'bytes=1-2', 'if-range': ifRange }, 10, ETAG)).toEqual(part)
})

test('nothing of an empty body is a range', () => {
  expect(partAsked({ range: 'bytes=0-' }, 0, ETAG)).toBe('none')
})
