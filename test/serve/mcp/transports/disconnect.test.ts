import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import type { ReadContent } from '../../../../src/serve/content.ts'
import { NO_HOLDER } from '../../../../src/serve/fair-shares.ts'
import { ANYBODY, HttpAccess, OPEN_TO_ALL } from '../../../../src/serve/http/http-access.ts'
import { disconnectSignal } from '../../../../src/serve/http/server/client-gone.ts'
import { EventStreams } from '../../../../src/serve/http/server/event-stream.ts'
import { openListener } from '../../../../src/serve/http/server/listener.ts'
import type { Site } from '../../../../src/serve/http/server/listener.ts'
import { PageSessions } from '../../../../src/serve/page/http/page-sessions.ts'
import { webRoutesOf } from '../../../../src/serve/page/http/web-routes.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import type { Sample } from '../../../sync/store/samples.ts'
import { ask } from '../../http/ask.ts'

const NO_STREAMS = new EventStreams({ streams: 0, keepAliveMs: 60_000 })

const FOLDER = '/.well-known/agent-skills/'

test('what was to be sent to a client that left is held for nobody', async () => {
  await using scene = await openScene([sized(sample('big', { 'SKILL.md': 'big\n' }), 2 ** 28), several('many')])
  await scene.leave(`${FOLDER}big/SKILL.md`)

  scene.release()
  const { status } = await ask(scene.url, `${FOLDER}many/SKILL.md`)

  expect(status).toBe(200)
})

test('no archive is made for those who left before its turn came', async () => {
  await using scene = await openScene([several('one')])
  scene.release()
  await ask(scene.url, `${FOLDER}index.json`)
  scene.hold()
  const waiting = ask(scene.url, `${FOLDER}one.zip`)
  await scene.reading()
  for (let count = 0; count < 20; count += 1) await scene.leave(`${FOLDER}one.zip`)
  const before = scene.reads()

  scene.release()
  expect((await waiting).status).toBe(200)
  expect((await ask(scene.url, `${FOLDER}one.zip`)).status).toBe(200)

  // What is left of the first, and the last.
  expect(scene.reads() - before).toBe(1 + 2)
})

test('a client that left before anybody looked has left all the same', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  const answer = async (_: IncomingMessage, response: ServerResponse): Promise<void> => asked.resolve(response)
  await using listener = await listen({ '/': { answer } })
  const leaving = request(listener.url).on('error', () => {})
  leaving.end()
  const response = await asked.promise
  leaving.destroy()
  await once(response, 'close')

  expect(disconnectSignal(response).aborted).toBe(true)
})

function several(name: string): Sample {
  return sample(name, { 'SKILL.md': `${name}\n`, 'x.txt': 'x\n' })
}

/** A skill of one file that is said to be as large as this. */
function sized({ skill, ...more }: Sample, size: number): Sample {
  return { ...more, skill: { ...skill, size, files: skill.files.map((file) => ({ ...file, size })) } }
}

/** The skills as installers get them. Nothing is read until the test lets it. */
async function openScene(samples: readonly Sample[]) {
  const registry = new Registry()
  const source = sourceId('team')
  const generation = { number: 1, createdAt: '', sources: [{ source, snapshot: '1' }] }
  registry.publish(buildCatalog(generation, [{ ...snapshotOf(...samples), source }]))
  let gate = Promise.withResolvers<void>()
  let begun = Promise.withResolvers<void>()
  let reads = 0
  const read: ReadContent = async (stored, { path }) => {
    const name = 'kind' in stored ? '' : stored.name
    reads += 1
    begun.resolve()
    await gate.promise
    return samples.find(({ skill }) => skill.name === name)?.bytes.get(path)
  }
  const serving = { registry, read, forms: formsOf(), ...UNUSED }
  const admit = async () => ANYBODY
  const { routes } = webRoutesOf(
    serving,
    { wellKnown: true, page: undefined, open: new Set() },
    {
      access: new HttpAccess(OPEN_TO_ALL),
      admit,
      address: () => '',
      resource: () => '',
      signIn: undefined,
      now: () => 0,
      holderOf: () => NO_HOLDER,
      streams: NO_STREAMS,
      signedIn: new PageSessions(() => 0),
    },
  )
  const [[path, route]] = Object.entries(routes) as [[string, (typeof routes)[string]]]
  let asked = Promise.withResolvers<ServerResponse>()
  const listener = await listen({
    [path]: {
      answer(request, response, about) {
        asked.resolve(response)
        return route.answer(request, response, about)
      },
    },
  })
  return {
    url: listener.url,
    reads: () => reads,
    release: () => gate.resolve(),
    /** From here on reads wait again. */
    hold() {
      gate = Promise.withResolvers()
      begun = Promise.withResolvers()
    },
    reading: () => begun.promise,
    /** Asks, and is seen to leave. */
    async leave(path: string): Promise<void> {
      asked = Promise.withResolvers()
      const leaving = request(`${listener.url}${path}`, { agent: false }).on('error', () => {})
      leaving.end()
      const response = await asked.promise
      leaving.destroy()
      await once(response, 'close')
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  }
}

const UNUSED = { pages: { entries: 1, bytes: 1 }, cache: { ttlMs: 0, cacheScope: 'public' } } as const

async function listen(routes: Site['routes']) {
  const limits = { headersMs: 10_000, requestMs: 30_000, connections: 100 }
  return openListener(
    () => ({
      refusalOf: () => undefined,
      admit: async () => ANYBODY,
      routes,
      nothingHere: 'Nothing',
    }),
    {
      host: '127.0.0.1',
      port: 0,
      limits,
      onError: (error) => {
        throw error
      },
    },
  )
}
