import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { extSkillsServer } from '../../support/clients/ext-skills-server.ts'
import { modernHttp } from '../../support/clients/peer.ts'
import { RpcFault } from '../../support/hostile/hostile-answer.ts'
import type { Answerer } from '../../support/hostile/hostile-answer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { problemsIn } from '../../support/verdicts.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'

/** What a folder for ext-skills holds: nested skills, two of one name, bytes that are no text. */
const FOLDER: Readonly<Record<string, string | Uint8Array>> = {
  'git-workflow/SKILL.md': skill('git-workflow'),
  'acme/billing/refunds/SKILL.md': skill('refunds', 'license: Apache-2.0\nmetadata: { version: "2.1.0" }\n'),
  'acme/billing/refunds/examples/email.md': 'Dear customer\n',
  'acme/support/refunds/SKILL.md': skill('refunds', 'x-foo: { a: [1, { b: c }], n: null, f: 2.5 }\n'),
  'pdf/SKILL.md': skill('pdf'),
  'pdf/logo.png': new Uint8Array([0x89, 0x50, 0, 0xe9]),
  'pdf/empty.txt': '',
  'outer/SKILL.md': skill('outer'),
  'outer/inner/SKILL.md': skill('inner'),
  'outer/inner/data.md': 'inner data\n',
}

/** Names that it writes in URIs as they stand, and then gives by no URI at all. */
const LISTED_ALONE: Readonly<Record<string, string>> = {
  'spaced/SKILL.md': skill('spaced'),
  'spaced/setup guide.md': 'a space\n',
  'spaced/ünï.md': 'letters\n',
}

test('every entry of ext-skills 0.14.0 is served again, with its digests, sizes, frontmatter and bytes', async () => {
  await using folder = await temporaryFolder()
  for (const [path, content] of Object.entries({ ...FOLDER, ...LISTED_ALONE })) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true })
    await writeFile(join(folder.path, path), content)
  }
  await using server = await extSkillsServer(folder.path)
  await using direct = await modernHttp(server.url)
  const { result } = await direct.call('skills/list', {})

  await using mirror = await Mirror.start({ au: `mcp: "${server.url}", approval: none` })

  const listed = await mirror.listed()
  const paths = Object.keys({ ...FOLDER, ...LISTED_ALONE })
  expect(new Set(listed.map(({ uri }) => uri))).toEqual(
    new Set(paths.filter((path) => path.endsWith('SKILL.md')).map((path) => `skill://au/${path}`)),
  )
  expect(byUri(listed)).toEqual(byUri(result.skills.map(mapped)))
  expect(mirror.findings('au')).toEqual([])
  for (const [path, content] of Object.entries(FOLDER)) {
    expect(await mirror.bytesOf(`skill://au/${path}`)).toEqual(Buffer.from(content))
  }
})

test.each<readonly [string, string, Answerer]>([
  ['is not JSON', 'source-unreachable', () => ({ raw: 'no JSON', headers: { 'content-type': 'application/json' } })],
  ['is an empty body', 'source-unreachable', () => ({ raw: '', headers: { 'content-type': 'application/json' } })],
  ['is a web page', 'source-unreachable', () => ({ raw: '<html></html>', headers: { 'content-type': 'text/html' } })],
  ['has no skills', 'content-refused', () => ({})],
  ['has a map in place of the skills', 'content-refused', () => ({ skills: { refunds: {} } })],
  ['has null in place of the skills', 'content-refused', () => ({ skills: null })],
  ['has a cursor that is no text', 'content-refused', () => ({ skills: [], nextCursor: 5 })],
  [
    'has a result that is a list',
    'source-unreachable',
    (_, { id }) => ({ raw: `{"jsonrpc":"2.0","id":${id},"result":[]}` }),
  ],
  ['is larger than an answer may be', 'limit-exceeded', () => ({ skills: ['x'.repeat(25 * 2 ** 20)] })],
  ['is larger than a listing may be', 'limit-exceeded', () => ({ skills: [{ uri: 'x'.repeat(2 ** 20) }] })],
  ['is an error', 'source-unreachable', () => new RpcFault(-32603, 'no')],
  [
    'is an error without an id, as PHP sends it',
    'source-unreachable',
    () => ({ raw: '{"jsonrpc":"2.0","id":"","error":{"code":-32600,"message":"x"}}' }),
  ],
])(
  'where the answer to skills/list %s, no skill is served, the status says why, and others are',
  async (what, code, answer) => {
    await using au = await HostileServer.start()
    await using good = await HostileServer.start()
    au.skills.set(URI, { 'SKILL.md': skill('refunds') })
    good.skills.set(URI, { 'SKILL.md': skill('refunds') })
    au.on('skills/list', answer)

    // A server has less time where it is silent, and not where it says much.
    const config = what.includes('PHP') ? ['limits: { fetch: { connect_timeout: 5s, total_timeout: 5s } }'] : []
    await using mirror = await Mirror.start(
      { au: `${of(au)}, budgets: { listing_bytes: 1MiB }`, good: of(good) },
      { config },
    )

    const { problem, served } = mirror.source('au')
    expect(await mirror.urisListed()).toEqual(['skill://good/refunds/SKILL.md'])
    expect(served).toBeUndefined()
    expect(problem).toMatchObject({ code, message: expect.stringMatching(/^Cannot /) })
  },
)

