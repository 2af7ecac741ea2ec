import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Pack } from '../../../src/sync/catalog/pack.ts'
import { exchange, legacy, modern } from '../../conformance/exchange.ts'
import { catalogOfWorld } from '../../support/content/contract-world.ts'
import type { SkillWorld, World } from '../../support/content/contract-world.ts'
import { IDS, NAMES, onlyThoseIn, PACKS, WORLDS, yamlOf } from '../../support/git/pack-worlds.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { openPacked } from '../../support/process/packed.ts'
import type { Packed } from '../../support/process/packed.ts'

test('no byte of an answer depends on a skill outside of the packs that its caller sees, whatever is asked', async () => {
  await fc.assert(
    fc.asyncProperty(WORLDS, PACKS, fc.subarray(IDS, { minLength: 1 }), async (world, packs, seen) => {
      const everything = catalogOfWorld(world)
      const yaml = yamlOf(packs)
      const chosen = packs.filter(({ id }) => seen.includes(id))
      await using whole = await openPacked({ catalog: everything, yaml })
      await using less = await openPacked({ catalog: catalogOfWorld(onlyThoseIn(world, chosen)), yaml })
      const asked = [...requestsAbout(world), ...lists()]

      const answers = await fewAtOnce(asked, async (ask) =>
        Promise.all([answerTo(ask, whole, seen), answerTo(ask, less, seen)]),
      )
      for (const [index, [one, other]] of answers.entries()) expect(one, JSON.stringify(asked[index])).toBe(other)
      const told = JSON.stringify(answers)
      for (const words of wordsOutside(world, chosen)) expect(told).not.toContain(words)
    }),
    { numRuns: lawRuns(10, 3 / 10), endOnFailure: true },
  )
})

test('a pack that a token does not name is answered as one that is nowhere', async () => {
  const yaml = yamlOf([pack('alpha', { source: 'one' }), pack('beta', { source: 'two' })])
  await using packed = await openPacked({ catalog: catalogOfWorld(WORLD), yaml })

  const [own, others, nowhere] = await Promise.all(
    ['alpha', 'beta', 'gamma'].map((id) => list(packed, `/mcp/${id}`, 'alpha')),
  )

  expect(namesIn(own)).toEqual(['outer', 'inner'])
  expect(others).toEqual(nowhere)
  expect(others).toContain('404')
})

test('a skill that a person disabled is in no pack', async () => {
  const yaml = yamlOf([pack('alpha', { source: 'one' })])
  const world = { ...WORLD, one: { ...WORLD['one'], disabled: ['a/outer/inner'] } }
  await using packed = await openPacked({ catalog: catalogOfWorld(world), yaml })

  expect(namesIn(await list(packed, '/mcp/alpha', 'alpha'))).toEqual(['outer'])
})

test('what sources have in which a pack can hold nothing changes nothing of what its clients are told', async () => {
  const yaml = yamlOf([pack('alpha', { source: 'two' })])
  const asked = [mcp('resources/list'), mcp('resources/read', { uri: 'resource://catalog/skills_index' })]
  const answersFrom = async (options: string): Promise<string[]> => {
    await using packed = await openPacked({ catalog: catalogOfWorld(WORLD), yaml, optionsOfOne: options })
    return await fewAtOnce(asked, async (ask) => answerTo(ask, packed, ['alpha']))
  }

  const [plain, other] = [await answersFrom(''), await answersFrom(', contract: true, docs: docs')]

  expect(other).toEqual(plain)
})

test('a view too many is refused, and those that there are go on being answered', async () => {
  const ids = Array.from({ length: 7 }, (_, index) => `pack-${index}`)
  const yaml = yamlOf(ids.map((id) => pack(id, { source: 'one' })))
  await using packed = await openPacked({ catalog: catalogOfWorld(WORLD), yaml })
  // All of their combinations: one for each number that has seven binary digits.
  const tokens = Array.from({ length: 2 ** ids.length - 1 }, (_, number) =>
    ids.filter((_id, bit) => ((number + 1) >> bit) % 2 === 1).join('+'),
  )

  const answers: string[] = []
  for (const token of tokens) answers.push((await list(packed, '/mcp', token)).slice(0, 3))

  expect(answers).toEqual(tokens.map((_, index) => (index < 64 ? '200' : '503')))
  expect(await list(packed, '/mcp', tokens[0] ?? '')).toContain('200')
  expect(await list(packed, '/mcp', `${tokens[0]}+nobodys`)).toContain('200')
  expect(await list(packed, '/mcp', 'all')).toContain('200')
})

