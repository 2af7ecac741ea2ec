import { once } from 'node:events'
import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Surface } from '../../../../src/serve/mcp/core/methods.ts'
import { SCOPES } from '../../../../src/serve/principal.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { serveHttp } from '../../../../src/serve/site/server.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { META, modernHeaders } from '../../../support/clients/peer.ts'
import { catalogWith, saying } from '../../../support/content/searchable-skills.ts'
import { HTTP_LIMITS } from '../../../support/http/http-limits.ts'

test('a client whose requests take fifty times as long is answered once where another is fifty times', async () => {
  await using scene = await openScene()
  await scene.mix()
  const held = scene.hold(80)

  const all = [...times(40, () => scene.work('mallory', 50)), ...times(40, () => scene.work('ada', 1))]
  await held.release()
  const statuses = await Promise.all(all.map(async (one) => (await one).status))

  expect(statuses).toEqual(times(80, () => 200))
  expect(
    scene.order.slice(0, scene.order.lastIndexOf('ada')).filter((holder) => holder === 'mallory').length,
  ).toBeLessThan(3)
})

test('a client that sends its bodies after its turns has them wait for another one', async () => {
  await using scene = await openScene()
  await scene.mix()
  const heads = scene.hold(20)
  const late = times(20, () => scene.begin('mallory', 50))
  await heads.release()
  await turnsOfTheLoop(40)
  const held = scene.hold(1)
  const ada = scene.work('ada', 1)
  await held.all

  scene.onFirst(() => void held.release())
  const answers = late.map(async (one) => one.finish())
  await Promise.all([ada, ...answers])

  expect(scene.order.indexOf('ada')).toBeLessThanOrEqual(2)
  expect(scene.order).toHaveLength(21)
})

test('files that come for one client all at once are answered in turns with the requests of another', async () => {
  await using scene = await openScene()
  await scene.mix()
  const files = scene.holdFiles(20)
  const reads = scene.uris.map((uri) => scene.read('mallory', uri))
  await files.all

  await files.release()
  const ada = scene.work('ada', 1)
  await Promise.all([ada, ...reads])

  expect(scene.order.indexOf('ada')).toBeLessThan(15)
  expect(scene.order).toHaveLength(21)
})

test('a client that hangs up while its requests wait has none of them served, and the others are', async () => {
  await using scene = await openScene()
  await scene.mix()
  const held = scene.hold(31)
  const leaving = times(30, () => scene.begin('mallory', 50))
  const gone = Promise.allSettled(leaving.map(async (one) => one.finish()))
  const ada = scene.work('ada', 1)
  await held.all

  await Promise.all(leaving.map(async (one) => one.leave()))
  await turnsOfTheLoop(10)
  await held.release()
  const { status } = await ada
  const left = await gone
  const { status: again } = await scene.work('mallory', 1)

  expect([status, again]).toEqual([200, 200])
  expect(new Set(left.map((one) => one.status))).toEqual(new Set(['rejected']))
  expect(scene.order).toEqual(['ada', 'mallory'])
})

function times<Made>(count: number, make: () => Made): Made[] {
  return Array.from({ length: count }, make)
}

/** Has those that come wait until so many do, and the test lets them go. */
class Gate {
  readonly #count: number
  readonly #full = Promise.withResolvers<void>()
  readonly #open = Promise.withResolvers<void>()
  #waiting = 0

  constructor(count: number) {
    this.#count = count
    if (count === 0) this.#full.resolve()
  }

  /** Resolves once so many wait. */
  get all(): Promise<void> {
    return this.#full.promise
  }

  async pass(): Promise<void> {
    this.#waiting += 1
    if (this.#waiting === this.#count) this.#full.resolve()
    await this.#open.promise
  }

  async release(): Promise<void> {
    await this.#full.promise
    this.#open.resolve()
  }
}

/** So many turns of the loop, in each of which sockets are looked at. */
async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate()
}

/** A server whose clock is moved by what its requests say that they take, and by nothing else. */
async function openScene() {
  const skills = Array.from({ length: 20 }, (_, index) => saying(`skill-${index}`, { description: 'A skill' }))
  const registry = new Registry()
  registry.publish(catalogWith({ team: skills }))
  const order: (string | undefined)[] = []
  const requests: ClientRequest[] = []
  const gates = { heads: new Gate(0), files: new Gate(0) }
  await Promise.all([gates.heads.release(), gates.files.release()])
  let nowMs = 0
  let onFirst = (): void => {}
  const surface: Surface = {
    capabilities: { tools: {} },
    methods: (known) => ({
      ...known,
      'tools/call': ({ arguments: given }, { principal }) => {
        nowMs += Number(Object(given).ms)
        order.push(principal?.id)
        if (order.length === 1) onFirst()
        return { content: [] }
      },
    }),
  }
  const http = await serveHttp(
    {
      registry,
      async read() {
        await gates.files.pass()
        return undefined
      },
      forms: formsOf(),
      pages: { entries: 100, bytes: 2 ** 20 },
      cache: { ttlMs: 0, cacheScope: 'public' },
      surfaces: [surface],
      audit: ({ asked, principal }) => {
        if (asked === 'resources/read') order.push(principal)
      },
    },
    {
      host: '127.0.0.1',
      port: 0,
      limits: HTTP_LIMITS,
      now: () => nowMs,
      access: {
        isTokenRequired: true,
        async authenticate(token) {
          await gates.heads.pass()
          return { id: token, scopes: new Set(SCOPES) }
        },
      },
      onError: (error) => {
        throw error
      },
    },
  )
  const open = (token: string, method: string, params: Readonly<Record<string, unknown>>) => {
    const { hostname, port } = new URL(http.url)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } })
    const headers = {
      ...modernHeaders(method, params),
      authorization: `Bearer ${token}`,
      'content-length': Buffer.byteLength(body),
    }
    const asked = request({ hostname, port, path: '/mcp', method: 'POST', headers, agent: false })
    requests.push(asked)
    asked.on('error', () => {})
    asked.flushHeaders()
    return {
      async finish(): Promise<{ readonly status: number | undefined }> {
        asked.end(body)
        const [response]: IncomingMessage[] = await once(asked, 'response')
        await text(response!)
        return { status: response!.statusCode }
      },
      async leave(): Promise<void> {
        const closed = Promise.withResolvers<void>()
        asked.once('close', () => closed.resolve())
        asked.destroy()
        await closed.promise
      },
    }
  }
  const begin = (token: string, ms: number) => open(token, 'tools/call', { name: 'work', arguments: { ms } })
  return {
    order,
    uris: registry.catalog.listed.map(({ uri }) => uri),
    begin,
    work: async (token: string, ms: number) => begin(token, ms).finish(),
    read: async (token: string, uri: string) => open(token, 'resources/read', { uri }).finish(),
    onFirst: (call: () => void) => (onFirst = call),
    /** Holds those that come, once their heads are read, until so many have. */
    hold: (count: number) => (gates.heads = new Gate(count)),
    /** The same of files that are read. */
    holdFiles: (count: number) => (gates.files = new Gate(count)),
    /** Has two ask, so that from here on there are turns. */
    async mix(): Promise<void> {
      for (const token of ['ada', 'mallory']) await begin(token, 0).finish()
      order.length = 0
    },
    async [Symbol.asyncDispose]() {
      for (const one of requests) one.destroy()
      await http[Symbol.asyncDispose]()
    },
  }
}
