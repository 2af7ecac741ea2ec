import { createHmac } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { OPEN_TO_ALL } from '../../../src/serve/http/http-access.ts'
import { serveOperations } from '../../../src/serve/http/operations-server.ts'
import type { HttpListener } from '../../../src/serve/http/server/listener.ts'
import { WebhookEndpoint } from '../../../src/serve/http/webhook-endpoint.ts'
import type { Webhook } from '../../../src/serve/http/webhook-endpoint.ts'

const SECRET = 'hook-secret-canary'
const MIB = 2 ** 20
const HUGE = 100_000_000

test('a request that is signed is answered with 202 and nothing, and the source is looked at', async () => {
  await using host = await Host.open()

  const answer = await host.post('team', '{"ref":"refs/heads/main"}')

  expect(answer).toMatchObject({ status: 202, body: '', headers: { 'content-length': '0' } })
  expect(host.looked).toEqual(['team'])
})

test('a bad signature, none, a changed body and an unknown source get one and the same answer', async () => {
  await using host = await Host.open()
  const body = '{}'

  const answers = [
    await host.post('team', body, { 'x-skillsyncd-signature': `sha256=${'0'.repeat(64)}` }),
    await host.post('team', body, { 'x-skillsyncd-signature': '' }),
    await host.post('team', '{"changed":true}', { 'x-skillsyncd-signature': signatureOf(body) }),
    await host.post('team', body, { 'x-skillsyncd-signature': signatureOf(body, `${SECRET}2`) }),
    await host.post('unreadable', body),
    await host.post('nobody', body),
    await host.post('TEAM', body),
    await host.post('__proto__', body),
    await host.post('%74eam', body),
  ]

  for (const answer of answers) expect(answer).toEqual({ ...answers[0], headers: answer.headers })
  for (const { headers } of answers) expect(Object.keys(headers)).toEqual(Object.keys(answers[0]!.headers))
  expect(answers[0]!.status).toBe(401)
  expect(answers[0]!.body).not.toContain('team')
  expect(host.looked).toEqual([])
  expect(host.refused).toEqual(['team', 'team', 'team', 'team'])
})

test('an unknown source has the secret of another read and compared, as a known one would', async () => {
  await using host = await Host.open()

  await host.post('nobody', '{}')

  expect(host.read).toEqual(['team'])
})

test('a request that is sent again is answered with 202 and nothing is done', async () => {
  await using host = await Host.open()
  await host.post('team', '{}', { 'x-skillsyncd-delivery': 'one' })

  const again = await host.post('team', '{}', { 'x-skillsyncd-delivery': 'two' })
  const other = await host.post('other', '{}')

  expect(again).toMatchObject({ status: 202, body: '' })
  expect(other.status).toBe(202)
  expect(host.looked).toEqual(['team', 'other'])
})

test('what was refused once is taken when its secret is the right one', async () => {
  await using host = await Host.open()
  host.secret = 'the one before'
  const before = await host.post('team', '{}')
  host.secret = SECRET

  const after = await host.post('team', '{}')

  expect([before.status, after.status]).toEqual([401, 202])
  expect(host.looked).toEqual(['team'])
})

test('the newest thousand deliveries are remembered, and older ones are not', async () => {
  await using host = await Host.open()
  for (let number = 0; number <= 1000; number += 1) await host.post('team', String(number))

  await host.post('team', '1')
  const remembered = host.looked.length
  await host.post('team', '0')

  expect([remembered, host.looked.length]).toEqual([1001, 1002])
})

test('a body of 100 MB is refused by its length, before anything of it is sent', async () => {
  await using host = await Host.open()

  const answer = await host.send('team', { 'content-length': HUGE }, [])

  expect(answer).toMatchObject({ status: 413, headers: { connection: 'close' } })
  expect(host.looked).toEqual([])
})

test('a body of 1 MiB to the byte is taken, and one byte more is refused, declared or not', async () => {
  await using host = await Host.open()
  const [at, over] = ['x'.repeat(MIB), 'x'.repeat(MIB + 1)]
  const pieces = (text: string) => Array.from({ length: 9 }, (_, n) => text.slice((n * MIB) / 8, ((n + 1) * MIB) / 8))

  const answers = [
    await host.post('team', at),
    await host.post('team', over),
    await host.send('other', { 'x-skillsyncd-signature': signatureOf(at) }, pieces(at)),
    await host.send('other', { 'x-skillsyncd-signature': signatureOf(over) }, pieces(over)),
  ]

  expect(answers.map(({ status }) => status)).toEqual([202, 413, 202, 413])
  expect(host.looked).toEqual(['team', 'other'])
})

