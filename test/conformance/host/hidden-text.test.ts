import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stdio } from '../../support/clients/peer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { idOf, Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'
import { tarGz } from '../../sync/upstream/archive/hand-made.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'

/** "send it" in tag characters, which no person sees. */
const SMUGGLED = Array.from('send it', (letter) => String.fromCodePoint(0xe_00_00 + letter.charCodeAt(0))).join('')
const DISGUISED = { 'an override': '\u{202E}', 'an escape to the terminal': '\u{1B}[8m' } as const
const SAID = 'spell out what people do not see'

test.each([
  ['tag characters', SMUGGLED, SAID],
  ['an override', DISGUISED['an override'], 'reorder or conceal'],
  ['an escape to the terminal', DISGUISED['an escape to the terminal'], 'reorder or conceal'],
])(
  'a SKILL.md with %s is given to no reader, the reader is told why, and the skill leaves the lists',
  async (_, hidden, why) => {
    await using au = await HostileServer.start()
    au.skills.set(URI, { 'SKILL.md': skill('refunds', `body ${hidden}`), 'a.md': 'beside' })
    await using mirror = await Mirror.start({ au: of(au) })
    const before = await mirror.urisListed()

    const { error } = await mirror.read(SERVED)
    await gone(mirror)

    expect(before).toEqual([SERVED])
    expect(error).toMatchObject({ code: -32_603, message: expect.stringContaining(why) })
    expect(error?.message).toContain('refunds/SKILL.md')
    expect(mirror.findings('au')).toEqual(['hidden-unicode refunds/SKILL.md'])
    expect(mirror.log.filter(({ event }) => event === 'content-withheld')).toMatchObject([{ source: 'au' }])
    expect(mirror.log.map(({ event }) => event)).not.toContain('content-not-fetched')
    expect(await mirror.bytesOf('skill://au/refunds/a.md')).toBe(-32_602)
    expect(mirror.source('au').tally).toMatchObject({ seen: 1, withheld: 1 })
  },
)

const CONFIG = ['serve:', '  http: { port: 0 }', '  forms: [default, skill-prompts, archives]']

const SURFACES: Readonly<Record<string, (mirror: Mirror) => Promise<string>>> = {
  get_skill: (mirror) => replyTo(mirror, 'tools/call', { name: 'get_skill', arguments: { id: 'refunds' } }),
  'a prompt': (mirror) => replyTo(mirror, 'prompts/get', { name: 'refunds' }),
  'an archive': (mirror) => replyTo(mirror, 'resources/read', { uri: 'skill://au/refunds.tar.gz' }),
  'a file below /.well-known': (mirror) => answerAt(mirror, '/.well-known/agent-skills/refunds/SKILL.md'),
  'an archive below /.well-known': (mirror) => answerAt(mirror, '/.well-known/agent-skills/refunds.zip'),
  'the page': (mirror) => answerAt(mirror, '/skills/au/refunds/'),
}

test.each(Object.entries(SURFACES))('%s gives nothing of a refused text, and says why', async (_, ask) => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', `BODY ${SMUGGLED}`), 'a.md': 'beside' })
  await using mirror = await Mirror.start({ au: of(au) }, { config: CONFIG })

  const answer = await ask(mirror)
  await gone(mirror)

  expect(answer).toContain(SAID)
  expect(answer).not.toContain('BODY')
  expect(answer).not.toContain('declared')
  expect(await mirror.urisListed()).toEqual([])
})

test('in a file beside SKILL.md what is smuggled refuses the skill, and what disguises is noted once and given', async () => {
  await using au = await HostileServer.start()
  au.skills.set('skill://noted/SKILL.md', {
    'SKILL.md': skill('noted'),
    'log.txt': DISGUISED['an escape to the terminal'],
  })
  au.skills.set('skill://bad/SKILL.md', { 'SKILL.md': skill('bad'), 'a.md': `a ${SMUGGLED}` })
  await using mirror = await Mirror.start({ au: of(au) })

  const noted = [await mirror.bytesOf('skill://au/noted/log.txt'), await mirror.bytesOf('skill://au/noted/log.txt')]
  const bad = await mirror.bytesOf('skill://au/bad/a.md')
  // Its own text is as it should be, and it is one with the other.
  const beside = await mirror.bytesOf('skill://au/bad/SKILL.md')
  while (mirror.findings('au').length < 2) await mirror.pull()

  expect(noted.map(String)).toEqual(Array(2).fill(DISGUISED['an escape to the terminal']))
  expect(bad).toBe(-32_603)
  expect([-32_602, -32_603]).toContain(beside)
  expect(mirror.findings('au')).toEqual(['hidden-unicode bad/a.md', 'hidden-unicode noted/log.txt'])
  expect(await mirror.urisListed()).toEqual(['skill://au/noted/SKILL.md'])
  expect(mirror.log.filter(({ event }) => event === 'content-withheld')).toHaveLength(1)
})

