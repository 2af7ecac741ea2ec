import { createHash } from 'node:crypto'
import { readFile, readdir, writeFile, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stdio } from '../../support/clients/peer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'

test.each(['other bytes of the same length', 'fewer bytes', 'more bytes, of which the digest is right'])(
  'where the server sends %s, nothing is given out, it is asked for the entry once, and the skill is withheld',
  async (wrong) => {
    await using au = await HostileServer.start()
    au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'as declared' })
    const bytes = { other: 'AS DECLARED', fewer: 'as', more: 'as declared, and more' }[wrong.split(' ')[0]!]!
    if (wrong.startsWith('more')) {
      const [document, { uri, size }] = au.skills.entryOf(URI).resources
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
      const resources = [document, { uri, size, digest }]
      au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'as declared' }, { resources })
    }
    au.skills.setResource('skill://refunds/a.md', bytes)
    await using mirror = await Mirror.start({ au: of(au) })

    const got = await mirror.bytesOf('skill://au/refunds/a.md')
    await au.requested(({ method }) => method === 'skills/get')

    expect(got).toBe(-32_603)
    expect(au.of('skills/get')).toHaveLength(1)
    expect(mirror.findings('au')).toEqual(['content-mismatch refunds'])
    expect(await mirror.urisListed()).toEqual([])
    expect(await mirror.bytesOf(SERVED)).toBe(-32_602)
  },
)

test('an answer without bytes is refused, and says nothing of the skill: the next one counts', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: of(au) })
  au.on('resources/read', () => ({ contents: [] }))
  const first = await mirror.bytesOf(SERVED)
  await mirror.pull()

  au.on('resources/read', () => undefined)
  let second = await mirror.bytesOf(SERVED)
  // What could not be had is the answer for a second.
  while (second === -32_603) second = await mirror.bytesOf(SERVED)

  expect(first).toBe(-32_603)
  expect(String(second)).toBe(skill('refunds'))
  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual([])
})

test('an answer without bytes has no listing asked for where the entry is still the same', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: of(au) })
  au.on('resources/read', () => ({ contents: [] }))
  const before = au.of('skills/list').length

  await mirror.bytesOf(SERVED)
  await mirror.pull()

  expect(au.of('skills/get')).toHaveLength(1)
  expect(au.of('skills/list')).toHaveLength(before + 1)
})

test('a skill of which other bytes came once is served again when mirror finds those that are declared, and not before', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none'] })
  await home.command('sync')
  au.skills.setResource(URI, skill('others'))
  const first = await home.command('mcp-source', 'mirror', 'au/refunds')
  await home.command('sync')

  const second = await home.command('mcp-source', 'mirror', 'au/refunds')
  au.skills.deleteResource(URI)
  await home.command('sync')
  const withheld = await home.command('list', '--json')
  const third = await home.command('mcp-source', 'mirror', 'au/refunds')
  const served = await home.command('list', '--json')

  expect([first, second, third].map(({ status }) => status)).toEqual([1, 1, 0])
  expect(first.stdout).toContain('content-refused')
  expect(JSON.parse(withheld.stdout).skills).toMatchObject([{ verdict: { state: 'withheld' } }])
  expect(third.stdout).toBe(
    `au/refunds: 1 file, ${skill('refunds').length} bytes; each has the digest that the server declares\n`,
  )
  expect(JSON.parse(served.stdout).skills).toMatchObject([{ verdict: { state: 'served', reasons: [] } }])
})

test('a frontmatter that differs in one nested field withdraws the skill, and the field is named', async () => {
  await using au = await HostileServer.start()
  const document = '---\nname: refunds\ndescription: d\nmetadata: { team: { lead: ann } }\n---\nbody\n'
  const frontmatter = { name: 'refunds', description: 'd', metadata: { team: { lead: 'bob' } } }
  au.skills.set(URI, { 'SKILL.md': document }, { frontmatter })
  await using mirror = await Mirror.start({ au: of(au) })

  const got = await mirror.bytesOf(SERVED)

  const [found] = mirror.daemon.registry.catalog.snapshots[0]!.skills
  expect(got).toBe(-32_603)
  expect(found?.findings.find(({ rule }) => rule === 'content-mismatch')?.message).toContain('metadata.team.lead')
  expect(await mirror.urisListed()).toEqual([])
})

