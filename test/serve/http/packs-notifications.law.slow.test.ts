import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Pack } from '../../../src/sync/catalog/pack.ts'
import { legacy, modern } from '../../conformance/exchange.ts'
import { eventsOf, hear } from '../../support/clients/peer.ts'
import type { Heard } from '../../support/clients/peer.ts'
import { catalogOfWorld } from '../../support/content/contract-world.ts'
import type { World } from '../../support/content/contract-world.ts'
import { IDS, onlyThoseIn, PACKS, WORLDS, yamlOf } from '../../support/git/pack-worlds.ts'
import { openPacked } from '../../support/process/packed.ts'

test('whatever moves, listeners of a pack hear of what is in it, and else nothing', async () => {
  await fc.assert(
    fc.asyncProperty(WORLDS, WORLDS, PACKS, fc.subarray(IDS, { minLength: 1 }), async (before, after, packs, seen) => {
      const withEnd = packs.map((pack) => ({
        ...pack,
        include: [...pack.include, { source: 'end' }],
        exclude: pack.exclude.filter(({ source }) => source === 'one' || source === 'two'),
      }))
      const chosen = withEnd.filter(({ id }) => seen.includes(id))
      const uris = urisIn(before, after)
      const worlds = [withLast(before, 1), withLast(after, 1), withLast(after, 2)]

      const [heard, ofPackAlone] = await Promise.all([
        heardOver(worlds, withEnd, seen, uris),
        heardOver(
          worlds.map((world) => onlyThoseIn(world, chosen)),
          withEnd,
          seen,
          uris,
        ),
      ])

      expect(heard).toEqual(ofPackAlone)
    }),
    { numRuns: 20 },
  )
})

test('who listens to packs of which another one comes is let go, to listen to all of them', async () => {
  const [alpha, beta] = ['alpha', 'beta'].map((id): Pack => ({
    id,
    description: undefined,
    include: [{ source: 'end' }],
    exclude: [],
  }))
  const world = withLast({}, 1)
  await using packed = await openPacked({ catalog: catalogOfWorld(world), yaml: yamlOf([alpha!]) })
  const url = `${packed.http.url}/mcp`
  const [both, one] = await Promise.all(
    ['alpha+beta', 'alpha'].map(async (token) => listening(url, { authorization: `Bearer ${token}` }, [])),
  )

  packed.reload(yamlOf([alpha!, beta!]))

  await expect(both!.next(() => false)).rejects.toThrow('The stream ended')
  packed.registry.publish(catalogOfWorld(withLast({}, 2)))
  expect(await one!.next(({ params }) => params?.uri === LAST)).toBeDefined()
  await one![Symbol.asyncDispose]()
})

const LAST = 'skill://end/last/references/more.md'

/** With a skill in each pack whose one file changes last of all: who has heard of that has heard everything. */
function withLast(world: World, mark: number): World {
  const last = { path: 'last', id: 'last', files: { 'references/more.md': `${mark}\n` } }
  return { ...world, end: { skills: [last] } }
}

/** Of all that is in one of them, seen or not. */
function urisIn(...worlds: readonly World[]): string[] {
  const uris = worlds.flatMap((world) =>
    Object.entries(world).flatMap(([source, { skills = [] }]) =>
      skills.flatMap(({ path, id, files = {} }) => [
        `skill://${source}`,
        `skill://${source}/${path}`,
        ...['SKILL.md', ...Object.keys(files)].map((file) => `skill://${source}/${path}/${file}`),
        `resource://skills/${id}/document`,
        `resource://catalog/skills/${id}`,
      ]),
    ),
  )
  return [...new Set([...uris, 'skill://index.json', 'resource://catalog/skills_index', 'resource://docs/guide.md'])]
}

/** What a client of each era hears while one world gives way to the next, up to the end. */
async function heardOver(
  [first, ...later]: readonly World[],
  packs: readonly Pack[],
  seen: readonly string[],
  uris: readonly string[],
): Promise<string[][]> {
  await using packed = await openPacked({ catalog: catalogOfWorld(first!), yaml: yamlOf(packs) })
  const authorization = { authorization: `Bearer ${seen.join('+')}` }
  const url = `${packed.http.url}/mcp`
  const all = [await listening(url, authorization, uris), await subscribed(url, authorization, uris)]
  for (const world of later) packed.registry.publish(catalogOfWorld(world))
  return await Promise.all(all.map(toTheEnd))
}

async function toTheEnd(heard: Heard): Promise<string[]> {
  const last = await heard.next(({ params }) => params?.uri === LAST)
  await heard[Symbol.asyncDispose]()
  const messages: unknown[] = heard.messages.slice(0, heard.messages.indexOf(last))
  return messages.map((message) => JSON.stringify(message)).toSorted()
}

async function listening(url: string, authorization: Authorization, uris: readonly string[]): Promise<Heard> {
  const stop = new AbortController()
  const notifications = {
    resourceSubscriptions: [...uris, LAST],
    resourcesListChanged: true,
    promptsListChanged: true,
  }
  const { headers, body } = modern('subscriptions/listen', { notifications })
  const response = await post(url, { headers: { ...headers, ...authorization }, body, signal: stop.signal })
  return hear(eventsOf(response), async () => stop.abort())
}

async function subscribed(url: string, authorization: Authorization, uris: readonly string[]): Promise<Heard> {
  const stop = new AbortController()
  const { headers: first } = legacy('initialize')
  const opened = await post(url, { headers: { ...first, ...authorization }, body: INITIALIZE })
  await opened.text()
  const session = opened.headers.get('mcp-session-id') ?? ''
  const { headers } = legacy('ping', {}, session)
  const stream = await fetch(url, {
    headers: { ...headers, ...authorization, accept: 'text/event-stream' },
    signal: stop.signal,
  })
  // What cannot be subscribed to is refused: whether that is told alike is another law.
  for (const uri of [...uris, LAST]) {
    const sent = legacy('resources/subscribe', { uri }, session)
    await (await post(url, { headers: { ...sent.headers, ...authorization }, body: sent.body })).text()
  }
  return hear(eventsOf(stream), async () => stop.abort())
}

type Authorization = Readonly<Record<string, string>>

interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly signal?: AbortSignal
}

async function post(url: string, { headers, body, signal }: Sent): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