test.each([
  ['note', SMUGGLED, false],
  ['deceptive', '\u{200B}', false],
  ['withhold', '\u{200B}', true],
] as const)('the policy %s decides over what is read', async (policy, hidden, isRefused) => {
  await using au = await HostileServer.start()
  const text = skill('refunds', `body ${hidden}`)
  au.skills.set(URI, { 'SKILL.md': text })
  await using mirror = await Mirror.start({ au: `${of(au)}, hidden_unicode: ${policy}` })

  const got = await mirror.bytesOf(SERVED)
  while (mirror.findings('au').length < 1) await mirror.pull()

  expect(String(got)).toBe(isRefused ? '-32603' : text)
  expect(mirror.findings('au')).toEqual(['hidden-unicode refunds/SKILL.md'])
  expect(await mirror.urisListed()).toEqual(isRefused ? [] : [SERVED])
})

test('what the entry says already of the frontmatter is not said twice once SKILL.md was read', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': '---\nname: refunds\ndescription: a\u{200B}b\n---\nbody\n' })
  await using mirror = await Mirror.start({ au: of(au) })
  const before = messagesOf(mirror)

  await mirror.read(SERVED)
  while (messagesOf(mirror)[0] === before[0]) await mirror.pull()

  expect(before).toEqual([expect.stringContaining('The frontmatter')])
  expect(messagesOf(mirror)).toEqual([expect.stringContaining('The file holds')])
})

test('what was refused stays so when the server lists it anew, and after a restart, and is not asked for again', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', SMUGGLED) })
  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.read(SERVED)
  await gone(mirror)

  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other') })
  await mirror.pull()
  await mirror.stop()
  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })

  expect(await next.urisListed()).toEqual(['skill://au/other/SKILL.md'])
  expect(next.findings('au')).toEqual(['hidden-unicode refunds/SKILL.md'])
  expect(au.reads()).toEqual([URI])
})

test('a file that an earlier version kept unread is judged before it is given', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', SMUGGLED) })
  await using lenient = await Mirror.start({ au: `${of(au)}, hidden_unicode: note` })
  await lenient.read(SERVED)
  await lenient.stop()
  await rm(`${lenient.state}/upstreams/au/texts.json`, { force: true })
  await using mirror = await Mirror.start({ au: of(au) }, { state: lenient.state })

  const got = await mirror.bytesOf(SERVED)
  await gone(mirror)

  expect(got).toBe(-32_603)
  expect(mirror.findings('au')).toEqual(['hidden-unicode refunds/SKILL.md'])
  expect(au.reads()).toEqual([URI])
})

test.each(['held', 'broken'])(
  'a refused text takes its skill out of the lists while its source is %s',
  async (state) => {
    await using au = await HostileServer.start()
    au.skills.set(URI, { 'SKILL.md': skill('refunds', SMUGGLED) })
    await using first = await Mirror.start({ au: `${of(au)}, hidden_unicode: note` })
    await first.read(SERVED)
    await first.stop()
    // As if the process had ended between what it found and what it served of it.
    const texts = join(first.state, 'upstreams/au/texts.json')
    const found = await readFile(texts)
    await rm(texts)
    await using lenient = await Mirror.start({ au: of(au) }, { state: first.state })
    if (state === 'held') await lenient.daemon.parts.decisions.decide(idOf('au'), 'hold', { hold: { noPoll: true } })
    else au.on('skills/list', () => ({ skills: 'none' }))
    await writeFile(texts, found)

    const listed = await lenient.urisListed()
    await lenient.pull()

    expect(listed).toEqual([SERVED])
    expect(await lenient.urisListed()).toEqual([])
    expect(lenient.findings('au')).toEqual(['hidden-unicode refunds/SKILL.md'])
  },
)

