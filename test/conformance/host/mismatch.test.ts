import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { declarationOf } from '../../../src/sync/model/decisions/approvals.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { legacyHttp, stdio } from '../../support/clients/peer.ts'
import { METHOD_NOT_FOUND, RpcFault } from '../../support/hostile/hostile-answer.ts'
import type { Answer } from '../../support/hostile/hostile-answer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'
import { sourceId } from '../../sync/store/samples.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'
const BESIDE = 'skill://au/refunds/a.md'

const SAID_NEXT: Readonly<Record<string, (au: HostileServer) => Answer>> = {
  'that it has no such method': () => new RpcFault(METHOD_NOT_FOUND, 'Method not found'),
  'that it failed': () => new RpcFault(-32_603, 'Internal error'),
  'that it has no such skill': () => new RpcFault(-32_602, 'No such skill'),
  'nothing in an answer': () => ({}),
  nothing: () => 'silence',
  'another digest': (au) => {
    const entry = au.skills.entryOf(URI)
    const digest = `sha256:${'0'.repeat(64)}`
    return { skill: { ...entry, resources: entry.resources.map(({ uri, size }: any) => ({ uri, size, digest })) } }
  },
}

test.each(Object.entries(SAID_NEXT))(
  'a skill whose bytes are not what is declared is withheld at once and for good where its server says %s next',
  async (_, said) => {
    await using au = await HostileServer.start()
    offer(au)
    au.on('skills/get', () => said(au))
    await using mirror = await Mirror.start({ au: of(au) })
    const before = await mirror.bytesOf(BESIDE)
    au.skills.setResource(URI, skill('refunds', 'evil'))

    const { error } = await mirror.read(SERVED)
    const listed = await mirror.urisListed()
    const after = [await mirror.bytesOf(SERVED), await mirror.bytesOf(BESIDE)]
    await au.requested(({ method }) => method === 'skills/get')
    await mirror.pull()
    const reads = au.reads()
    await mirror.stop()
    await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })

    expect(String(before)).toBe('beside')
    expect(error).toMatchObject({ code: -32_603, message: expect.stringContaining('other content than it declares') })
    expect(JSON.stringify(error)).not.toContain('evil')
    expect([listed, after]).toEqual([[], [-32_602, -32_602]])
    for (const one of [mirror, next]) {
      expect(one.findings('au')).toEqual(['content-mismatch refunds'])
      expect(one.source('au')).toMatchObject({ mismatched: 1, tally: { withheld: 1 } })
    }
    expect(await next.urisListed()).toEqual([])
    expect(await next.bytesOf(BESIDE)).toBe(-32_602)
    expect(au.reads()).toEqual(reads)
  },
)

test('a mismatch that a killed process recorded withholds the skill at the next look, although nothing else has changed', async () => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  const before = await mirror.urisListed()
  const [snapshot] = mirror.daemon.registry.catalog.snapshots
  await mirror.stop()
  using store = (await Store.openExisting(mirror.state))!
  await store.upstreams.addMismatch(sourceId('au'), declarationOf(snapshot!.skills[0]!)!, 'SKILL.md differs')

  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })

  expect(before).toEqual([SERVED])
  expect(await next.urisListed()).toEqual([])
  expect(next.findings('au')).toEqual(['content-mismatch refunds'])
})

test('a skill is withheld although its server hangs in the middle of a look, and the look does not bring it back', async () => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  const looks = au.of('skills/list').length
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>()
  au.on('skills/list', () => released)
  const looking = mirror.pull()
  await au.requested(({ method }) => method === 'skills/list', looks)
  au.skills.setResource(URI, skill('refunds', 'evil'))

  const got = await mirror.bytesOf(SERVED)
  const listed = await mirror.urisListed()
  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other') })
  release(undefined)
  await looking

  expect([got, listed]).toEqual([-32_603, []])
  expect(await mirror.urisListed()).toEqual(['skill://au/other/SKILL.md'])
  expect(mirror.findings('au')).toEqual(['content-mismatch refunds'])
})

test('an answer that is longer than any text of the declared size could be withholds the skill', async () => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  au.skills.setResource(URI, 'x'.repeat(25 * 2 ** 20))

  const got = await mirror.bytesOf(SERVED)

  expect(got).toBe(-32_603)
  expect(await mirror.urisListed()).toEqual([])
  expect(mirror.findings('au')).toEqual(['content-mismatch refunds'])
})

