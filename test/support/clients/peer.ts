import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A JSON-RPC client without opinions: what it sends and gets is what is on the wire. */
export interface Peer extends AsyncDisposable {
  /** `M` modern HTTP, `LH` legacy HTTP with a session, `LS` legacy stdio, `MS` modern stdio. */
  readonly kind: 'M' | 'LH' | 'LS' | 'MS'
  readonly era: 'modern' | 'legacy'
  call(method: string, params?: unknown): Promise<Reply>
  /** Starts to hear of a resource; on the modern era opens a listen stream of its own for it. */
  subscribe(uris: readonly string[], options?: { readonly list?: boolean; readonly prompts?: boolean }): Promise<Heard>
  /** The answer to `initialize` or `server/discover`. */
  readonly opening: Reply
}

export interface Reply {
  /** HTTP status; 200 over stdio. */
  readonly status: number
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: any }
  readonly headers: Headers
}

/** What a subscriber has heard so far, oldest first. */
export interface Heard extends AsyncDisposable {
  readonly messages: readonly any[]
  /** Resolves with the first message, heard already or to come, that the predicate accepts. */
  next(accepts: (message: any) => boolean): Promise<any>
}

export const REVISION = '2026-07-28'
export const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

/** Names the resource, the tool or the prompt that is asked for, as the modern era wants it in a header. */
export function modernHeaders(method: string, params: any): Record<string, string> {
  const name = method === 'resources/read' ? params?.uri : NAMED.has(method) ? params?.name : undefined
  const plain = typeof name === 'string' && /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(name)
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': REVISION,
    'mcp-method': method,
    ...(typeof name === 'string' && {
      'mcp-name': plain ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`,
    }),
  }
}

const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])

let lastId = 0

/** A client of the modern era over HTTP: no handshake, one POST per request. `own`: headers that go with each of them. */
export async function modernHttp(url: string, own: Readonly<Record<string, string>> = {}): Promise<Peer> {
  const call = async (method: string, params: any = {}): Promise<Reply> => {
    lastId += 1
    const body = { jsonrpc: '2.0', id: lastId, method, params: { ...params, _meta: META } }
    return replyOf(
      await fetch(url, {
        method: 'POST',
        headers: { ...own, ...modernHeaders(method, params) },
        body: JSON.stringify(body),
      }),
    )
  }
  return {
    kind: 'M',
    era: 'modern',
    call,
    opening: await call('server/discover'),
    async subscribe(uris, { list = false, prompts = false } = {}) {
      lastId += 1
      const notifications = {
        ...(uris.length > 0 && { resourceSubscriptions: uris }),
        ...(list && { resourcesListChanged: true }),
        ...(prompts && { promptsListChanged: true }),
      }
      const body = {
        jsonrpc: '2.0',
        id: lastId,
        method: 'subscriptions/listen',
        params: { notifications, _meta: META },
      }
      const stop = new AbortController()
      const headers = { ...own, ...modernHeaders('subscriptions/listen', {}) }
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal: stop.signal })
      return hear(eventsOf(response), async () => stop.abort())
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** A client of the 2025 era over HTTP, with a session. `own`: headers that go with each of its requests. */
export async function legacyHttp(
  url: string,
  version = '2025-11-25',
  own: Readonly<Record<string, string>> = {},
): Promise<Peer & { readonly session: string }> {
  let session = ''
  const stop = new AbortController()
  const post = async (message: object): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: {
        ...own,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session !== '' && { 'mcp-session-id': session, 'mcp-protocol-version': version }),
      },
      body: JSON.stringify(message),
      signal: stop.signal,
    })
  const call = async (method: string, params?: unknown): Promise<Reply> => {
    lastId += 1
    return replyOf(await post({ jsonrpc: '2.0', id: lastId, method, ...(params !== undefined && { params }) }))
  }
  const opening = await call('initialize', {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  session = opening.headers.get('mcp-session-id') ?? ''
  await (await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).text()
  let stream: Promise<Heard> | undefined
  const openStream = async (): Promise<Heard> => {
    const headers = { ...own, accept: 'text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': version }
    return hear(eventsOf(await fetch(url, { headers, signal: stop.signal })), async () => {})
  }
  return {
    kind: 'LH',
    era: 'legacy',
    session,
    call,
    opening,
    async subscribe(uris) {
      stream ??= openStream()
      const heard = await stream
      for (const uri of uris) await expectResult(await call('resources/subscribe', { uri }))
      return heard
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
    },
  }
}

/** A client over stdio of `skillsyncd mcp` with these arguments, of either era. */
export async function stdio(
  args: readonly string[],
  era: 'legacy' | 'modern' = 'legacy',
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
  version = '2025-11-25',
): Promise<
  Peer & {
    readonly process: ChildProcessWithoutNullStreams
    readonly lines: readonly string[]
    readonly stderr: () => string
  }
> {
  const main = fileURLToPath(new URL('../../../dist/program/main.js', import.meta.url))
  const [file = '', ...words] = [...under, process.execPath, main, 'mcp', ...args]
  const child = spawn(file, words, { env: { ...process.env, ...env } })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const lines: string[] = []
  const waiting = new Map<number, (reply: Reply) => void>()
  const queue = pushable()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    const message = JSON.parse(line)
    if (message.id !== undefined && waiting.has(message.id))
      waiting.get(message.id)?.({ ...message, status: 200, headers: new Headers() })
    else queue.push(message)
  })
  child.on('exit', () => queue.end())
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`)
  const call = async (method: string, params?: any): Promise<Reply> => {
    lastId += 1
    const id = lastId
    const withMeta = era === 'modern' ? { ...params, _meta: META } : params
    const { promise, resolve } = Promise.withResolvers<Reply>()
    waiting.set(id, resolve)
    send({ jsonrpc: '2.0', id, method, ...(withMeta !== undefined && { params: withMeta }) })
    return promise
  }
  const opening =
    era === 'modern'
      ? await call('server/discover')
      : await call('initialize', {
          protocolVersion: version,
          capabilities: {},
          clientInfo: { name: 'test', version: '1' },
        })
  if (era === 'legacy') send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const heard = hear(queue, async () => {})
  return {
    kind: era === 'modern' ? 'MS' : 'LS',
    era,
    process: child,
    lines,
    stderr: () => stderr,
    call,
    opening,
    async subscribe(uris, { list = false, prompts = false } = {}) {
      if (era === 'modern') {
        lastId += 1
        const notifications = {
          ...(uris.length > 0 && { resourceSubscriptions: uris }),
          ...(list && { resourcesListChanged: true }),
          ...(prompts && { promptsListChanged: true }),
        }
        send({ jsonrpc: '2.0', id: lastId, method: 'subscriptions/listen', params: { notifications, _meta: META } })
        const id = lastId
        await heard.next((message) => message.params?._meta?.['io.modelcontextprotocol/subscriptionId'] === id)
      } else for (const uri of uris) await expectResult(await call('resources/subscribe', { uri }))
      return heard
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const { promise, resolve } = Promise.withResolvers<void>()
      child.once('exit', () => resolve())
      child.stdin.end()
      await promise
    },
  }
}

async function expectResult(reply: Reply): Promise<void> {
  if (reply.error !== undefined) throw new Error(`${reply.error.code} ${reply.error.message}`)
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text()
  const message = text === '' ? {} : JSON.parse(text)
  return { ...message, status: response.status, headers: response.headers }
}

/**
 * The JSON messages of a stream of server-sent events. Throws at once for an answer that is none. `onId`: called with the
 * id of each event that has one, before its message comes.
 */
export function eventsOf(response: Response, onId: (id: string) => void = () => {}): AsyncIterable<any> {
  if (response.status !== 200 || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Error(`No event stream: ${response.status} ${response.headers.get('content-type')}`)
  }
  return parseEvents(response, onId)
}

async function* parseEvents(response: Response, onId: (id: string) => void): AsyncGenerator<any> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const lines = frame.split('\n')
      const id = lines.find((line) => line.startsWith('id: '))
      if (id !== undefined) onId(id.slice(4))
      const data = lines
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice(6))
        .join('\n')
      if (data !== '') yield JSON.parse(data)
    }
  }
}