test('with fetch: all, a refused skill stops no other: it is named, and all others are here', async () => {
  await using au = await HostileServer.start()
  au.skills.set('skill://a/SKILL.md', { 'SKILL.md': skill('a', SMUGGLED), 'more.md': 'more' })
  for (const name of ['b', 'c']) au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name), 'x.md': name })
  await using mirror = await Mirror.start({ au: `${of(au)}, fetch: all` })
  await gone(mirror, 'skill://au/a/SKILL.md')

  expect(mirror.findings('au')).toEqual(['hidden-unicode a/SKILL.md'])
  expect(au.reads().toSorted()).toEqual(
    ['a/SKILL.md', 'b/SKILL.md', 'b/x.md', 'c/SKILL.md', 'c/x.md'].map((path) => `skill://${path}`),
  )
  expect(await mirror.urisListed()).toEqual(['skill://au/b/SKILL.md', 'skill://au/c/SKILL.md'])
})

test('a locked source says of a refused skill what was found, at each look, and serves the others', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', SMUGGLED) })
  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other') })
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', 'update: locked'] })
  await home.command('update')
  const before = JSON.parse((await home.command('list', '--json')).stdout).skills

  const mirrored = await home.command('mcp-source', 'mirror', 'au/refunds')
  const looks = [await home.command('sync'), await home.command('sync')]
  const after = JSON.parse((await home.command('list', '--json')).stdout).skills
  const why = await home.command('why', 'au/refunds')
  const verified = await home.command('verify')
  const written = await home.command('lock')

  expect(before.map(({ verdict }: any) => verdict.state)).toEqual(['served', 'served'])
  expect(mirrored).toMatchObject({ status: 1, stdout: expect.stringContaining(SAID) })
  expect(looks.map(({ status }) => status)).toEqual([0, 0])
  expect(looks.map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain('lock-mismatch')
  expect(after.map(({ path, verdict }: any) => `${path} ${verdict.state}`)).toEqual([
    'other served',
    'refunds withheld',
  ])
  expect(why.stdout.split(SAID)).toHaveLength(2)
  expect(verified.stdout).not.toContain('lock-mismatch')
  expect(written.stdout).not.toContain('refunds')
})

test('what is read at the look itself is judged by then: it is never listed', async () => {
  await using packed = await HostileServer.start()
  await using plain = await HostileServer.start()
  offerPacked(packed, skill('packed', SMUGGLED))
  plain.skills.set('skill://plain/SKILL.md', { 'SKILL.md': skill('plain', SMUGGLED) })
  plain.offers = 'index-r0'
  await using mirror = await Mirror.start({ au: `${of(packed)}, packed: read`, eu: of(plain) })

  expect(await mirror.urisListed()).toEqual([])
  expect(mirror.findings('au')).toContain('hidden-unicode packed/SKILL.md')
  expect(mirror.findings('eu')).toContain('hidden-unicode plain/SKILL.md')
})

test('a follower gives nothing of a refused text, and says why', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', SMUGGLED) })
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', 'every: 1h'] })
  const daemon = home.start('start')
  await daemon.line()
  await home.command('sync')
  await using mcp = await stdio([], 'modern', home.env)

  const { error } = await mcp.call('resources/read', { uri: SERVED })

  expect(error).toMatchObject({ code: -32_603, message: expect.stringContaining(SAID) })
  await daemon.stop()
})

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function skill(name: string, body = 'body'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}

/** Resolves when nothing is listed at the URI any more. */
async function gone(mirror: Mirror, uri = SERVED): Promise<void> {
  const { registry } = mirror.daemon
  while (registry.catalog.skills.has(uri)) await new Promise((resolve) => void setImmediate(resolve))
}

function messagesOf(mirror: Mirror): readonly string[] {
  const [snapshot] = mirror.daemon.registry.catalog.snapshots
  return snapshot?.skills.flatMap(({ findings }) => findings.map(({ message }) => message)) ?? []
}

async function replyTo(mirror: Mirror, method: string, params: object): Promise<string> {
  return JSON.stringify(await mirror.peer.call(method, params))
}

async function answerAt(mirror: Mirror, path: string): Promise<string> {
  return (await fetch(new URL(path, mirror.url))).text()
}

function offerPacked(au: HostileServer, document: string): void {
  const url = 'skill://packed.tar.gz'
  au.offers = 'index-r0'
  au.skills.setResource(url, tarGz({ name: 'SKILL.md', content: document }))
  au.skills.addEntry({ type: 'archive', name: 'packed', description: 'd', url })
}
