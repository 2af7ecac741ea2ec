import { createHash } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { RpcFault } from '../../support/hostile/hostile-answer.ts'
import type { Enumeration } from '../../support/hostile/hostile-offer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { pathsIn, problemsIn } from '../../support/verdicts.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'
const FILE = 'skill://au/refunds/a.md'
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
const SOON = ['limits: { fetch: { connect_timeout: 2s } }']

test.each<{ offers: Enumeration; form: string; findings: readonly string[]; reads: readonly string[] }>([
  { offers: 'index-r0', form: 'index', findings: ['not-verifiable refunds'], reads: [URI, 'skill://refunds/a.md'] },
  { offers: 'index-r1', form: 'index', findings: ['not-verifiable refunds'], reads: [URI, 'skill://refunds/a.md'] },
  { offers: 'index-r2', form: 'index', findings: ['not-verifiable refunds'], reads: [URI, 'skill://refunds/a.md'] },
  { offers: 'index-r4', form: 'index', findings: [], reads: [] },
  { offers: 'fastmcp', form: 'fastmcp', findings: [], reads: ['skill://refunds/_manifest', URI] },
])('what a server offers as $offers is mirrored, and no more is read than it takes', async (form) => {
  await using au = await offering(form.offers)

  await using mirror = await Mirror.start({ au: of(au) })
  const reads = au.reads().filter((uri) => uri !== 'skill://index.json')

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.source('au').form).toBe(form.form)
  expect(mirror.findings('au')).toEqual(form.findings)
  expect(reads).toEqual(form.reads)
  const [{ frontmatter, resources }] = await mirror.listed()
  expect(frontmatter).toEqual({ description: 'd', name: 'refunds' })
  expect(resources).toEqual([promise(SERVED, skill('refunds')), promise(FILE, 'a')])
  expect(String(await mirror.bytesOf(SERVED))).toBe(skill('refunds'))
  expect(String(await mirror.bytesOf(FILE))).toBe('a')
})

test('what has digests and no sizes is listed with the sizes of a list of resources, and held back where one is missing', async () => {
  await using au = await HostileServer.start()
  unsized(au, 'sized')
  unsized(au, 'unsized')
  au.on('resources/list', () => ({
    resources: ['SKILL.md', 'a.md'].map((path) =>
      listed(`skill://sized/${path}`, path === 'a.md' ? 1 : skill('sized').length),
    ),
  }))

  await using mirror = await Mirror.start({ au: of(au) })

  const [entry, ...others] = await mirror.listed()
  expect(others).toEqual([])
  expect(entry.resources.map(({ size }: any) => size)).toEqual([skill('sized').length, 1])
  expect(mirror.findings('au')).toEqual(['size-unknown unsized'])
  expect(au.reads()).toEqual([])
})

test('the sizes may as well stand in lists of folders, where there are such lists', async () => {
  await using au = await HostileServer.start()
  au.capabilities = declared({ directoryRead: true })
  unsized(au, 'refunds')
  au.on('resources/list', () => new RpcFault(-32601, 'no such method'))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(au.of('resources/directory/read')).toHaveLength(1)
})

test.each([
  { options: [], listed: ['skill://older/plain/SKILL.md'], findings: ['size-unknown refunds'] },
  { options: ['folders'], listed: ['skill://older/plain/SKILL.md', 'skill://older/refunds/SKILL.md'], findings: [] },
])('of the published server without sizes ($options), a skill is listed once each of them is known', async (given) => {
  await using folder = await temporaryFolder()
  await writeFiles(folder.path, {
    'plain/SKILL.md': skill('plain'),
    'refunds/SKILL.md': skill('refunds'),
    'refunds/a.md': 'a',
  })
  const program = fileURLToPath(new URL('../../support/clients/older-skills-program.mjs', import.meta.url))
  const args = JSON.stringify([program, folder.path, ...given.options])

  await using mirror = await Mirror.start({
    older: `mcp: { command: "${process.execPath}", args: ${args} }, approval: none`,
  })
  const sizes = (await mirror.listed()).flatMap(({ resources }) => resources.map(({ size }: any) => size))

  expect(await mirror.urisListed()).toEqual(given.listed)
  expect(mirror.findings('older')).toEqual(given.findings)
  expect(sizes).toEqual([skill('plain').length, skill('refunds').length, 1].slice(0, given.listed.length === 1 ? 1 : 3))
  expect(mirror.source('older').form).toBe('skills/list')
})

