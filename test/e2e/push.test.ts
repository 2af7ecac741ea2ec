import { on } from 'node:events'
import { watch } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { buildFixture } from '../support/content/fixture.ts'
import { serve } from '../support/served.ts'
import { CLIENTS, CLIENT_NAMES } from './clients.ts'
import type { ClientName, Entry, Place, RealClient } from './clients.ts'
import { mcpProgram, openSite, runSkillsyncd, startDaemon } from './programs.ts'
import type { Site } from './programs.ts'

// Each test starts several processes, and waits for polls.
vi.setConfig({ testTimeout: 120_000 })

test('a push is noticed by polling and told over HTTP to every client at once', async () => {
  await using site = await servedSite()
  await using daemon = await startDaemon(site)
  await using clients = await openAll(() => daemon)

  await expectPushesToBeTold(clients.all, site)

  expect(clients.all.map(({ revision }) => revision)).toEqual(Object.values(REVISIONS))
})

test('a push is told over stdio to every client while a daemon writes the state folder', async () => {
  await using site = await servedSite()
  await using daemon = await startDaemon(site)
  await using clients = await openAll(() => mcpProgram(site))

  await expectPushesToBeTold(clients.all, site)

  expect(await lockHolderOf(site.state)).toMatchObject({ command: 'start', pid: daemon.pid })
})

test.each(CLIENT_NAMES)('a push is told over stdio by a process that is alone (%s)', async (name) => {
  await using site = await openSite(FILES)
  await using client = await CLIENTS[name](mcpProgram(site))

  await expectPushesToBeTold([client], site)

  expect(await lockHolderOf(site.state)).toMatchObject({ command: 'mcp' })
})

// One of each era: what its process does when a daemon takes over is the same for all clients of an era.
test.each(['sdk 1.32.2', 'client 2.4.0, pinned'] as const)(
  'a client over stdio goes on hearing after a daemon took the writing over (%s)',
  async (name) => {
    await using site = await openSite(FILES)
    await using client = await CLIENTS[name](mcpProgram(site))
    await client.list()
    await untilWrittenBy('mcp', site)

    await using daemon = await startDaemon(site)
    await expectPushesToBeTold([client], site)

    expect(await lockHolderOf(site.state)).toMatchObject({ command: 'start', pid: daemon.pid })
  },
)

test('a sync that is asked for has the push told at once, to clients of both eras on both transports', async () => {
  // A new source is polled at the start, so that the next poll is due in an hour.
  await using site = await openSite(FILES, '1h')
  await using daemon = await startDaemon(site)
  await runSkillsyncd(site, 'sync')
  await using legacyHttp = await CLIENTS['sdk 1.32.2'](daemon)
  await using modernHttp = await CLIENTS['client 2.4.0, pinned'](daemon)
  await using legacyStdio = await CLIENTS['sdk 1.32.2'](mcpProgram(site))
  await using modernStdio = await CLIENTS['client 2.4.0, pinned'](mcpProgram(site))
  const clients = [legacyHttp, modernHttp, legacyStdio, modernStdio]
  for (const client of clients) await client.subscribe(SUBSCRIBED)

  await site.push(FIRST_PUSH)
  const printed = await runSkillsyncd(site, 'sync')
  const heard = await Promise.all(clients.map((client) => heardOf(client, FIRST_NEWS.size)))

  expect(printed).toMatch(/^fx: updated, /)
  for (const told of heard) expect(told.toSorted()).toEqual([...FIRST_NEWS].toSorted())
})

test('every file of every skill is verified by every client, over HTTP and over stdio', async () => {
  await using site = await servedSite()
  await using daemon = await startDaemon(site)

  for (const name of CLIENT_NAMES)
    for (const place of [daemon, mcpProgram(site)]) {
      await using client = await CLIENTS[name](place)
      const skills = await client.list()
      const read = await Promise.all(skills.map((skill) => filesReadBy(client, skill)))

      expect(client.revision).toBe(REVISIONS[name])
      expect(new Map(read.flat())).toEqual(new Map(Object.entries(FILES).map(([path, text]) => [uriOf(path), text])))
    }
})

test.each(['client 2.4.0', 'client 2.4.0, pinned'] as const)(
  'nothing of FX is refused by SkillsClient (%s)',
  async (name) => {
    await using fixture = await buildFixture()
    await using served = await serve(fixture.repository, { source: ['root: skills', 'names: exact'] })
    await using client = await CLIENTS[name](served)

    const entries = await client.list()
    const read = new Map<string, Uint8Array>()
    for (const entry of entries) for (const { uri } of entry.resources) read.set(uri, await client.read(entry, uri))

    const files = fixture.listed.flatMap((skill) =>
      [...fixture.filesOf(skill)].map(([path, bytes]) => [uriOf(`skills/${skill}/${path}`), bytes] as const),
    )
    expect(entries).toHaveLength(fixture.listed.length)
    expect([...read.keys()].toSorted()).toEqual([...new Map(files).keys()].toSorted())
    for (const [uri, bytes] of files) expect(bytes.equals(read.get(uri)!)).toBe(true)
  },
)

