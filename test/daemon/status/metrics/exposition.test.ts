import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Family } from '../../../../src/daemon/status/metrics/family.ts'
import { expositionOf } from '../../../../src/daemon/status/metrics/metrics.ts'
import { Latency } from '../../../../src/daemon/status/metrics/serving-counts.ts'
import { Figures, numberOf, promtool } from '../../../support/http/prometheus.ts'

const LABELLED: Family = {
  name: 'x_total',
  kind: 'counter',
  help: 'Back\\slash and\nline.',
  samples: [{ labels: { source: 'team', code: undefined, path: 'a"b\\c\nd' }, value: 2.5 }],
}

test('the form of Prometheus has a line each for help, type and sample, and leaves out labels without a value', () => {
  const text = expositionOf([LABELLED], 'prometheus')

  expect(text).toBe(
    String.raw`# HELP x_total Back\\slash and\nline.
# TYPE x_total counter
x_total{source="team",path="a\"b\\c\nd"} 2.5
`,
  )
})

test('OpenMetrics calls a counter without its ending, and says that it is at its end', () => {
  const text = expositionOf([LABELLED], 'openmetrics')

  expect(text.split('\n').slice(1)).toEqual([
    '# TYPE x counter',
    String.raw`x_total{source="team",path="a\"b\\c\nd"} 2.5`,
    '# EOF',
    '',
  ])
})

test('what stands in labels and in numbers is what a reader of others finds', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.string(),
          fc.double({ noNaN: true }).map((value) => value + 0),
        ),
      ),
      (pairs) => {
        const samples = pairs.map(([text, value], index) => ({ labels: { index: String(index), text }, value }))
        const page = expositionOf([{ name: 'x', kind: 'gauge', help: 'h', samples }], 'prometheus')

        const found = samples.length === 0 ? [] : new Figures(page).samples('x')

        expect(found.map(({ labels = {}, value }) => [labels['text'], numberOf(value)])).toEqual(pairs)
      },
    ),
  )
})

test('a histogram adds up: each bucket has what those below it have, and the last one all', () => {
  const latency = new Latency()
  for (const ms of [0.1, 0.5, 0.6, 3, 2_500, 60_000]) latency.add(ms)

  const page = expositionOf(
    [{ name: 'x_seconds', kind: 'histogram', help: 'h', samples: latency.samples({ method: 'm' }) }],
    'prometheus',
  )

  const figures = new Figures(page)
  const bucket = (le: string) => figures.value('x_seconds_bucket', { method: 'm', le })
  expect(['0.0005', '0.001', '0.0025', '0.005', '1.0', '2.5', '5.0', '+Inf'].map(bucket)).toEqual([
    2, 3, 3, 4, 4, 5, 5, 6,
  ])
  expect(figures.value('x_seconds_count', { method: 'm' })).toBe(6)
  expect(figures.value('x_seconds_sum', { method: 'm' })).toBeCloseTo(62.5042)
})

// Without it nothing here would know whether Prometheus takes what it is given.
test('promtool finds what is wrong with a name, so that its silence means something', () => {
  const wrong = expositionOf([{ name: 'x_total', kind: 'gauge', help: 'h', samples: [{ value: 1 }] }], 'prometheus')
  const right = expositionOf([LABELLED], 'prometheus')

  expect(promtool(['check', 'metrics'], wrong)).toMatchObject({ status: 3 })
  expect(promtool(['check', 'metrics'], right)).toEqual({ status: 0, said: '' })
})