test('a server that answers skills/list so that nobody can hear it is asked for its index within the time that is set', async () => {
  await using au = await offering('index-r2')
  au.on('skills/list', () => ({ raw: '{"jsonrpc":"2.0","id":"","error":{"code":-32600,"message":"Invalid Request"}}' }))

  await using mirror = await Mirror.start({ au: of(au) }, { config: SOON })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(au.of('skills/list')).toHaveLength(1)
})

test('where nothing else answers either, silence is a failure, and what was served stays', async () => {
  await using au = await offering('skills-list')
  await using mirror = await Mirror.start({ au: of(au) }, { config: SOON })

  au.offers = 'nothing'
  au.on('skills/list', () => 'silence')
  const [outcome] = await mirror.pull()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'source-unreachable' } })
  expect(await mirror.urisListed()).toEqual([SERVED])
})

test('the skills of a PHP server are mirrored over stdio, with all of their files; one that is gone hides no other', async () => {
  const program = fileURLToPath(new URL('../../support/clients/php-program.mjs', import.meta.url))
  const source = `mcp: { command: "${process.execPath}", args: ["${program}"] }, approval: none`

  await using mirror = await Mirror.start({ php: source }, { config: SOON })

  expect(await mirror.urisListed()).toEqual(['skill://php/acme/billing/SKILL.md', 'skill://php/refunds/SKILL.md'])
  expect(String(await mirror.bytesOf('skill://php/refunds/policy.md'))).toBe('thirty days\n')
  expect(await mirror.bytesOf('skill://php/refunds/other.md')).toBe(-32_602)
  expect(mirror.source('php')).toMatchObject({ form: 'index', problem: undefined })
  expect(problemsIn(mirror.source('php'))).toContainEqual(
    expect.objectContaining({ path: 'gone', message: expect.stringContaining('-32002') }),
  )
})

test('-32002 says that there is no index, and the next form is asked for', async () => {
  await using au = await offering('fastmcp')
  au.on('resources/read', ({ uri }) =>
    uri === 'skill://index.json' ? new RpcFault(-32002, 'Resource not found') : undefined,
  )

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.source('au')).toMatchObject({ form: 'fastmcp', problem: undefined })
  expect(await mirror.urisListed()).toEqual([SERVED])
})

test('a frontmatter in the index that is not the one in SKILL.md, and a digest that is not its, leave the skill out', async () => {
  await using au = await HostileServer.start()
  au.offers = 'index-r2'
  au.skills.set(
    'skill://front/SKILL.md',
    { 'SKILL.md': skill('front') },
    { frontmatter: { name: 'front', description: 'x' } },
  )
  au.skills.set('skill://digest/SKILL.md', { 'SKILL.md': skill('digest') })
  au.skills.setResource('skill://digest/SKILL.md', skill('digest', 'BODY'))
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual(['content-mismatch front', 'content-mismatch digest'])
})

test('a file that is not what its manifest says is not given out', async () => {
  await using au = await offering('fastmcp')
  await using mirror = await Mirror.start({ au: of(au) })

  au.skills.setResource('skill://refunds/a.md', 'b')
  const got = await mirror.bytesOf(FILE)

  expect(got).toBe(-32_603)
  expect(mirror.findings('au')).toEqual(['content-mismatch refunds'])
})

test('the internal error that FastMCP has for a file that a skill lost leaves that skill out alone', async () => {
  await using au = await offering('fastmcp')
  au.skills.set('skill://lost/SKILL.md', { 'SKILL.md': skill('lost') })
  au.on('resources/read', ({ uri }) =>
    uri === 'skill://lost/SKILL.md' ? new RpcFault(-32603, 'Internal error') : undefined,
  )

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual(['content-mismatch lost'])
})

test.each([
  ['no JSON', '{"skills": [', 'content-refused'],
  ['without skills', '{}', 'content-refused'],
  ['with a map of skills', '{"skills": {}}', 'content-refused'],
  ['over its budget', `{"skills": [], "x": "${'x'.repeat(3000)}"}`, 'limit-exceeded'],
])(
  'an index that is %s gives no skills and its reason, other sources are served, and what was there stays',
  async (_, text, code) => {
    await using au = await offering('index-r4')
    await using good = await offering('skills-list')
    const broken = `${of(au)}, budgets: { listing_bytes: 2KiB }`
    au.skills.setResource('skill://index.json', text)
    await using mirror = await Mirror.start({ au: broken, good: of(good) })
    const first = await mirror.urisListed()
    const problem = mirror.source('au').problem

    au.skills.deleteResource('skill://index.json')
    await mirror.pull('au')
    au.skills.setResource('skill://index.json', text)
    await mirror.pull('au')

    expect(first).toEqual(['skill://good/refunds/SKILL.md'])
    expect(problem?.code).toBe(code)
    expect(mirror.source('au').problem?.code).toBe(code)
    expect(await mirror.urisListed()).toEqual([SERVED, 'skill://good/refunds/SKILL.md'])
  },
)

