import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'

const URI = 'skill://live/SKILL.md'
const SERVED = 'skill://au/live/SKILL.md'
const MIB = 2 ** 20

test('with the switch on, a dynamic skill is answered by its URI as it was at the last look, and stands in no list', async () => {
  await using au = await HostileServer.start()
  dynamic(au, { 'a.md': 'one' })
  await using mirror = await Mirror.start({ au: live(au) })
  mirror.daemon.poll()
  await au.streaming(1)
  const first = await mirror.bytesOf('skill://au/live/a.md')

  dynamic(au, { 'a.md': 'other' })
  const meanwhile = await mirror.bytesOf('skill://au/live/a.md')
  au.notify('notifications/resources/list_changed')
  await mirror.logged('source-updated', 2)

  const { result } = await mirror.peer.call('skills/get', { uri: SERVED })
  expect([String(first), String(meanwhile)]).toEqual(['one', 'one'])
  expect(await mirror.urisListed()).toEqual([])
  expect(result.skill.resources.map(({ uri, size }: any) => [uri, size])).toEqual([
    [SERVED, DOCUMENT.length],
    ['skill://au/live/a.md', 5],
  ])
  expect(String(await mirror.bytesOf('skill://au/live/a.md'))).toBe('other')
  expect(mirror.findings('au')).toEqual(['not-verifiable live'])
})

test('of a dynamic skill whose SKILL.md says something else than its entry, nothing is served', async () => {
  await using au = await HostileServer.start()
  const frontmatter = { name: 'live', description: 'another' }
  au.skills.set(URI, { 'SKILL.md': DOCUMENT }, { resources: 'dynamic', frontmatter })

  await using mirror = await Mirror.start({ au: live(au) })

  expect(mirror.findings('au')).toEqual(['content-mismatch live'])
  expect(await mirror.bytesOf(SERVED)).toBe(-32_602)
})

test('of a dynamic skill whose files come to more than one skill may have, no more is read than that', async () => {
  await using au = await HostileServer.start()
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}.bin`, Buffer.alloc(MIB, 0xff)]))
  dynamic(au, files)
  // Nothing says beforehand how large they are.
  au.on('resources/directory/read', () => ({
    resources: Object.keys(files).map((path) => ({ uri: `skill://live/${path}`, name: path })),
  }))

  await using mirror = await Mirror.start({ au: live(au) })

  expect(mirror.findings('au')).toEqual(['limit-bytes live'])
  // SKILL.md, fifteen files of 1 MiB, and the one that no longer finds room.
  expect(au.reads()).toHaveLength(17)
  expect(await mirror.bytesOf(SERVED)).toBe(-32_602)
})

test('of a dynamic skill with more files than one skill may have, none is read', async () => {
  await using au = await HostileServer.start()
  dynamic(au, Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`${at}.md`, 'x'])))

  await using mirror = await Mirror.start({ au: live(au) })

  expect(mirror.findings('au')).toEqual(['limit-files live'])
  expect(au.reads()).toEqual([])
})

test('where skills wait for a person, a dynamic one cannot be approved, and nothing is kept of the attempt', async () => {
  await using au = await HostileServer.start()
  dynamic(au, {})
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`] })
  await home.command('sync')

  const { status, stderr } = await home.command('approve', 'au/live')
  const list = await home.command('list', '--json')

  expect(status).not.toBe(0)
  expect(stderr).toContain('Cannot approve "au/live": it is withheld')
  expect(JSON.parse(list.stdout).skills).toMatchObject([{ path: 'live', verdict: { state: 'withheld' } }])
  await expect(readFile(join(home.state, 'decisions.json'), 'utf8')).rejects.toThrow('ENOENT')
  expect(au.reads()).toEqual([])
})

test('a skill whose server tells no sizes is listed once it is mirrored, with those of its bytes, and no other is', async () => {
  await using au = await HostileServer.start()
  unsized(au, 'one', 'a')
  unsized(au, 'two', 'a')
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none'] })
  await home.command('sync')
  const before = au.reads()

  const mirrored = await home.command('mcp-source', 'mirror', 'au/one')
  const first = [await shownBy(home, 'au/one'), await shownBy(home, 'au/two')]
  await home.command('sync')
  const reads = au.reads()
  unsized(au, 'one', 'longer')
  await home.command('sync')
  const second = [await shownBy(home, 'au/one'), await shownBy(home, 'au/two')]

  expect(before).toEqual([])
  expect(mirrored).toMatchObject({
    status: 0,
    stdout: `au/one: 2 files, ${DOCUMENT.length} bytes; each has the digest that the server declares\n`,
  })
  const sizes = (skills: readonly any[]): unknown =>
    skills.map(({ path, verdict, files }) => [path, verdict.state, files.map(({ size }: any) => size)])
  expect(sizes(first)).toEqual([
    ['one', 'served', [documentOf('one').length, 1]],
    ['two', 'withheld', []],
  ])
  expect(reads).toEqual(['skill://one/SKILL.md', 'skill://one/a.md'])
  expect(sizes(second)).toEqual([
    ['one', 'served', [documentOf('one').length, 6]],
    ['two', 'withheld', []],
  ])
})

test('where the sizes of a skill are known from a list alone, bytes that differ are refused, and the entry is asked for once', async () => {
  await using au = await HostileServer.start()
  unsized(au, 'one', 'a')
  au.on('resources/list', () => ({
    resources: [
      { uri: 'skill://one/SKILL.md', name: 'SKILL.md', size: documentOf('one').length },
      { uri: 'skill://one/a.md', name: 'a.md', size: 1 },
    ],
  }))
  await using mirror = await Mirror.start({ au: `mcp: "${au.url}", approval: none` })
  au.skills.setResource('skill://one/a.md', 'b')

  const listed = await mirror.urisListed()
  const got = await mirror.bytesOf('skill://au/one/a.md')
  await mirror.logged('content-mismatch')
  await mirror.pull()

  expect(listed).toEqual(['skill://au/one/SKILL.md'])
  expect(got).toBe(-32_603)
  expect(au.of('skills/get')).toHaveLength(1)
  expect(mirror.findings('au')).toEqual(['content-mismatch one'])
  expect(await mirror.urisListed()).toEqual([])
})

const DOCUMENT = documentOf('live')

function documentOf(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nbody\n`
}

function dynamic(au: HostileServer, files: Readonly<Record<string, string | Uint8Array>>): void {
  au.capabilities = {
    resources: { listChanged: true },
    extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
  }
  au.skills.set(URI, { 'SKILL.md': DOCUMENT, ...files }, { resources: 'dynamic' })
}

/** A skill whose entry says of no file how large it is. */
function unsized(au: HostileServer, name: string, text: string): void {
  const uri = `skill://${name}/SKILL.md`
  const files = { 'SKILL.md': documentOf(name), 'a.md': text }
  au.skills.set(uri, files)
  const resources = au.skills.entryOf(uri).resources.map(({ uri: file, digest }: any) => ({ uri: file, digest }))
  au.skills.set(uri, files, { resources })
  au.on('resources/list', () => ({ resources: [] }))
}

function live(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none, unverifiable: serve`
}

async function shownBy(home: Home, skill: string): Promise<any> {
  return JSON.parse((await home.command('show', skill, '--json')).stdout)
}
