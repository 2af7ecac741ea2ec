import { expect, test } from 'vitest'
import { MAX_SUBSCRIPTIONS } from '../../../../src/serve/mcp/rpc/caller.ts'
import { SentEvents } from '../../../../src/serve/mcp/transports/sent-events.ts'

test('what was sent after an event is taken once, and equal messages stand at the last of them', () => {
  const sent = new SentEvents()
  sent.add('a')
  const seen = sent.add('b')
  sent.add('c')
  sent.add('a')

  expect(sent.takeAfter(seen)).toEqual(['c', 'a'])
  expect(sent.takeAfter(seen)).toEqual([])
})

test('however many messages are sent, those that could be subscribed to at once are known', () => {
  const sent = new SentEvents()
  const first = sent.add('first')
  for (let at = 0; at < 2 * MAX_SUBSCRIPTIONS; at += 1) sent.add(String(at))

  const known = sent.takeAfter(first)

  expect(known.length).toBeGreaterThanOrEqual(MAX_SUBSCRIPTIONS)
  expect(known.length).toBeLessThan(MAX_SUBSCRIPTIONS + 16)
  expect(known.at(-1)).toBe(String(2 * MAX_SUBSCRIPTIONS - 1))
})