test('types that nobody knows, archives and templates are skipped without a word, and fields that nobody knows ignored', async () => {
  await using au = await offering('nothing')
  const skills = [
    { type: 'skill-md', name: 'refunds', description: 'd', url: URI, colour: 'red' },
    { type: 'hologram', name: 'x', description: 'd', url: 'skill://x/SKILL.md' },
    { type: 'archive', name: 'y', description: 'd', url: 'skill://y.tar.gz' },
    { type: 'mcp-resource-template', description: 'd', url: 'skill://docs/{product}/SKILL.md' },
    { frontmatter: { name: 'z', description: 'd' }, archives: [{ url: 'skill://z.zip', mimeType: 'application/zip' }] },
  ]
  au.skills.setResource('skill://index.json', JSON.stringify({ $schema: SCHEMA, more: 1, skills }))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual(['not-verifiable refunds'])
  expect(mirror.log.filter(({ event }) => event === 'server-odd')).toEqual([])
})

test('a schema that nobody knows is told of once, and its index is read', async () => {
  await using au = await offering('nothing')
  const skills = [{ type: 'skill-md', name: 'refunds', description: 'd', url: URI }]
  au.skills.setResource('skill://index.json', JSON.stringify({ $schema: 'https://example.com/9', skills }))
  await using mirror = await Mirror.start({ au: of(au) })

  await mirror.pull()

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.log.filter(({ event }) => event === 'server-odd')).toHaveLength(1)
})

test('folders are listed where the server says that it can, inline or below config, and nowhere else', async () => {
  const calls: number[] = []
  for (const settings of [{}, { directoryRead: true }, { config: { directoryRead: true } }]) {
    await using au = await offering('index-r2')
    au.capabilities = declared(settings)
    await using mirror = await Mirror.start({ au: of(au) })
    expect(await mirror.urisListed()).toEqual([SERVED])
    calls.push(au.of('resources/directory/read').length)
  }

  expect(calls).toEqual([0, 1, 1])
})

test('what was read once is read again at the next look of the schedule alone, and what changed is another set', async () => {
  await using au = await offering('index-r2')
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: `mcp: "${au.url}"` }, { clock })
  await mirror.approve('au', 'refunds')
  const first = await mirror.urisListed()
  au.skills.setResource('skill://refunds/a.md', 'b')

  await mirror.pull()
  const between = [au.reads().filter((uri) => uri.endsWith('a.md')).length, String(await mirror.bytesOf(FILE))]
  await clock.advance(300_000)
  await mirror.pull()

  expect(first).toEqual([SERVED])
  expect(between).toEqual([1, 'a'])
  expect(au.reads().filter((uri) => uri === URI)).toHaveLength(1)
  expect(au.reads().filter((uri) => uri.endsWith('a.md'))).toHaveLength(2)
  expect(pathsIn(mirror.source('au'), 'waiting')).toEqual(['refunds'])
  expect(mirror.log.map(({ event }) => event)).toContain('approval-revoked')
  expect(await mirror.urisListed()).toEqual([])
})

test('what was read once is not read again by the next process', async () => {
  await using au = await offering('index-r0')
  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.stop()

  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })

  expect(await next.urisListed()).toEqual([SERVED])
  expect(au.reads().filter((uri) => uri !== 'skill://index.json')).toEqual([URI, 'skill://refunds/a.md'])
})

test('a change that the server tells of is seen at once', async () => {
  await using au = await offering('index-r2')
  await using mirror = await Mirror.start({ au: of(au) })
  mirror.daemon.poll()
  await au.streaming(1)
  au.skills.setResource('skill://refunds/a.md', 'b')

  au.notify('notifications/resources/list_changed')
  await mirror.logged('source-updated', 2)

  expect(String(await mirror.bytesOf(FILE))).toBe('b')
})