test.each<readonly [string, (entry: any) => unknown]>([
  ['null', () => null],
  ['without a uri', ({ frontmatter, resources }) => ({ frontmatter, resources })],
  ['of a file that is not SKILL.md', (entry) => ({ ...entry, uri: 'skill://bad/README.md' })],
  ['without a frontmatter', (entry) => ({ ...entry, frontmatter: undefined })],
  ['with a list in place of its frontmatter', (entry) => ({ ...entry, frontmatter: ['bad'] })],
  ['with a map in place of its files', (entry) => ({ ...entry, resources: { 'SKILL.md': entry.resources[0] } })],
  ['with a file of no digest', (entry) => ({ ...entry, resources: [{ ...entry.resources[0], digest: undefined }] })],
  ['nested 100,000 deep', (entry) => ({ ...entry, frontmatter: 'DEEP' })],
])(
  'of a page with four good entries and one %s, the four are mirrored and the one is told of',
  async (what, spoilt) => {
    await using au = await HostileServer.start()
    const names = ['a', 'b', 'c', 'd']
    for (const name of [...names, 'bad']) au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name) })
    const entries = [...names, 'bad'].map((name) => au.skills.entryOf(`skill://${name}/SKILL.md`))
    const skills = [...entries.slice(0, 2), spoilt(entries[4]), ...entries.slice(2, 4)]
    au.on('skills/list', (_params, { id }) => {
      const deep = '['.repeat(100_000) + ']'.repeat(100_000)
      const result = JSON.stringify({ resultType: 'complete', skills }).replace('"DEEP"', deep)
      return { raw: `{"jsonrpc":"2.0","id":${id},"result":${result}}`, headers: { 'content-type': 'application/json' } }
    })

    await using mirror = await Mirror.start({ au: of(au) })

    expect(await mirror.urisListed()).toEqual(names.map((name) => `skill://au/${name}/SKILL.md`))
    const code = what.endsWith(' frontmatter') ? 'frontmatter-invalid' : 'entry-refused'
    expect(problemsIn(mirror.source('au'))).toMatchObject([{ code }])
    expect(mirror.source('au').problem).toBeUndefined()
  },
)

test.each([
  ['HTTP', '-32602', new RpcFault(-32602, 'Invalid request parameters', undefined, 200)],
  ['HTTP', '-32601', new RpcFault(-32601, 'Method not found', undefined, 200)],
  ['HTTP', 'a refusal of its own', undefined],
  ['HTTP', 'nothing', 'silence'],
  ['stdio', '-32602', new RpcFault(-32602, 'Invalid request parameters')],
  ['stdio', '-32601', new RpcFault(-32601, 'Method not found')],
  ['stdio', 'nothing', 'silence'],
] as const)(
  'over %s, a legacy server that answers server/discover with %s is spoken to in its era',
  async (over, _, answer) => {
    await using au = await HostileServer.start({ era: 'legacy' })
    au.skills.set(URI, { 'SKILL.md': skill('refunds') })
    if (answer !== undefined) au.on('server/discover', () => answer)

    const config = ['limits: { fetch: { connect_timeout: 2s } }']
    await using mirror = await Mirror.start({ au: over === 'HTTP' ? of(au) : programOf(au) }, { config })

    expect(await mirror.urisListed()).toEqual([SERVED])
    expect(String(await mirror.bytesOf(SERVED))).toBe(skill('refunds'))
    expect(au.of('initialize')).toHaveLength(1)
    expect(au.of('skills/list').map(({ era }) => era)).toEqual(['legacy'])
  },
)

test('a modern server that offers another revision alone is reported, and not asked to initialize', async () => {
  await using au = await HostileServer.start({ era: 'modern' })
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  au.versions = ['2027-01-01']

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.source('au').problem).toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('2027-01-01'),
  })
  expect(au.of('initialize')).toEqual([])
  expect(await mirror.urisListed()).toEqual([])
})

test.each([
  ['without directoryRead', {}],
  ['with directoryRead inside of config', { config: { directoryRead: true } }],
])('a server %s is never asked for a directory', async (_, setting) => {
  await using au = await HostileServer.start()
  au.capabilities = { resources: {}, extensions: { 'io.modelcontextprotocol/skills': setting } }
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a/b.md': 'b' })
  await using mirror = await Mirror.start({ au: of(au) })

  await mirror.peer.call('resources/directory/read', { uri: 'skill://au/refunds' })
  const bytes = await mirror.bytesOf('skill://au/refunds/a/b.md')

  expect(String(bytes)).toBe('b')
  expect(au.of('resources/directory/read')).toEqual([])
})

