import { expect, test } from 'vitest'
import { PlainRequests } from '../../../../src/serve/mcp/transports/plain-requests.ts'
import { META, modernHeaders } from '../../../support/clients/peer.ts'

const params = { uri: 'skill://a/b/SKILL.md' }

function requestWith(meta: object): object {
  return { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { ...params, _meta: { ...META, ...meta } } }
}

test('a request in a trace is as plain as one in none, however much its client says of it', () => {
  const plain = new PlainRequests()
  const headers = modernHeaders('resources/read', params)
  const trace = {
    traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    tracestate: 'a=b',
    baggage: 'x'.repeat(8_192),
  }

  const [traced, untraced] = [plain.read(requestWith(trace), headers), plain.read(requestWith({}), headers)]

  expect(traced).toMatchObject({ era: 'modern', method: 'resources/read', params })
  expect({ ...traced, message: untraced?.message }).toEqual(untraced)
  expect(traced?.message.params?._meta).toMatchObject(trace)
})

test('what stands in the place of a trace and is none is left to the classifier', () => {
  const large = { traceparent: { nested: 'x'.repeat(8_192) } }

  expect(new PlainRequests().read(requestWith(large), modernHeaders('resources/read', params))).toBeUndefined()
})