test('what a server sent before it told of a change is not taken for what it has since', async () => {
  await using au = await offering('index-r2')
  await using mirror = await Mirror.start({ au: of(au) })
  mirror.daemon.poll()
  await au.streaming(1)
  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other'), 'a.md': 'new' })
  au.on('resources/read', async ({ uri }) => {
    if (uri !== 'skill://other/a.md') return undefined
    au.on('resources/read')
    au.notify('notifications/resources/list_changed')
    await mirror.logged('source-nudged')
    return { contents: [{ uri, text: 'old' }] }
  })

  await mirror.pull()
  await mirror.logged('source-updated', 3)

  expect(String(await mirror.bytesOf('skill://au/other/a.md'))).toBe('new')
})

test('of a skill that is over a limit by what is declared, no file is read; of one that turns out to be, none is kept in service', async () => {
  await using au = await HostileServer.start()
  au.offers = 'index-r0'
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.bin': Buffer.alloc(2 ** 24) })
  au.skills.set('skill://many/SKILL.md', {
    'SKILL.md': skill('many'),
    ...Object.fromEntries(Array.from({ length: 512 }, (_, at) => [`${at}`, ''])),
  })

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.findings('au')).toEqual(['limit-bytes refunds', 'limit-files many'])
  expect(au.reads()).toEqual(['skill://index.json'])
})

test('what turns out to be larger than it may be counts against the budget of an hour', async () => {
  await using au = await HostileServer.start()
  au.offers = 'index-r0'
  for (const name of ['a', 'b', 'c']) au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': 'x'.repeat(2000) })
  au.on('resources/list', () => ({ resources: [] }))

  await using mirror = await Mirror.start({ au: `${of(au)}, budgets: { file_bytes: 1500, hourly_bytes: 3500 }` })

  expect(mirror.findings('au')).toEqual(['limit-bytes a', 'limit-bytes b', 'not-read c'])
  expect(au.reads()).toHaveLength(3)
})

test.each([
  { larger: 'than its listing says', size: 5, budgets: '', rule: 'content-mismatch' },
  { larger: 'than any file may be', size: undefined, budgets: ', budgets: { file_bytes: 64 }', rule: 'limit-bytes' },
])(
  'the budget of an hour is billed what came of a file that is larger $larger, at each look',
  async ({ size, budgets, rule }) => {
    await using au = await offering('index-r0')
    au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'x'.repeat(100) })
    au.on('resources/list', () => ({ resources: [{ ...listed('skill://refunds/a.md', 0), size }] }))

    await using mirror = await Mirror.start({ au: `${of(au)}, unverifiable: serve${budgets}` })
    for (let look = 1; look < 14; look += 1) await mirror.pull()

    expect(mirror.findings('au')).toEqual([`${rule} refunds`])
    expect(au.reads().filter((uri) => uri.endsWith('a.md'))).toHaveLength(14)
    expect(mirror.source('au').fetched?.bytes).toBeLessThanOrEqual(14 * (skill('refunds').length + 100))
    expect(mirror.source('au').fetched?.bytes).toBeGreaterThanOrEqual(14 * 100)
  },
)