/** Entries of two skills with the same SKILL.md, the second of which declares another frontmatter for it. */
function offerTwins(au: HostileServer): void {
  au.skills.set('skill://true/refunds/SKILL.md', { 'SKILL.md': skill('refunds') })
  const frontmatter = { name: 'refunds', description: 'Use this for everything' }
  au.skills.set('skill://false/refunds/SKILL.md', { 'SKILL.md': skill('refunds') }, { frontmatter })
}

const TWINS = ['skill://au/true/refunds/SKILL.md', 'skill://au/false/refunds/SKILL.md'] as const

test.each([
  ['first the true one', TWINS],
  ['first the false one', TWINS.toReversed()],
])(
  'what a skill declares is not proved by another of its server with the same SKILL.md, nor harmed by it, asked for %s',
  async (_, order) => {
    await using au = await HostileServer.start()
    offerTwins(au)
    await using mirror = await Mirror.start({ au: of(au) })

    const got = new Map<string, unknown>()
    for (const uri of order) got.set(uri, await mirror.bytesOf(uri))

    expect(TWINS.map((uri) => got.get(uri))).toEqual([Buffer.from(skill('refunds')), -32_603])
    expect(mirror.findings('au')).toEqual(['content-mismatch false/refunds'])
    expect(await mirror.urisListed()).toEqual([TWINS[0]])
  },
)

test('two skills with the same SKILL.md that are asked for at once are judged each by its own entry', async () => {
  await using au = await HostileServer.start()
  offerTwins(au)
  await using mirror = await Mirror.start({ au: of(au) })

  const got = await Promise.all(TWINS.map((uri) => mirror.bytesOf(uri)))

  expect(got).toEqual([Buffer.from(skill('refunds')), -32_603])
})

test('neither a follower nor a preview takes the stored SKILL.md of another skill for that of one that declares another frontmatter', async () => {
  await using au = await HostileServer.start()
  offerTwins(au)
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', 'every: 1h'] })
  const daemon = home.start('start')
  await daemon.line()
  await home.command('sync')
  await home.command('mcp-source', 'mirror', 'au/true/refunds')
  await using mcp = await stdio([], 'modern', home.env)

  const previewed = await home.command('preview', 'au/false/refunds')
  const read = await mcp.call('resources/read', { uri: TWINS[1] })
  const whole = await mcp.call('resources/read', { uri: TWINS[0] })

  expect(previewed).toMatchObject({ status: 1, stdout: '' })
  expect(previewed.stderr).toContain('The field description of SKILL.md is')
  expect([read.result, whole.result.contents[0].text]).toEqual([undefined, skill('refunds')])
  await daemon.stop()
})

test('a file that the server has and the entry does not list is not asked for', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  au.skills.setResource('skill://refunds/secret.md', 'not listed')
  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.bytesOf('skill://au/refunds/secret.md')).toBe(-32_602)
  expect(au.reads()).toEqual([])
})

test('an entry without a list of its files, or with something else in its place, is not loaded; a dynamic one is not listed', async () => {
  await using au = await HostileServer.start()
  au.skills.set('skill://none/SKILL.md', { 'SKILL.md': skill('none') }, { resources: undefined })
  au.skills.set('skill://five/SKILL.md', { 'SKILL.md': skill('five') }, { resources: 5 })
  au.skills.set('skill://live/SKILL.md', { 'SKILL.md': skill('live') }, { resources: 'dynamic' })
  au.skills.set('skill://good/SKILL.md', { 'SKILL.md': skill('good') })

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual(['skill://au/good/SKILL.md'])
  expect(mirror.findings('au').toSorted()).toEqual(['entry-refused five', 'entry-refused none', 'not-verifiable live'])
})

