import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exchange, modern } from '../../../conformance/exchange.ts'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'

/** A request of its own, which is answered with 200 where a server takes it out of the body of another. */
const INNER = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'

const CHUNKED = ['Transfer-Encoding: chunked']

let served: Served

beforeAll(async () => {
  const repository = await Repository.create()
  await repository.commit({ 'tidy/SKILL.md': '---\nname: tidy\ndescription: Tidies up\n---\n' })
  served = await serve(repository)
})

afterAll(async () => served[Symbol.asyncDispose]())

test.each<[string, readonly string[], string]>([
  ['a length and chunks', [...CHUNKED, 'Content-Length: 4'], `0\r\n\r\n${INNER}`],
  ['chunks twice', [...CHUNKED, ...CHUNKED], `0\r\n\r\n${INNER}`],
  ['chunks that are named as something else', ['Transfer-Encoding: identity'], INNER],
  ['chunks under something else', ['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${INNER}`],
  ['a name with a space behind it', ['Content-Length : 0'], INNER],
  ['chunks behind a vertical tab', ['Transfer-Encoding: \vchunked'], `0\r\n\r\n${INNER}`],
  ['two lengths', ['Content-Length: 0', `Content-Length: ${INNER.length}`], INNER],
  ['a list of lengths', [`Content-Length: 0, ${INNER.length}`], INNER],
  ['a length with a sign', ['Content-Length: +0'], INNER],
  ['a length in another base', ['Content-Length: 0x0'], INNER],
  ['a length beyond all numbers', [`Content-Length: ${'9'.repeat(30)}`], INNER],
  ['a header that goes on in the next line', ['Content-Length: 0', ' ', 'X: y'], INNER],
  ['a header with a zero byte', ['Content-Length: 0', 'X: a\0b'], INNER],
  ['a header with a lone carriage return', ['Content-Length: 0', 'X: a\rb'], INNER],
  ['a name of other letters', ['Content-Length: 0', 'Ä: a'], INNER],
  ['a size of a chunk in another base', CHUNKED, `0x0\r\n\r\n${INNER}`],
  ['a size of a chunk beyond all numbers', CHUNKED, `${'f'.repeat(20)}\r\n\r\n${INNER}`],
  ['a chunk that ends in a line feed alone', CHUNKED, `2\n{}\n0\n\n${INNER}`],
])('no second request is taken out of one with %s', async (_, lines, body) => {
  const answer = await answered(`${['POST /mcp HTTP/1.1', 'Host: localhost', ...lines].join('\r\n')}\r\n\r\n${body}`)

  expect(statusesOf(answer)).toEqual([expect.stringMatching(/^4\d\d$/)])
})

test('a host in the trailer of a request is none', async () => {
  const head = ['POST /mcp HTTP/1.1', ...CHUNKED, 'Trailer: Host', 'Connection: close']

  const answer = await answered(`${head.join('\r\n')}\r\n\r\n0\r\nHost: localhost\r\n\r\n`)

  expect(statusesOf(answer)).toEqual(['400'])
})

test('two Origin headers are refused, whichever of them is ours', async () => {
  const [own, other] = ['Origin: http://localhost', 'Origin: https://evil.example']

  for (const origins of [
    [own, other],
    [other, own],
  ])
    expect(statusesOf(await get(origins))).toEqual(['403'])
})

test.each([
  ['a head over 16 KiB', '/healthz', [`X: ${'a'.repeat(17_000)}`]],
  ['an address of 70 KB', `/${'a'.repeat(70_000)}`, []],
])('%s has no answer but 431, which a client that still sends may miss', async (_, path, lines) => {
  expect(statusesOf(await get(lines, path)).filter((status) => status !== '431')).toEqual([])
})

test.each([
  ['TRACE', 'TRACE /mcp HTTP/1.1', [], /^40[05]$/],
  ['a version that is not there', 'GET /healthz HTTP/3.7', [], /^400$/],
  ['the address of a proxy', 'GET http://evil.example/healthz HTTP/1.1', [], /^404$/],
  ['the address of another host', 'GET //evil.example/healthz HTTP/1.1', [], /^404$/],
  ['the address of the server', 'OPTIONS * HTTP/1.1', [], /^40[0-9]$/],
  ['another method by a header', 'GET /mcp HTTP/1.1', ['X-HTTP-Method-Override: DELETE'], /^40[0-9]$/],
])('%s is answered with a refusal', async (_, line, lines, status) => {
  const answer = await answered(`${[line, 'Host: localhost', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`)

  expect(statusesOf(answer)).toEqual([expect.stringMatching(status)])
})

test.each([
  ['CONNECT', 'CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
])('%s opens no tunnel', async (_, head) => {
  const answer = await answered(`${head}${INNER}`)

  expect(statusesOf(answer).filter((status) => !status.startsWith('4'))).toEqual([])
})

test.each([
  ['WebSocket', ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==']],
  ['HTTP/2 in clear text', ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']],
])('a wish for %s is passed over', async (_, lines) => {
  const head = ['GET /healthz HTTP/1.1', 'Host: localhost', 'Connection: Upgrade', ...lines]

  const answer = await answered(`${head.join('\r\n')}\r\n\r\n`)

  expect(statusesOf(answer)).not.toContain('101')
})

test('a request of HTTP/0.9, which can name no host, is refused', async () => {
  expect(statusesOf(await answered('GET /healthz\r\n\r\n'))).toEqual([expect.stringMatching(/^40[03]$/)])
})

test('a range of an answer is not given where none is offered', async () => {
  expect(statusesOf(await get(['Range: bytes=0-0'], '/healthz'))).toEqual(['200'])
})

test('after each refused request the next connection is answered', async () => {
  const { headers, body } = modern('skills/list', {})

  await answered(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`)

  expect(await exchange(served.url, { headers, body })).toMatchObject({ status: 200 })
})

/** The whole answer to a GET request with these headers. */
async function get(lines: readonly string[], path = '/healthz'): Promise<string> {
  return answered(`${[`GET ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`)
}

/** All that the server sends to these bytes, until either side has ended. */
async function answered(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.end(bytes)
  return text(socket).catch(() => '')
}

/** The status of each answer, in order. */
function statusesOf(answer: string): string[] {
  return [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status!)
}