test.each<[string, (uri: string, id: unknown) => object]>([
  ['no base64', (uri) => ({ contents: [{ uri, blob: `${'A'.repeat(1000)}-` }] })],
  ['two texts', (uri) => ({ contents: [1, 2].map(() => ({ uri, text: 'x'.repeat(500) })) })],
  [
    'lists in lists',
    (_, id) => ({
      raw: `{"jsonrpc":"2.0","id":${String(id)},"result":{"contents":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
    }),
  ],
  ['half of a surrogate pair', (uri) => ({ contents: [{ uri, text: `${'x'.repeat(1000)}\ud800` }] })],
])('an answer that is no file, with %s, is billed by what came as well', async (_, answer) => {
  await using au = await offering('index-r0')
  au.on('resources/list', () => ({ resources: [] }))
  au.on('resources/read', ({ uri }, { id }) => (uri === URI ? answer(uri, id) : undefined))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.findings('au')).toEqual(['content-mismatch refunds'])
  expect(mirror.source('au').fetched?.bytes).toBeGreaterThanOrEqual(750)
})

test('a file that the server wants something for first leaves out its skill alone', async () => {
  await using au = await offering('index-r0')
  au.skills.set('skill://asks/SKILL.md', { 'SKILL.md': skill('asks') })
  au.on('resources/read', ({ uri }) => (uri === 'skill://asks/SKILL.md' ? { resultType: 'input_required' } : undefined))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual(['content-mismatch asks', 'not-verifiable refunds'])
})

test('a list of resources that fails is no list of a skill with one file: what was served stays', async () => {
  await using au = await offering('index-r0')
  await using mirror = await Mirror.start({ au: of(au) })

  au.on('resources/list', () => new RpcFault(-32603, 'Internal error'))
  const [outcome] = await mirror.pull()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'source-unreachable' } })
  expect(String(await mirror.bytesOf(FILE))).toBe('a')
})

test('skills/list that fails where nothing else answers is a failure from the first look on', async () => {
  await using au = await offering('nothing')
  au.on('skills/list', () => new RpcFault(-32603, 'Internal error'))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.source('au').problem).toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('-32603'),
  })
})

test('an index that fails where there was one is a failure, and no reason to look elsewhere', async () => {
  await using au = await offering('index-r0')
  await using mirror = await Mirror.start({ au: of(au) })

  au.offers = 'fastmcp'
  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other') })
  au.on('resources/read', ({ uri }) =>
    uri === 'skill://index.json' ? new RpcFault(-32603, 'Internal error') : undefined,
  )
  const [outcome] = await mirror.pull()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'source-unreachable' } })
  expect(await mirror.urisListed()).toEqual([SERVED])
})

test('once a budget is spent no further file is read, what was read is served, and the numbers are told', async () => {
  await using au = await HostileServer.start()
  au.offers = 'index-r0'
  for (const name of ['a', 'b', 'c'])
    au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name, 'x'.repeat(900)) })

  await using mirror = await Mirror.start({ au: `${of(au)}, budgets: { hourly_bytes: 2000 }` })

  expect(await mirror.urisListed()).toEqual(['skill://au/a/SKILL.md', 'skill://au/b/SKILL.md'])
  expect(au.reads()).toHaveLength(3)
  const told = problemsIn(mirror.source('au')).find(({ code }) => code === 'not-read')
  expect(told).toMatchObject({ path: 'c', message: expect.stringContaining('budgets.hourly_bytes (2000)') })
})

test('a walk through folders that list each other, or things elsewhere, comes to its end and reads nothing but files of the skill', async () => {
  await using au = await offering('index-r0')
  au.capabilities = declared({ directoryRead: true })
  const folder = (uri: string) => ({ uri, name: 'f', mimeType: 'inode/directory' })
  au.on('resources/directory/read', ({ uri }) => ({
    resources: [
      folder('skill://refunds'),
      folder(`${uri}/deeper`),
      folder(`${uri}/deeper`),
      listed('skill://evil/SKILL.md', 1),
      listed('skill://refunds/../evil', 1),
      ...(uri === 'skill://refunds' ? [listed(URI, skill('refunds').length)] : []),
    ],
  }))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([])
  expect(mirror.findings('au')).toEqual(['limit-files refunds'])
  const asked = au.of('resources/directory/read').map(({ params }) => params.uri)
  expect(asked.length).toBeLessThan(40)
  expect(new Set(asked).size).toBe(asked.length)
  expect(au.reads()).toEqual(['skill://index.json'])
})

test.each([
  ['files', 'text/markdown', 1, ['limit-exceeded']],
  ['folders', 'inode/directory', 1, ['limit-exceeded']],
  ['folders, a thousand in each,', 'inode/directory', 100, [undefined, 'limit-files refunds']],
])(
  'a walk that comes by 100,000 %s stops at a cap, and nothing of the skill is read',
  async (_, mimeType, folders, told) => {
    await using au = await offering('index-r0')
    au.capabilities = declared({ directoryRead: true })
    au.on('resources/directory/read', ({ uri }) => ({
      resources: Array.from({ length: 100_000 / folders }, (_item, at) => ({
        uri: `${uri}/${at}`,
        name: 'n',
        mimeType,
      })),
    }))

    await using mirror = await Mirror.start({ au: of(au) })

    expect(await mirror.urisListed()).toEqual([])
    expect([mirror.source('au').problem?.code, ...mirror.findings('au')]).toEqual(told)
    expect(au.of('resources/directory/read').length).toBeLessThanOrEqual(11)
    expect(au.reads()).toEqual(['skill://index.json'])
  },
)

test.each([
  'skill://refunds/x/../../evil',
  'skill://evil/SKILL.md',
  'skill://refunds/sub/deeper.md',
  { toString: 1, valueOf: 1 },
  undefined,
])('%j, listed in the folder where it does not lie, is reported and not read', async (stray) => {
  await using au = await offering('index-r0')
  au.capabilities = declared({ directoryRead: true })
  au.on('resources/directory/read', () => ({
    resources: [listed(URI, skill('refunds').length), { ...listed('', 1), uri: stray }],
  }))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual(['entry-refused refunds', 'not-verifiable refunds'])
  expect(au.reads()).toEqual(['skill://index.json', URI])
})

test.each([
  [2, '2 listed in its folders are elsewhere and are not read: "skill://evil/0", "skill://evil/1"'],
  [
    1000,
    '1000 listed in its folders are elsewhere and are not read: "skill://evil/0", "skill://evil/1", "skill://evil/2", "skill://evil/3", and 996 more',
  ],
])(
  'all of %i that are listed in the folder and lie elsewhere are told of, the first by their URIs',
  async (count, message) => {
    await using au = await offering('index-r0')
    au.capabilities = declared({ directoryRead: true })
    const strays = Array.from({ length: count }, (_, at) => listed(`skill://evil/${at}`, 1))
    au.on('resources/directory/read', () => ({ resources: [...strays, listed(URI, skill('refunds').length)] }))

    await using mirror = await Mirror.start({ au: of(au) })

    expect(problemsIn(mirror.source('au'))).toContainEqual(expect.objectContaining({ code: 'entry-refused', message }))
    expect(au.reads()).toEqual(['skill://index.json', URI])
  },
)

test('skills that the server lists nowhere are served where their URIs are configured, and what is not there is told', async () => {
  await using au = await offering('skills-list')
  au.skills.set('skill://hidden/SKILL.md', { 'SKILL.md': skill('hidden') })
  au.skills.unlist('skill://hidden/SKILL.md')
  const uris = `uris: ["skill://hidden/SKILL.md", "skill://gone/SKILL.md", "${URI}"]`

  await using mirror = await Mirror.start({ au: `${of(au)}, ${uris}` })

  expect(await mirror.urisListed()).toEqual(['skill://au/hidden/SKILL.md', SERVED])
  expect(mirror.findings('au')).toEqual(['entry-refused'])
  expect(au.of('skills/get').map(({ params }) => params.uri)).toEqual([
    'skill://hidden/SKILL.md',
    'skill://gone/SKILL.md',
  ])
})

test('a URI that is configured is not read where an older server cannot say what lies there', async () => {
  await using au = await offering('index-r4')
  au.skills.set('skill://hidden/SKILL.md', { 'SKILL.md': skill('hidden') })
  au.skills.unlist('skill://hidden/SKILL.md')

  await using mirror = await Mirror.start({ au: `${of(au)}, uris: ["skill://hidden/SKILL.md"]` })

  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual(['entry-refused'])
  expect(au.of('skills/get')).toEqual([])
  expect(au.reads()).toEqual(['skill://index.json'])
})

test('a skill that the configuration leaves out is not read to be left out', async () => {
  await using au = await offering('index-r0')

  await using mirror = await Mirror.start({ au: `${of(au)}, exclude: ["refunds"]` })

  expect(mirror.source('au').tally.seen).toBe(0)
  expect(au.reads()).toEqual(['skill://index.json'])
})

test('a server that declares nothing and has nothing is a source without skills', async () => {
  await using au = await offering('nothing')
  au.capabilities = {}

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.source('au')).toMatchObject({ form: 'none', problem: undefined, tally: { seen: 0 } })
})

test('what is kept of a skill that was read lies where no agent looks', async () => {
  await using au = await offering('index-r0')

  await using mirror = await Mirror.start({ au: of(au) })

  const names = await readdir(join(mirror.state, 'upstreams/au/files'))
  expect(names.toSorted()).toEqual([skill('refunds'), 'a'].map(sha256).toSorted())
})

async function offering(form: Enumeration): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.offers = form
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'a' })
  return au
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

/** A skill whose entry says of no file how large it is. */
function unsized(au: HostileServer, name: string): void {
  const uri = `skill://${name}/SKILL.md`
  au.skills.set(uri, { 'SKILL.md': skill(name), 'a.md': 'a' })
  const resources = au.skills.entryOf(uri).resources.map(({ uri: file, digest }: any) => ({ uri: file, digest }))
  au.skills.set(uri, { 'SKILL.md': skill(name), 'a.md': 'a' }, { resources })
}

function declared(settings: object): object {
  return { resources: {}, extensions: { 'io.modelcontextprotocol/skills': settings } }
}

function listed(uri: string, size: number): object {
  return { uri, name: uri.slice(uri.lastIndexOf('/') + 1), mimeType: 'text/markdown', size }
}

function promise(uri: string, text: string): object {
  return { uri, digest: `sha256:${sha256(text)}`, size: Buffer.byteLength(text) }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function skill(name: string, body = 'body'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}