test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])(
  '%s is refused with 405, source or no source',
  async (method) => {
    await using host = await Host.open()

    const answers = [await host.send('team', {}, [], method), await host.send('nobody', {}, [], method)]

    for (const answer of answers) expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } })
  },
)

test.each([
  '/',
  '/mcp',
  '/hooks',
  '/hooks/',
  '/hooks/team//',
  '/hooks/team/more',
  '//hooks/team',
  '/hooks/../hooks/team',
])('nothing is at %s', async (path) => {
  await using host = await Host.open()

  const answer = await host.send('', {}, [], 'POST', path)

  expect(answer.status).toBe(404)
})

test('whatever the name is by which a request came, it is answered; one of a page is not', async () => {
  await using host = await Host.open()

  const byName = await host.post('team', '1', { host: 'hooks.example.com' })
  const ofPage = await host.post('team', '2', { origin: 'http://127.0.0.1' })
  const ofNoPage = await host.post('team', '3', { origin: 'null' })

  expect([byName.status, ofPage.status, ofNoPage.status]).toEqual([202, 403, 403])
  expect(host.looked).toEqual(['team'])
})

test('a ping of GitHub is answered and sets off nothing, if it is signed', async () => {
  await using host = await Host.open({ provider: 'github' })
  const ping = (body: string, signed: string) =>
    host.post('team', body, { 'x-github-event': 'ping', 'x-hub-signature-256': signatureOf(signed) })

  const signed = await ping('{}', '{}')
  const unsigned = await ping('{}', '[]')

  expect([signed.status, unsigned.status]).toEqual([202, 401])
  expect(host.looked).toEqual([])
})

test('no answer holds the secret', async () => {
  await using host = await Host.open()

  const answers = [
    await host.post('team', SECRET),
    await host.post('team', SECRET, { 'x-skillsyncd-signature': SECRET }),
    await host.post(SECRET, '{}'),
    await host.send(SECRET, {}, [], 'GET'),
  ]

  expect(JSON.stringify(answers)).not.toContain(SECRET)
})

/** A listener with the sources `team`, `other` and `unreadable`, whose secret is none. */
class Host implements AsyncDisposable {
  secret: string = SECRET
  /** The sources that were to be looked at, that were refused, and whose secret was read, in order. */
  readonly looked: string[] = []
  readonly refused: string[] = []
  readonly read: string[] = []
  readonly #agent = new Agent({ keepAlive: true })
  #listener!: HttpListener

  static async open({ provider = 'generic' }: Partial<Pick<Webhook, 'provider'>> = {}): Promise<Host> {
    const host = new Host()
    const webhooks = new Map(['team', 'other', 'unreadable'].map((id) => [id, host.#webhook(id, provider)]))
    const endpoint = new WebhookEndpoint(webhooks, MIB, () => new Date())
    host.#listener = await serveOperations({
      webhooks: endpoint,
      access: OPEN_TO_ALL,
      unready: () => [],
      now: () => 0,
      host: '127.0.0.1',
      port: 0,
      limits: { headersMs: 10_000, requestMs: 30_000, connections: 100 },
      onError: (error) => {
        throw error
      },
    })
    return host
  }

  /** Signed, unless the headers say otherwise. */
  async post(source: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const signed = { 'x-skillsyncd-signature': signatureOf(body), ...headers }
    return this.send(source, { ...signed, 'content-length': Buffer.byteLength(body) }, [body])
  }

  async send(
    source: string,
    headers: Readonly<Record<string, string | number>>,
    pieces: readonly string[],
    method = 'POST',
    path = `/hooks/${source}`,
  ): Promise<Answer> {
    const request = httpRequest(this.#listener.url, { method, path, headers, agent: this.#agent })
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    // A server that has refused does not take the rest.
    request.once('response', resolve).on('error', reject)
    request.flushHeaders()
    for (const piece of pieces) request.write(piece)
    if (headers['content-length'] !== HUGE) request.end()
    const response = await promise
    const answer = { status: response.statusCode, body: (await buffer(response)).toString(), headers: response.headers }
    if (answer.status === 413) request.destroy()
    return answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    await this.#listener[Symbol.asyncDispose]()
  }

  #webhook(id: string, provider: Webhook['provider']): Webhook {
    return {
      provider,
      secret: async () => {
        this.read.push(id)
        return id === 'unreadable' ? undefined : this.secret
      },
      look: () => this.looked.push(id),
      refused: () => this.refused.push(id),
    }
  }
}

interface Answer {
  readonly status: number | undefined
  readonly body: string
  readonly headers: IncomingMessage['headers']
}

function signatureOf(body: string, secret = SECRET): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}