test('one principal that comes with every combination of packs has others answered all the same, and ends nothing of theirs', async () => {
  const ids = Array.from({ length: 7 }, (_, index) => `pack-${index}`)
  let now = 0
  await using packed = await openPacked({
    catalog: catalogOfWorld(WORLD),
    yaml: yamlOf(ids.map((id) => pack(id, { source: 'one' }))),
    now: () => now,
  })
  const combinations = Array.from({ length: 2 ** ids.length - 1 }, (_, number) =>
    ids.filter((_id, bit) => ((number + 1) >> bit) % 2 === 1).join('+'),
  )
  const session = await openSession(packed, 'ada~pack-0')

  const hostile: string[] = []
  for (const packs of combinations) hostile.push((await list(packed, '/mcp', `mallory~${packs}`)).slice(0, 3))
  const honest: string[] = []
  for (const packs of combinations.slice(-5)) honest.push((await list(packed, '/mcp', `bob~${packs}`)).slice(0, 3))
  const inSession = await statusIn(packed, 'ada~pack-0', session)
  now = 60_000
  const later = await list(packed, '/mcp', `mallory~${combinations.at(-6)}`)

  expect(hostile.filter((status) => status === '200')).toHaveLength(64)
  expect(honest).toEqual(['200', '200', '200', '200', '200'])
  expect(inSession).toBe(200)
  expect(later).toContain('200')
})

test('a view that was let go is made again for whoever comes, and what listened there has ended', async () => {
  const ids = Array.from({ length: 7 }, (_, index) => `pack-${index}`)
  const yaml = yamlOf(ids.map((id) => pack(id, { source: 'one' })))
  await using packed = await openPacked({ catalog: catalogOfWorld(WORLD), yaml })
  const combinations = Array.from({ length: 64 }, (_, number) =>
    ids.filter((_id, bit) => ((number + 1) >> bit) % 2 === 1).join('+'),
  )
  const sessions: string[] = []
  for (const packs of combinations) sessions.push(await openSession(packed, `mallory~${packs}`))
  const before = await list(packed, '/mcp', `mallory~${combinations[0]}`)
  await list(packed, '/mcp', `mallory~${combinations[1]}`)

  await list(packed, '/mcp', `bob~${ids.join('+')}`)
  await list(packed, '/mcp', `ada~${combinations[2]}`)
  const ended = await statusIn(packed, `mallory~${combinations[2]}`, sessions[2]!)
  const others = await statusIn(packed, `mallory~${combinations[0]}`, sessions[0]!)
  const again = await list(packed, '/mcp', `mallory~${combinations[0]}`)

  expect([ended, others]).toEqual([404, 200])
  expect(again).toBe(before)
})

test('what a token opens is for no cache that others are answered from', async () => {
  const yaml = yamlOf([pack('alpha', { source: 'one' })])
  await using packed = await openPacked({ catalog: catalogOfWorld(WORLD), yaml })
  const authorization = { authorization: 'Bearer alpha' }

  const index = await fetch(`${packed.http.url}/.well-known/agent-skills/index.json`, { headers: authorization })
  const listed = await list(packed, '/mcp', 'alpha')

  expect(index.headers.get('cache-control')).toBe('private, no-cache')
  expect(listed).toContain('"cacheScope":"private"')
})

/** Nested skills, one name in two sources, and each way in which a skill can stand. */
const WORLD: World = {
  one: {
    skills: [
      { path: 'a/outer', id: 'outer' },
      { path: 'a/outer/inner', id: 'inner' },
    ],
  },
  two: {
    skills: [
      { path: 'twin', id: 'twin' },
      { path: 'deep/outer', id: 'outer' },
    ],
  },
}

