import { spawn } from 'node:child_process'
import { on } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { META, modernHttp } from '../clients/peer.ts'
import { HostileServer } from './hostile-server.ts'

const URI = 'skill://a/SKILL.md'

/** What a client of stdio has: a process, and the lines that it writes. */
class Started implements AsyncDisposable {
  readonly #child
  readonly #lines
  readonly #ended: Promise<number | null>

  constructor(server: HostileServer) {
    const { command, args } = server.program()
    this.#child = spawn(command, args)
    this.#lines = on(createInterface({ input: this.#child.stdout }), 'line', { close: ['close'] })
    this.#ended = new Promise((resolve) => void this.#child.once('exit', resolve))
  }

  ask(id: number, method: string, params: object = {}): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: META } })}\n`)
  }

  tell(method: string, params: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`)
  }

  async line(): Promise<string> {
    const { value } = await this.#lines.next()
    return value![0]
  }

  async ended(): Promise<number | null> {
    return this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    await this.#ended
  }
}

test('a raw line goes out as it is, and one that comes byte by byte is whole before the next begins', async () => {
  await using server = await HostileServer.start()
  await using started = new Started(server)
  server.on('raw', () => ({ raw: '{"id":"","error":5' }))
  server.on('slow', () => ({ delayPerByteMs: 0, answer: { more: 'ü' } }))
  server.on('never', () => 'silence')

  for (const [index, method] of ['raw', 'never', 'slow', 'ping'].entries()) started.ask(index, method)

  expect(await started.line()).toBe('{"id":"","error":5')
  expect(JSON.parse(await started.line())).toMatchObject({ id: 2, result: { more: 'ü' } })
  expect(JSON.parse(await started.line())).toMatchObject({ id: 3 })
  expect(server.requests.map(({ method, transport }) => [method, transport])).toEqual(
    ['raw', 'never', 'slow', 'ping'].map((method) => [method, 'stdio']),
  )
})

test('a listen request over stdio hears until it is cancelled', async () => {
  await using server = await HostileServer.start()
  await using started = new Started(server)
  started.ask(4, 'subscriptions/listen', { notifications: { resourceSubscriptions: [URI] } })
  const acknowledged = JSON.parse(await started.line())

  server.notify('notifications/resources/updated', { uri: URI })
  const updated = JSON.parse(await started.line())
  started.tell('notifications/cancelled', { requestId: 4 })
  await server.streaming(0)

  const _meta = { 'io.modelcontextprotocol/subscriptionId': 4 }
  expect(acknowledged.params).toEqual({ notifications: { resourceSubscriptions: [URI] }, _meta })
  expect(updated.params).toEqual({ uri: URI, _meta })
})

test('a server of the 2025 era alone knows no discovery, and says so over each transport in its own way', async () => {
  await using server = await HostileServer.start({ era: 'legacy' })
  await using started = new Started(server)
  await using peer = await modernHttp(server.url)

  started.ask(1, 'server/discover')

  expect(JSON.parse(await started.line()).error.code).toBe(-32601)
  expect(peer.opening).toMatchObject({ status: 400, error: { code: -32000 } })
})

test('a file of many megabytes is one line', async () => {
  await using server = await HostileServer.start()
  await using started = new Started(server)
  server.skills.set(URI, { 'SKILL.md': new Uint8Array(12 * 2 ** 20).fill(0xff) })

  started.ask(1, 'resources/read', { uri: URI })
  const { result } = JSON.parse(await started.line())

  expect(result.contents[0].blob).toHaveLength(16 * 2 ** 20)
})

test('the process ends with a connection that is dropped, and with its stdin', async () => {
  await using server = await HostileServer.start()
  await using dropped = new Started(server)
  server.on('drop', () => 'drop')

  dropped.ask(1, 'drop')
  const closed = new Started(server)
  await closed[Symbol.asyncDispose]()

  expect(await dropped.ended()).toBe(0)
  expect(server.connections).toBeGreaterThan(0)
})

test('what is no message is recorded without a method', async () => {
  await using server = await HostileServer.start()
  await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{',
  })

  expect(server.requests).toMatchObject([{ method: '', id: undefined, transport: 'http' }])
})
