import { expect, test } from 'vitest'
import { ago } from '../../../src/serve/page/format.ts'

const NOW = new Date('2026-03-20T12:00:00.000Z')

test.each([
  ['2026-03-20T11:59:01.000Z', '59 s ago'],
  ['2026-03-20T11:00:01.000Z', '59 min ago'],
  ['2026-03-18T12:00:01.000Z', '47 h ago'],
  ['2026-03-18T12:00:00.000Z', '2 days ago'],
  ['2026-03-09T12:00:00.000Z', '11 days ago'],
  ['2026-03-20T12:05:00.000Z', 'in 5 min'],
])('%s is %s', (at, text) => {
  expect(ago(at, NOW).html).toBe(`<time datetime="${at}" title="${at}">${text}</time>`)
})