/** What only those skills say that, by a second reading of the rules, no pack can hold. */
function wordsOutside(world: World, packs: readonly Pack[]): string[] {
  return Object.entries(world).flatMap(([source, { skills = [] }]) => {
    const fits = (skill: SkillWorld, choices: Pack['include']): boolean =>
      choices.some(
        (choice) => isLike(source, choice.source) && isLike(skill.path, choice.path) && isLike(skill.id, choice.name),
      )
    const isIn = (skill: SkillWorld): boolean =>
      packs.some(({ include, exclude }) => {
        const around = skills.filter(({ path }) => path === skill.path || skill.path.startsWith(`${path}/`))
        return !fits(skill, exclude) && around.some((one) => fits(one, include))
      })
    return skills.filter((skill) => !isIn(skill)).map(({ body = '' }) => body.split('\n')[1] ?? '')
  })
}

/** As the few globs of this file mean it. */
function isLike(text: string, glob: string | undefined): boolean {
  switch (glob) {
    case undefined:
    case '*':
    case '**':
      return true
    case 'a/**':
      return text.startsWith('a/')
    case 'b/c/*':
      return /^b\/c\/[^/]+$/.test(text)
    case 'r*':
      return text.startsWith('r')
    default:
      return text === glob
  }
}

interface Ask {
  readonly path: string
  readonly method?: string
  readonly params?: object
  readonly era?: 'legacy'
}

/** About all that there is, inside and outside of packs. */
function requestsAbout(world: World): Ask[] {
  return Object.entries(world).flatMap(([source, { skills = [] }]) =>
    skills.flatMap(({ path, id, files = {} }) => {
      const root = `skill://${source}/${path}`
      const uris = [root, `${root}/SKILL.md`, ...Object.keys(files).map((file) => `${root}/${file}`), `${root}.zip`]
      const contract = [`resource://catalog/skills/${id}`, `resource://skills/${id}/document`]
      const references = [`resource://skills/${id}/references/guide`]
      return [
        ...[...uris, `${root}.tar.gz`, ...contract, ...references].flatMap((uri) => [
          mcp('resources/read', { uri }),
          legacyMcp('resources/read', { uri }),
          legacyMcp('resources/subscribe', { uri }),
        ]),
        mcp('skills/get', { uri: `${root}/SKILL.md` }),
        mcp('resources/directory/read', { uri: root }),
        ...[id, `${source}/${id}`, `${source}/${path}`].map((of) =>
          mcp('tools/call', { name: 'get_skill', arguments: { id: of } }),
        ),
        ...[`skills/${source}/${path}/`, `skills/${source}/${path}/SKILL.md`, `?q=${id}`].map((page) => ({
          path: `/${page}`,
        })),
        ...[`${id}/SKILL.md`, `${id}.zip`, `${source}-${id}/SKILL.md`].map((file) => ({
          path: `/.well-known/agent-skills/${file}`,
        })),
      ]
    }),
  )
}

function lists(): Ask[] {
  const paths = [
    '/',
    '/sources',
    '/changes',
    '/changes.atom',
    '/problems',
    '/budget',
    '/usage',
    '/connect',
    '/metrics',
    '/readyz',
    '/healthz',
  ]
  return [
    ...[
      'skills/list',
      'dev.skillsyncd/omitted/list',
      'resources/list',
      'resources/templates/list',
      'tools/list',
      'prompts/list',
      'server/discover',
    ].map((method) => mcp(method)),
    ...['skills/list', 'dev.skillsyncd/omitted/list', 'resources/list', 'resources/templates/list', 'initialize'].map(
      (method) => legacyMcp(method),
    ),
    ...['one', 'two', 'one/a', 'two/b/c'].map((folder) =>
      mcp('resources/directory/read', { uri: `skill://${folder}` }),
    ),
    ...['skill://index.json', 'resource://catalog/skills_index', 'resource://docs/guide.md'].map((uri) =>
      mcp('resources/read', { uri }),
    ),
    mcp('tools/call', { name: 'list_skills', arguments: {} }),
    ...['what outer review does', ...NAMES].map((query) =>
      mcp('tools/call', { name: 'search_skills', arguments: { query } }),
    ),
    ...['skills-catalog', 'init-skills', ...NAMES, 'one/outer', 'two/a/outer'].map((name) =>
      mcp('prompts/get', { name }),
    ),
    mcp('completion/complete', {
      ref: { type: 'ref/prompt', name: 'outer' },
      argument: { name: 'arguments', value: '' },
    }),
    ...['skill://one/{+path}', 'skill://two/{+path}'].map((uri) => completion(uri, 'path')),
    completion('resource://catalog/skills/{id}', 'id'),
    completion('resource://skills/{id}/document', 'id'),
    ...['/.well-known/agent-skills/index.json', ...paths].map((path) => ({ path })),
    ...IDS.map((id): Ask => ({ path: `/mcp/${id}`, method: 'skills/list' })),
    ...['', ...IDS.map((id) => `/packs/${id}`)].map((below) => ({
      path: `${below}/marketplace.git/info/refs?service=git-upload-pack`,
    })),
  ]
}

