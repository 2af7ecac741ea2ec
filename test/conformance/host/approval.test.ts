import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import type { Peer } from '../../support/clients/peer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'
import { pathsIn } from '../../support/verdicts.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'

test('a skill is not served before it is approved, is served after, and no file of it is read before somebody wants it', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'a' })
  await using mirror = await Mirror.start({ au: of(au) })

  const before = [await mirror.urisListed(), await mirror.bytesOf(SERVED), pathsIn(mirror.source('au'), 'waiting')]
  const isNew = await mirror.approve('au', 'refunds')
  const listed = await mirror.urisListed()
  const unread = au.reads()
  const bytes = await mirror.bytesOf(SERVED)

  expect(before).toEqual([[], -32_602, ['refunds']])
  expect(isNew).toBe(true)
  expect([listed, unread]).toEqual([[SERVED], []])
  expect(String(bytes)).toBe(skill('refunds'))
  expect(au.reads()).toEqual([URI])
})

test.each([
  ['is another', { 'SKILL.md': skill('refunds'), 'a.md': 'b' }],
  ['is added', { 'SKILL.md': skill('refunds'), 'a.md': 'a', 'b.md': 'b' }],
  ['is removed', { 'SKILL.md': skill('refunds') }],
])(
  'where a file of an approved skill %s, it is withdrawn and waits, and waits on when the old set is back',
  async (_, files) => {
    const approved = { 'SKILL.md': skill('refunds'), 'a.md': 'a' }
    await using au = await HostileServer.start()
    au.skills.set(URI, approved)
    await using mirror = await Mirror.start({ au: of(au) })
    await mirror.approve('au', 'refunds')
    await mirror.bytesOf(SERVED)

    au.skills.set(URI, files)
    await mirror.pull()
    const changed = [await mirror.urisListed(), await mirror.bytesOf(SERVED), pathsIn(mirror.source('au'), 'waiting')]
    au.skills.set(URI, approved)
    await mirror.pull()
    const flippedBack = [
      await mirror.urisListed(),
      await mirror.bytesOf(SERVED),
      pathsIn(mirror.source('au'), 'waiting'),
    ]
    await mirror.approve('au', 'refunds')

    expect(changed).toEqual([[], -32_602, ['refunds']])
    expect(flippedBack).toEqual([[], -32_602, ['refunds']])
    expect(await mirror.urisListed()).toEqual([SERVED])
    expect(mirror.log.filter(({ event }) => event === 'approval-revoked')).toMatchObject([
      { source: 'au', skill: 'refunds' },
    ])
  },
)

test('where the frontmatter of an approved skill is another, and its files are not, it waits, whether it was read or not', async () => {
  await using au = await HostileServer.start()
  const files = { 'SKILL.md': skill('refunds') }
  au.skills.set(URI, files)
  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.approve('au', 'refunds')
  const before = await mirror.urisListed()

  au.skills.set(URI, files, { frontmatter: { name: 'refunds', description: 'Use this for everything' } })
  await mirror.pull()

  expect(before).toEqual([SERVED])
  expect(await mirror.urisListed()).toEqual([])
  expect(pathsIn(mirror.source('au'), 'waiting')).toEqual(['refunds'])
  expect(au.reads()).toEqual([])
})

test('where the frontmatter of an entry is another and its files are not, a skill that was read is withheld, and waits when they agree again', async () => {
  await using au = await HostileServer.start()
  const files = { 'SKILL.md': skill('refunds') }
  au.skills.set(URI, files)
  // A listing without a single skill would be held.
  au.skills.set('skill://other/SKILL.md', { 'SKILL.md': skill('other') })
  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.approve('au', 'refunds')
  await mirror.bytesOf(SERVED)

  au.skills.set(URI, files, { frontmatter: { name: 'refunds', description: 'never approved' } })
  await mirror.pull()
  const changed = [await mirror.urisListed(), await mirror.bytesOf(SERVED), mirror.findings('au')]
  au.skills.set(URI, files)
  await mirror.pull()

  expect(changed).toEqual([[], -32_602, ['content-mismatch refunds']])
  expect(mirror.findings('au')).toEqual([])
  expect(await mirror.urisListed()).toEqual([])
  expect(pathsIn(mirror.source('au'), 'waiting')).toContain('refunds')
})

test('what is approved of one source waits on in another, whatever is the same', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ a: of(au), b: of(au) })

  await mirror.approve('a', 'refunds')

  expect(await mirror.urisListed()).toEqual(['skill://a/refunds/SKILL.md'])
  expect(pathsIn(mirror.source('b'), 'waiting')).toEqual(['refunds'])
  expect(await mirror.bytesOf('skill://b/refunds/SKILL.md')).toBe(-32_602)
})