/** Collects what comes, and lets one wait for a message. */
export function hear(source: AsyncIterable<any>, stop: () => Promise<void>): Heard {
  const messages: any[] = []
  let isOver = false
  const ended = (): Error => new Error(`The stream ended; it brought ${JSON.stringify(messages)}`)
  const waiters = new Set<{
    accepts: (message: any) => boolean
    resolve: (message: any) => void
    reject: (error: Error) => void
  }>()
  void (async () => {
    try {
      for await (const message of source) {
        messages.push(message)
        for (const waiter of waiters) {
          if (!waiter.accepts(message)) continue
          waiters.delete(waiter)
          waiter.resolve(message)
        }
      }
    } catch {
      // The stream was closed by either side; who still waits is told below.
    }
    isOver = true
    for (const waiter of waiters) waiter.reject(ended())
  })()
  return {
    messages,
    async next(accepts) {
      const known = messages.find(accepts)
      if (known !== undefined) return known
      if (isOver) throw ended()
      const { promise, resolve, reject } = Promise.withResolvers<any>()
      waiters.add({ accepts, resolve, reject })
      return promise
    },
    [Symbol.asyncDispose]: stop,
  }
}

function pushable(): AsyncIterable<any> & { push(message: any): void; end(): void } {
  const items: any[] = []
  let wake = Promise.withResolvers<void>()
  let ended = false
  return {
    push(message) {
      items.push(message)
      wake.resolve()
    },
    end() {
      ended = true
      wake.resolve()
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (items.length > 0) yield items.shift()
        if (ended) return
        await wake.promise
        wake = Promise.withResolvers<void>()
      }
    },
  }
}
