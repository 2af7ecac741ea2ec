import { expect, test } from 'vitest'
import { expositionOf } from '../../../../src/daemon/status/metrics/metrics.ts'
import { ServingCounts } from '../../../../src/daemon/status/metrics/serving-counts.ts'
import { methodsOf } from '../../../../src/serve/mcp/core/methods.ts'
import { METERED_METHODS, meteredMethod } from '../../../../src/serve/meter.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { Figures } from '../../../support/http/prometheus.ts'

function figuresOf(counts: ServingCounts): Figures {
  return new Figures(expositionOf(counts.families(), 'prometheus'))
}

test('whatever clients call a method, there are as many numbers as methods of ours and one more', () => {
  const counts = new ServingCounts()
  const hostile = [
    'x',
    '',
    '__proto__',
    'constructor',
    '"\n',
    ...Array.from({ length: 10_000 }, (_, index) => `m${index}`),
  ]

  for (const method of hostile) counts.message(meteredMethod(method), 'error', 1)

  const figures = figuresOf(counts)
  expect(figures.value('skillsyncd_mcp_requests_total', { method: 'other', result: 'error' })).toBe(hostile.length)
  expect(figures.samples('skillsyncd_mcp_requests_total')).toHaveLength(4 * METERED_METHODS.length)
  expect(figures.samples('skillsyncd_mcp_request_duration_seconds_count')).toHaveLength(1)
})

test('every method that is answered for is told apart', () => {
  const serving = {
    registry: new Registry(),
    read: async () => new Uint8Array(),
    pages: { entries: 1, bytes: 1 },
    cache: { ttlMs: 1, cacheScope: 'public' as const },
    forms: formsOf(),
  }

  expect(Object.keys(methodsOf(serving)).filter((method) => meteredMethod(method) === 'other')).toEqual([])
})

test('what was turned away and what nobody waited for is counted, and says nothing of how long answers take', () => {
  const counts = new ServingCounts()

  counts.message('skills/list', 'ok', 1)
  counts.message('skills/list', 'refused')
  counts.message('skills/list', 'left', 30_000)

  const figures = figuresOf(counts)
  const took = (part: string) =>
    figures.value(`skillsyncd_mcp_request_duration_seconds_${part}`, { method: 'skills/list' })
  expect([took('count'), took('sum')]).toEqual([1, 0.001])
  expect(figures.value('skillsyncd_mcp_requests_total', { method: 'skills/list', result: 'left' })).toBe(1)
})