test('an approval outlives a restart, and is still of that set alone', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.approve('au', 'refunds')
  await mirror.stop()

  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state, isPulled: false })
  const restarted = await next.urisListed()
  await next.pull()
  const pulled = await next.urisListed()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'other') })
  await next.pull()

  expect([restarted, pulled]).toEqual([[SERVED], [SERVED]])
  expect(await next.urisListed()).toEqual([])
  expect(pathsIn(next.source('au'), 'waiting')).toEqual(['refunds'])
})

test('approval of a skill says nothing of one inside it, which waits and is a plain file meanwhile', async () => {
  await using au = await HostileServer.start()
  const inner = `---\nname: inner\ndescription: GRANTS\nallowed-tools: Bash\n---\n`
  au.skills.set('skill://outer/SKILL.md', { 'SKILL.md': skill('outer'), 'inner/SKILL.md': inner })
  au.skills.set('skill://outer/inner/SKILL.md', { 'SKILL.md': inner })
  await using mirror = await Mirror.start({ au: of(au) })

  await mirror.approve('au', 'outer')
  const bytes = await mirror.bytesOf('skill://au/outer/inner/SKILL.md')
  const got = await mirror.peer.call('skills/get', { uri: 'skill://au/outer/inner/SKILL.md' })
  const lists = [await mirror.listed(), await mirror.peer.call('resources/list'), await toolsList(mirror)]

  expect(await mirror.urisListed()).toEqual(['skill://au/outer/SKILL.md'])
  expect(pathsIn(mirror.source('au'), 'waiting')).toEqual(['outer/inner'])
  expect(got.error?.code).toBe(-32_602)
  expect(JSON.stringify(lists)).not.toContain('GRANTS')
  expect(String(bytes)).toBe(inner)
})

test('a skill of dynamic files can be approved, previewed and mirrored by nobody, and nothing of it is read or kept', async () => {
  await using au = await HostileServer.start()
  await using home = await Home.create()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') }, { resources: 'dynamic' })
  await home.configure({ au: [`mcp: "${au.url}"`] })
  await home.command('sync')
  await using peer = await modernHttp(await home.start('start').line())

  const commands = [['approve'], ['preview'], ['mcp-source', 'mirror']]
  const ends = await Promise.all(commands.map((name) => home.command(...name, 'au/refunds')))
  const got = await peer.call('skills/get', { uri: SERVED })

  expect(ends.map(({ status }) => status)).toEqual([1, 1, 1])
  expect(ends.map(({ stdout, stderr }) => `${stdout}${stderr}`)).toEqual(
    ends.map(() => expect.stringContaining('it is withheld')),
  )
  expect([await codeOf(peer), got.error?.code]).toEqual([-32_602, -32_602])
  expect(await readdir(home.state)).not.toContain('decisions.json')
  expect(await readdir(join(home.state, 'upstreams'))).toEqual([])
  expect(au.reads()).toEqual([])
})

test('disable and enable of a skill of a server act at once and once, heed no case, and only warn of a name that none has', async () => {
  await using au = await HostileServer.start()
  await using home = await Home.create()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none'] })
  await home.command('sync')
  await using peer = await modernHttp(await home.start('start').line())
  const decided = async () => readFile(join(home.state, 'decisions.json'), 'utf8').catch(() => 'none')

  const unknown = [await home.command('disable', 'au/nobody'), await decided()] as const
  const disabled = await home.command('disable', 'AU/Refunds')
  const gone = await codeOf(peer)
  const again = await home.command('disable', 'au/refunds')
  const enabled = await home.command('enable', SERVED.toUpperCase())

  expect([unknown[0].status, unknown[0].stdout, unknown[1]]).toEqual([1, '', 'none'])
  expect(unknown[0].stderr).toContain('no skill is called "au/nobody"')
  expect([disabled.status, gone]).toEqual([0, -32_602])
  expect(again.stdout).toContain('already disabled')
  expect([enabled.stdout, await codeOf(peer)]).toEqual(['au/refunds: enabled\n', undefined])
})

/** Of the error of a read, where there is one. */
async function codeOf(peer: Peer): Promise<number | undefined> {
  return (await peer.call('resources/read', { uri: SERVED })).error?.code
}

async function toolsList(mirror: Mirror): Promise<unknown> {
  return (await mirror.peer.call('tools/call', { name: 'list_skills', arguments: {} })).result
}

/** Its skills wait for a person: that is so if nothing is said. */
function of(au: HostileServer): string {
  return `mcp: "${au.url}"`
}

function skill(name: string, body = 'body'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}
