import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { traceContextOf, traceIds } from '../../src/base/trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const PARENT = `00-${TRACE}-${SPAN}-01`

test.each([
  PARENT,
  `00-${TRACE}-${SPAN}-00`,
  `00-${TRACE}-${SPAN}-ff`,
  `01-${TRACE}-${SPAN}-01`,
  `01-${TRACE}-${SPAN}-01-what.comes?later`,
  `fe-${TRACE}-${SPAN}-01-`,
])('%s is a place in a trace, and is passed on as it came', (traceparent) => {
  const trace = traceContextOf(traceparent, undefined)

  expect(trace).toEqual({ traceparent })
  expect(traceIds(trace)).toEqual({ trace_id: TRACE, span_id: SPAN })
})

test.each([
  undefined,
  null,
  5,
  {},
  ['00', TRACE, SPAN, '01'],
  '',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01-`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-1`,
  `${PARENT}, ${PARENT}`,
  `${PARENT}\n`,
  ` ${PARENT}`,
  `01-${TRACE}-${SPAN}-01-${'x'.repeat(300)}`,
  `01-${TRACE}-${SPAN}-01-\u001b[31m`,
])('%j is no place in any trace', (traceparent) => {
  expect(traceContextOf(traceparent, 'a=b')).toBeUndefined()
})

test.each([
  'congo=t61rcWkgMzE',
  'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
  'a=1, b=2 ,\tc=3',
  '1tenant@sys=x',
  'a=1,,b=2',
  Array.from({ length: 32 }, (_, index) => `k${index}=v`).join(','),
])('the state "%s" goes with its trace', (tracestate) => {
  expect(traceContextOf(PARENT, tracestate)).toEqual({ traceparent: PARENT, tracestate })
})

test.each([
  '',
  ',',
  'a',
  'a=',
  '=b',
  'A=b',
  'a=1,a=2',
  'a=b=c',
  'a=b\u0000',
  'a=ü',
  `a=${'x'.repeat(600)}`,
  Array.from({ length: 33 }, (_, index) => `k${index}=v`).join(','),
  5,
  ['a=b'],
])('the state %j is left out, and the trace goes on without it', (tracestate) => {
  expect(traceContextOf(PARENT, tracestate)).toEqual({ traceparent: PARENT })
})

test('whatever is sent, nothing but what was sent is passed on, and no time is lost over it', () => {
  fc.assert(
    fc.property(fc.anything(), fc.string({ maxLength: 10_000 }), (traceparent, tracestate) => {
      const trace = traceContextOf(traceparent, tracestate)

      expect(trace === undefined || trace.traceparent === traceparent).toBe(true)
      expect(traceContextOf(PARENT, tracestate)).toEqual(
        traceContextOf(PARENT, tracestate)?.tracestate === undefined
          ? { traceparent: PARENT }
          : { traceparent: PARENT, tracestate },
      )
    }),
  )
})