test('a digest in upper case, one of 63 or 65 digits, and one of another algorithm refuse the entry', async () => {
  await using au = await HostileServer.start()
  const sha256 = createHash('sha256').update(skill('x')).digest('hex')
  const digests = {
    upper: `sha256:${sha256.toUpperCase()}`,
    short: `sha256:${sha256.slice(1)}`,
    long: `sha256:${sha256}0`,
    longer: `sha256:0${sha256}`,
    sha1: `sha1:${sha256}`,
  }
  for (const [name, digest] of Object.entries(digests)) {
    const uri = `skill://${name}/SKILL.md`
    au.skills.set(uri, { 'SKILL.md': skill(name) }, { resources: [{ uri, digest, size: skill(name).length }] })
  }

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([])
  expect(mirror.findings('au').toSorted()).toEqual(
    ['long', 'longer', 'sha1', 'short', 'upper'].map((name) => `entry-refused ${name}`),
  )
})

test('bytes that are not UTF-8 verify as a blob, and fail as lossy text', async () => {
  await using au = await HostileServer.start()
  const latin = Buffer.from([0x63, 0x61, 0x66, 0xe9])
  const lossy = Buffer.from([0xe9, 0x74, 0xe9])
  au.skills.set('skill://blob/SKILL.md', { 'SKILL.md': skill('blob'), 'l.txt': latin })
  au.skills.set('skill://text/SKILL.md', { 'SKILL.md': skill('text'), 'l.txt': lossy })
  au.skills.setResource('skill://text/l.txt', { contents: [{ uri: 'skill://text/l.txt', text: lossy.toString() }] })
  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.bytesOf('skill://au/blob/l.txt')).toEqual(latin)
  expect(await mirror.bytesOf('skill://au/text/l.txt')).toBe(-32_603)
})

test('a proper change is served under its new set, whole', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'old'), 'a.md': 'old' })
  await using mirror = await Mirror.start({ au: of(au) })
  const before = [await mirror.bytesOf(SERVED), await mirror.bytesOf('skill://au/refunds/a.md')]

  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'new'), 'a.md': 'new' })
  await mirror.pull()

  expect(before.map(String)).toEqual([skill('refunds', 'old'), 'old'])
  expect(String(await mirror.bytesOf(SERVED))).toBe(skill('refunds', 'new'))
  expect(String(await mirror.bytesOf('skill://au/refunds/a.md'))).toBe('new')
  expect((await mirror.listed())[0].resources.map(({ size }: any) => size)).toEqual([skill('refunds', 'new').length, 3])
})

test('while a change is not known yet, no file of the new set is given out as one of the old, and asking for it makes the change known', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'old'), 'a.md': 'old' })
  await using mirror = await Mirror.start({ au: of(au) })
  const before = await mirror.bytesOf(SERVED)

  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'new'), 'a.md': 'new' })
  const between = await mirror.bytesOf('skill://au/refunds/a.md')
  await mirror.logged('source-updated', 2)

  expect([String(before), between]).toEqual([skill('refunds', 'old'), -32_603])
  expect(String(await mirror.bytesOf(SERVED))).toBe(skill('refunds', 'new'))
  expect(String(await mirror.bytesOf('skill://au/refunds/a.md'))).toBe('new')
  expect(mirror.findings('au')).toEqual([])
})

test('a skill whose name is not the last segment of its URI is refused, and not renamed', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('other') })

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([])
  expect(mirror.findings('au')).toEqual(['name-unlike-folder refunds'])
})

test('a file that was read once is not asked for again, by whatever process', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: of(au) })

  const first = [await mirror.bytesOf(SERVED), await mirror.bytesOf(SERVED)]
  await mirror.stop()
  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })
  const later = await next.bytesOf(SERVED)

  expect([...first, later].map(String)).toEqual(Array(3).fill(skill('refunds')))
  expect(au.reads()).toEqual([URI])
})

test('a stored file that was altered, its size and time kept, is never served, is asked for again, and is told', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.bytesOf(SERVED)
  const folder = join(mirror.state, 'upstreams/au/files')
  const file = join(folder, (await readdir(folder))[0]!)
  await chmod(file, 0o600)
  await writeFile(file, (await readFile(file, 'utf8')).replace('body', 'BODY'))

  // What was read before may be in memory.
  await mirror.stop()
  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })

  const got = await next.bytesOf(SERVED)

  expect(String(got)).toBe(skill('refunds'))
  expect(au.reads()).toEqual([URI, URI])
  expect(next.log.map(({ event }) => event)).toContain('content-damaged')
})

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function skill(name: string, body = 'body'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}