test('a read that is answered with a wish for input is refused, told of, and not asked again', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  au.on('resources/read', () => ({ resultType: 'input_required', inputRequests: {}, requestState: 's' }))
  await using mirror = await Mirror.start({ au: of(au) })

  const got = await mirror.bytesOf(SERVED)

  expect(got).toBe(-32_603)
  expect(au.reads()).toEqual([URI])
  expect(mirror.log).toContainEqual(
    expect.objectContaining({
      event: 'content-not-fetched',
      code: 'unsupported',
      message: expect.stringContaining('it requests input first'),
    }),
  )
})

test.each(['skills/list', 'resources/read'])(
  'an answer to %s whose type is nested deeper than anything can be written is refused, and the process goes on',
  async (method) => {
    await using au = await HostileServer.start()
    au.skills.set(URI, { 'SKILL.md': skill('refunds') })
    await using mirror = await Mirror.start({ au: of(au) })
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    au.on(method, (_, { id }) => ({ raw: `{"jsonrpc":"2.0","id":${id},"result":{"resultType":${nested}}}` }))

    const got = await mirror.bytesOf(SERVED)
    const [outcome] = await mirror.pull()

    expect(got).toEqual(method === 'resources/read' ? -32_603 : Buffer.from(skill('refunds')))
    expect(outcome).toMatchObject(
      method === 'resources/read' ? { kind: 'unchanged' } : { kind: 'failed', error: { code: 'unsupported' } },
    )
    expect(await mirror.urisListed()).toEqual([SERVED])
  },
)

test('a server that never answers keeps no other waiting, and its status says what it is waited for', async () => {
  await using slow = await HostileServer.start()
  await using good = await HostileServer.start()
  slow.on('server/discover', () => 'silence')
  slow.on('initialize', () => 'silence')
  good.skills.set(URI, { 'SKILL.md': skill('refunds') })
  const config = ['limits: { fetch: { connect_timeout: 2s } }']
  await using mirror = await Mirror.start({ slow: of(slow), good: of(good) }, { config, isPulled: false })

  mirror.daemon.poll()
  await slow.requested(() => true)
  await mirror.logged('source-updated')
  const listed = await mirror.urisListed()
  const bytes = await mirror.bytesOf('skill://good/refunds/SKILL.md')
  const early = mirror.source('slow')
  await mirror.logged('pull-failed')

  expect(listed).toEqual(['skill://good/refunds/SKILL.md'])
  expect(String(bytes)).toBe(skill('refunds'))
  expect([early.problem, early.lookingSince]).toEqual([undefined, expect.any(String)])
  expect(mirror.source('slow').problem).toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('within 2000 ms'),
  })
})

test('to a server whose source is not enabled nobody connects', async () => {
  await using au = await HostileServer.start()
  await using good = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  good.skills.set(URI, { 'SKILL.md': skill('refunds') })

  await using mirror = await Mirror.start({ au: `${of(au)}, enabled: false`, good: of(good) })

  expect(await mirror.urisListed()).toEqual(['skill://good/refunds/SKILL.md'])
  expect(await mirror.bytesOf(SERVED)).toBe(-32_602)
  expect(au.connections).toBe(0)
})

test('a file that is called as what every object has is read, beside one that is spelt in the way of the server', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), constructor: 'c', __proto: 'p' })
  const odd = 'skill://refunds/%61.md'
  const resources = [...au.skills.entryOf(URI).resources, { ...au.skills.entryOf(URI).resources[1], uri: odd }]
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), constructor: 'c', __proto: 'p' }, { resources })
  au.skills.setResource(odd, 'c')
  await using mirror = await Mirror.start({ au: of(au) })
  // What the listing says is then read from the disk.
  await mirror.stop()

  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state, isPulled: false })

  expect(String(await next.bytesOf('skill://au/refunds/constructor'))).toBe('c')
  expect(au.reads()).toEqual(['skill://refunds/constructor'])
})

/** What a daemon with the source `au` makes of an entry. */
function mapped(entry: any): unknown {
  const uri = (from: string): string => encodeURI(from.replace('skill://', 'skill://au/'))
  const resources = entry.resources.map((one: any) => ({ ...one, uri: uri(one.uri) }))
  return { uri: uri(entry.uri), frontmatter: entry.frontmatter, resources }
}

/** Orders are of no meaning. */
function byUri(entries: readonly any[]): unknown {
  return entries
    .map(({ uri, frontmatter, resources }) => ({ uri, frontmatter, resources: inOrder(resources) }))
    .toSorted((a, b) => (a.uri < b.uri ? -1 : 1))
}

function inOrder(resources: readonly any[]): readonly unknown[] {
  return resources.map(({ uri, digest, size }) => ({ uri, digest, size })).toSorted((a, b) => (a.uri < b.uri ? -1 : 1))
}

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function programOf(au: HostileServer): string {
  return `mcp: ${JSON.stringify(au.program())}, approval: none`
}

function skill(name: string, more = ''): string {
  return `---\nname: ${name}\ndescription: d\n${more}---\nbody\n`
}