test.each([
  ['a cut connection', 'drop' as const],
  ['an error', new RpcFault(-32_603, 'the disk is on fire')],
])('%s in place of a file says nothing of its skill', async (_, answer) => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  au.on('resources/read', ({ uri }) => (uri === URI ? answer : undefined))

  const got = [await mirror.bytesOf(SERVED), await mirror.bytesOf(BESIDE)]
  await mirror.pull()

  expect(got.map(String)).toEqual(['-32603', 'beside'])
  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual([])
})

const CONFIG = ['serve:', '  http: { port: 0 }', '  forms: [default, skill-prompts, archives]']

const WAYS: Readonly<Record<string, (mirror: Mirror) => Promise<string>>> = {
  'a read that was answered before': (mirror) => replyTo(mirror, 'resources/read', { uri: BESIDE }),
  'a read of the 2025 era': async ({ url }) => {
    await using peer = await legacyHttp(url)
    return JSON.stringify(await peer.call('resources/read', { uri: BESIDE }))
  },
  get_skill: (mirror) => replyTo(mirror, 'tools/call', { name: 'get_skill', arguments: { id: 'refunds' } }),
  read_skill_file: (mirror) =>
    replyTo(mirror, 'tools/call', { name: 'read_skill_file', arguments: { id: 'refunds', path: 'a.md' } }),
  'a prompt': (mirror) => replyTo(mirror, 'prompts/get', { name: 'refunds' }),
  'an archive': (mirror) => replyTo(mirror, 'resources/read', { uri: 'skill://au/refunds.tar.gz' }),
  'a file below /.well-known': (mirror) => answerAt(mirror, '/.well-known/agent-skills/refunds/a.md'),
  'an archive below /.well-known': (mirror) => answerAt(mirror, '/.well-known/agent-skills/refunds.zip'),
  'the page': (mirror) => answerAt(mirror, '/skills/au/refunds/'),
}

test.each(Object.entries(WAYS))(
  'while a refused skill is still in the catalog, %s gives nothing of it, and says why',
  async (_, ask) => {
    await using au = await HostileServer.start()
    offer(au, { 'b.md': 'b' })
    await using mirror = await Mirror.start({ au: of(au) }, { config: CONFIG })
    const before = [await mirror.bytesOf(SERVED), await mirror.bytesOf(BESIDE)]
    await keepInCatalog(mirror)
    au.skills.setResource('skill://refunds/b.md', 'B')
    await mirror.bytesOf('skill://au/refunds/b.md')

    const answer = await ask(mirror)

    expect(before.map(String)).toEqual([skill('refunds'), 'beside'])
    expect(await mirror.urisListed()).toEqual([SERVED])
    expect(answer).toContain('other content than it declares')
    expect(answer).not.toContain('beside')
    expect(answer).not.toContain('BODY')
  },
)

test.each(['modern', 'legacy'] as const)('a follower of the %s era gives nothing of a refused skill', async (era) => {
  await using au = await HostileServer.start()
  offer(au)
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', 'every: 1h'] })
  const daemon = home.start('start')
  await daemon.line()
  await home.command('sync')
  await using mcp = await stdio([], era, home.env)
  const before = await mcp.call('resources/read', { uri: BESIDE })
  au.skills.setResource(URI, skill('refunds', 'evil'))

  const refused = await mcp.call('resources/read', { uri: SERVED })
  const beside = await mcp.call('resources/read', { uri: BESIDE })

  expect(before.result.contents[0].text).toBe('beside')
  expect(refused.error).toMatchObject({ code: -32_603, message: expect.stringContaining('other content') })
  expect(beside.result).toBeUndefined()
  await daemon.stop()
})

test('those who subscribed to a file of a refused skill hear of it, and so do those who follow the lists', async () => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  await using heard = await mirror.peer.subscribe([BESIDE], { list: true })
  au.skills.setResource(URI, skill('refunds', 'evil'))

  await mirror.bytesOf(SERVED)

  expect(await heard.next(({ method }) => method === 'notifications/resources/updated')).toMatchObject({
    params: { uri: BESIDE },
  })
  await heard.next(({ method }) => method === 'notifications/resources/list_changed')
})

test('a withheld skill comes back when its server declares something else for it, and what is declared comes', async () => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  au.skills.setResource(URI, skill('refunds', 'evil'))
  const refused = await mirror.bytesOf(SERVED)
  au.skills.deleteResource(URI)
  await mirror.pull()
  const same = await mirror.urisListed()

  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'mended') })
  await mirror.pull()

  expect([refused, same]).toEqual([-32_603, []])
  expect(String(await mirror.bytesOf(SERVED))).toBe(skill('refunds', 'mended'))
  expect(mirror.findings('au')).toEqual([])
})