const FILES: Readonly<Record<string, string>> = {
  'skills/code-review/SKILL.md': skillText('code-review', 'Reads a change as its next reader will'),
  'skills/code-review/references/checklist.md': '- names\n- tests\n',
  'skills/on-call/SKILL.md': skillText('on-call', 'What to do when the pager rings'),
  'skills/on-call/runbooks/database.md': '# The database\n',
  'skills/release-notes/SKILL.md': skillText('release-notes', 'Writes what users want to know'),
  'skills/release-notes/templates/major release.md': '# A major release\n',
  'skills/release-notes/templates/minor.md': '# A minor release\n',
}

const ROOTS = ['code-review', 'on-call', 'release-notes'].map((skill) => `skill://fx/${skill}`)
const SUBSCRIBED = [...Object.keys(FILES).map(uriOf), ...ROOTS]

const FIRST_PUSH = {
  'skills/code-review/references/checklist.md': '- names\n- tests\n- errors\n',
  'skills/release-notes/templates/major release.md': null,
  'skills/release-notes/templates/patch.md': '# A patch\n',
}
const GONE = uriOf('skills/release-notes/templates/major release.md')
const FIRST_NEWS: ReadonlySet<string> = new Set([
  uriOf('skills/code-review/references/checklist.md'),
  'skill://fx/code-review',
  GONE,
  'skill://fx/release-notes',
])

/** After it, what came before it is all that there was to hear of the first push. */
const SECOND_PUSH = { 'skills/on-call/runbooks/database.md': '# The database\n\nAsk somebody else.\n' }
const SECOND_NEWS = uriOf('skills/on-call/runbooks/database.md')

const REVISIONS: Readonly<Record<ClientName, string>> = {
  'sdk 1.32.2': '2025-11-25',
  'client 2.4.0': '2025-11-25',
  'client 2.4.0, auto': '2026-07-28',
  'client 2.4.0, pinned': '2026-07-28',
}

/** A site whose first commit is in the state folder already. */
async function servedSite(): Promise<Site> {
  const site = await openSite(FILES)
  await runSkillsyncd(site, 'sync')
  return site
}

/** A client of each kind, all of them open at once. */
async function openAll(placeOf: () => Place): Promise<AsyncDisposable & { readonly all: readonly RealClient[] }> {
  const all = await Promise.all(CLIENT_NAMES.map((name) => CLIENTS[name](placeOf())))
  return {
    all,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map((client) => client[Symbol.asyncDispose]()))
    },
  }
}

/** Pushes twice. Each client must hear of exactly what the first push changed, and read at once what is new. */
async function expectPushesToBeTold(clients: readonly RealClient[], site: Site): Promise<void> {
  await Promise.all(clients.map(readAndSubscribe))

  await site.push(FIRST_PUSH)
  const heard = await Promise.all(clients.map((client) => newsHeardBy(client, () => true)))
  await site.push(SECOND_PUSH)
  const rest = await Promise.all(clients.map((client) => newsHeardBy(client, (told) => told === SECOND_NEWS)))

  for (const [index, first] of heard.entries())
    expect([...first, ...rest[index]!].toSorted()).toEqual([...FIRST_NEWS, SECOND_NEWS].toSorted())
}

async function readAndSubscribe(client: RealClient): Promise<void> {
  // What a client has read before, it may have kept.
  for (const entry of await client.list()) await filesReadBy(client, entry)
  await client.subscribe(SUBSCRIBED)
}

/** What it is told, up to the last; it reads at once what is new in each skill of the first push. */
async function newsHeardBy(client: RealClient, isLast: (told: string) => boolean): Promise<string[]> {
  const heard: string[] = []
  do {
    heard.push(await client.told())
    if (heard.at(-1) !== SECOND_NEWS) await expectNewContent(client, heard.at(-1)!)
  } while (!isLast(heard.at(-1)!))
  return heard
}

/** Resolves when a process that was started as this command writes the state folder. */
async function untilWrittenBy(command: string, { state }: Site): Promise<void> {
  const watcher = watch(state)
  const changes = on(watcher, 'change')
  while ((await lockHolderOf(state))?.command !== command) await changes.next()
  watcher.close()
}

async function heardOf(client: RealClient, count: number): Promise<string[]> {
  const heard: string[] = []
  while (heard.length < count) heard.push(await client.told())
  return heard
}

/** The skill of what was told is, file by file, that of the first push; what is gone is not found. */
async function expectNewContent(client: RealClient, told: string): Promise<void> {
  const root = ROOTS.find((root) => `${told}/`.startsWith(`${root}/`))!
  const expected = Object.entries({ ...FILES, ...FIRST_PUSH })
    .map(([path, text]) => [uriOf(path), text] as const)
    .filter(([uri, text]) => uri.startsWith(`${root}/`) && text !== null)

  const entry = await client.get(`${root}/SKILL.md`)

  expect(new Map(await filesReadBy(client, entry))).toEqual(new Map(expected))
  if (told === GONE) await expect(client.readAny(GONE)).rejects.toMatchObject({ code: client.notFound })
}

/** Each file of an entry, its bytes verified, as text. */
async function filesReadBy(client: RealClient, entry: Entry): Promise<(readonly [string, string])[]> {
  const read = entry.resources.map(
    async ({ uri }) => [uri, Buffer.from(await client.read(entry, uri)).toString()] as const,
  )
  return Promise.all(read)
}

function uriOf(path: string): string {
  return `skill://fx/${path.split('/').slice(1).map(encodeURIComponent).join('/')}`
}

function skillText(name: string, description: string): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n`
}