function completion(uri: string, name: string): Ask {
  return mcp('completion/complete', { ref: { type: 'ref/resource', uri }, argument: { name, value: '' } })
}

function mcp(method: string, params: object = {}): Ask {
  return { path: '/mcp', method, params }
}

function legacyMcp(method: string, params: object = {}): Ask {
  return { path: '/mcp', method, params, era: 'legacy' }
}

/** All of an answer, but for what says when it was made and by which id its session goes. */
async function answerTo(
  { path, method, params, era }: Ask,
  { http }: Packed,
  seen: readonly string[],
): Promise<string> {
  const authorization = { authorization: `Bearer ${seen.join('+')}` }
  const url = `${http.url}${path}`
  if (method === undefined) return whole(await fetch(url, { headers: authorization, redirect: 'manual' }), http.url)
  const sent =
    era === 'legacy' ? legacy(method, params, await sessionAt(http.url, authorization)) : modern(method, params)
  const opening = method === 'initialize' ? { body: { ...INITIALIZE } } : {}
  const { headers, body } = { ...sent, ...opening }
  return whole(
    await fetch(url, { method: 'POST', headers: { ...headers, ...authorization }, body: JSON.stringify(body) }),
    http.url,
  )
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

/** One for all that is asked at an address, whose port no other test has. */
async function sessionAt(url: string, authorization: Record<string, string>): Promise<string> {
  const key = `${url} ${authorization['authorization']}`
  const session = SESSIONS.get(key) ?? sessionOf(url, authorization)
  SESSIONS.set(key, session)
  return session
}

const SESSIONS = new Map<string, Promise<string>>()

async function sessionOf(url: string, authorization: Record<string, string>): Promise<string> {
  const { headers } = await exchange(`${url}/mcp`, {
    headers: { ...legacy('initialize').headers, ...authorization },
    body: INITIALIZE,
  })
  return headers.get('mcp-session-id') ?? ''
}

async function whole(response: Response, url: string): Promise<string> {
  const headers = [...response.headers].filter(([name]) => name !== 'date' && name !== 'mcp-session-id')
  const text = (await response.text()).replaceAll(url, 'http://hub')
  return JSON.stringify([
    response.status,
    headers.filter(([name]) => name !== 'content-length' || !text.includes('http://hub')),
    text,
  ])
}

async function list({ http }: Packed, path: string, token: string): Promise<string> {
  const { headers, body } = modern('skills/list')
  const response = await fetch(`${http.url}${path}`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  })
  return `${response.status} ${await response.text()}`
}

async function openSession({ http }: Packed, token: string): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const { headers, body } = legacy('initialize', params)
  const asking = {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  }
  const response = await fetch(`${http.url}/mcp`, asking)
  await response.text()
  return response.headers.get('mcp-session-id') ?? ''
}

async function statusIn({ http }: Packed, token: string, session: string): Promise<number> {
  const { headers, body } = legacy('skills/list')
  const own = { ...headers, authorization: `Bearer ${token}`, 'mcp-session-id': session }
  const response = await fetch(`${http.url}/mcp`, { method: 'POST', headers: own, body: JSON.stringify(body) })
  await response.text()
  return response.status
}

function namesIn(answer: string | undefined): string[] {
  const { result } = JSON.parse(answer?.slice(4) ?? '')
  return result.skills.map(({ uri }: { uri: string }) => uri.split('/').at(-2))
}

function pack(id: string, ...include: Pack['include']): Pack {
  return { id, description: undefined, include, exclude: [] }
}

/** Where too many documents wait for the thread that renders them, they are shown as text. */
async function fewAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))))
  return results
}

const AT_ONCE = 8