test('a skill that changed before its change was known is back with it, and so is what it was when it goes back to that', async () => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'new') })
  const between = await mirror.bytesOf(SERVED)
  while ((await mirror.urisListed()).length === 0) await mirror.pull()
  const changed = await mirror.bytesOf(SERVED)
  // That it is explained is known once the new listing is served.
  await forgotten(mirror)

  offer(au)
  await mirror.pull()

  expect([between, String(changed)]).toEqual([-32_603, skill('refunds', 'new')])
  expect(String(await mirror.bytesOf(SERVED))).toBe(skill('refunds'))
})

test('what was refused stays so when its server declares something else in between that does not explain it', async () => {
  await using au = await HostileServer.start()
  offer(au)
  au.skills.set('skill://else/SKILL.md', { 'SKILL.md': skill('else') })
  await using mirror = await Mirror.start({ au: of(au) })
  au.skills.setResource(URI, skill('refunds', 'evil'))
  await mirror.bytesOf(SERVED)
  au.skills.deleteResource(URI)
  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'other') })
  await mirror.pull()
  const between = await mirror.urisListed()

  offer(au)
  await mirror.pull()

  expect(between).toContain(SERVED)
  expect(await mirror.urisListed()).toEqual(['skill://au/else/SKILL.md'])
  expect(mirror.findings('au')).toEqual(['content-mismatch refunds'])
})

test('a rollback to when a skill was not refused yet does not bring it back', async () => {
  await using au = await HostileServer.start()
  offer(au)
  await using mirror = await Mirror.start({ au: of(au) })
  const { generation } = mirror.daemon.registry.catalog
  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other') })
  await mirror.pull()
  const before = await mirror.urisListed()
  au.skills.setResource(URI, skill('refunds', 'evil'))
  await mirror.bytesOf(SERVED)

  await mirror.daemon.parts.rollbacks.to({ kind: 'generation', number: generation }, new AbortController().signal)

  expect(before).toContain(SERVED)
  expect(await mirror.urisListed()).toEqual([])
  expect(mirror.findings('au')).toEqual(['content-mismatch refunds'])
})

test('a locked source keeps to its lock, serves the others, and needs a person until somebody has the files read again', async () => {
  await using au = await HostileServer.start()
  offer(au)
  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other') })
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', 'update: locked'] })
  await home.command('update')
  const well = await home.command('status', '--check')
  au.skills.setResource(URI, skill('refunds', 'evil'))

  const mirrored = await home.command('mcp-source', 'mirror', 'au/refunds')
  const looks = [await home.command('sync'), await home.command('sync')]
  const rows = JSON.parse((await home.command('list', '--json')).stdout).skills
  const ill = await home.command('status', '--check')
  const written = await home.command('lock')
  au.skills.deleteResource(URI)
  const again = await home.command('mcp-source', 'mirror', 'au/refunds')
  const cured = await home.command('status', '--check')

  expect([well, mirrored, ...looks, ill, again, cured].map(({ status }) => status)).toEqual([0, 1, 0, 0, 3, 0, 0])
  expect(looks.map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain('lock-mismatch')
  expect(rows.map(({ path, verdict }: any) => `${path} ${verdict.state}`)).toEqual(['other served', 'refunds withheld'])
  expect(ill.stdout).toContain('    skillsyncd mcp-source mirror au/refunds reads its files again')
  expect(written.stdout).not.toContain('refunds')
})

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function offer(au: HostileServer, more: Readonly<Record<string, string>> = {}): void {
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'beside', ...more })
}

function skill(name: string, body = 'BODY'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}

/** Has the disk refuse what is found of its skills, so that none is taken out of service. */
async function keepInCatalog({ state }: Mirror): Promise<void> {
  await mkdir(mismatchesOf(state))
}

/** Resolves when nothing is known against any skill. */
async function forgotten({ state }: Mirror): Promise<void> {
  while ((await readFile(mismatchesOf(state), 'utf8')) !== '{}')
    await new Promise((resolve) => void setImmediate(resolve))
}

function mismatchesOf(state: string): string {
  return join(state, 'upstreams/au/mismatches.json')
}

async function replyTo(mirror: Mirror, method: string, params: object): Promise<string> {
  return JSON.stringify(await mirror.peer.call(method, params))
}

async function answerAt(mirror: Mirror, path: string): Promise<string> {
  return (await fetch(new URL(path, mirror.url))).text()
}
