import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'
const SCRIPT = 'skill://refunds/run.sh'

test('a change is fetched before clients get it, so that a folder never lacks a skill that changes', async () => {
  await using au = await HostileServer.start()
  offer(au, 'first')
  await using desk = await Desk.start(au, 'approval: none')
  const before = await desk.documentOf('refunds')
  const asked = au.requests.length
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>()
  offer(au, 'second')
  au.on('resources/read', () => released)

  const pulling = desk.mirror.pull()
  await au.requested(({ method, params }) => method === 'resources/read' && params.uri === URI, asked)
  const meanwhile = [String(await desk.mirror.bytesOf(SERVED)), await desk.documentOf('refunds')]
  release(undefined)
  await pulling

  expect(before).toBe(skill('refunds', 'first'))
  expect(meanwhile).toEqual([before, before])
  expect(await desk.documentOf('refunds')).toBe(skill('refunds', 'second'))
  expect(String(await desk.mirror.bytesOf(SERVED))).toBe(skill('refunds', 'second'))
})

test('other bytes in a change take the skill out of the folder, and none of them is on the disk', async () => {
  await using au = await HostileServer.start()
  offer(au, 'first')
  await using desk = await Desk.start(au, 'approval: none')
  const before = await desk.names()
  offer(au, 'second')
  au.skills.setResource(SCRIPT, 'other bytes')

  await desk.mirror.pull()

  expect(before).toEqual(['refunds'])
  expect(await desk.names()).toEqual([])
  expect(desk.mirror.findings('au')).toEqual(['content-mismatch refunds'])
  expect(await desk.keptTexts()).not.toContain('other bytes')
})

test('a hidden character in any file keeps the skill out of the folder', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'first'), 'notes.md': 'text \u{e0041}\u{e0042} text' })
  au.skills.set('skill://plain/SKILL.md', { 'SKILL.md': skill('plain', 'first') })

  await using desk = await Desk.start(au, 'approval: none, hidden_unicode: withhold')

  expect(await desk.names()).toEqual(['plain'])
})

test('a text that was stored as a file of another skill is searched as the document that it is now', async () => {
  await using au = await HostileServer.start()
  const disguised = skill('notes', 'right \u202E left')
  au.skills.set('skill://plain/SKILL.md', { 'SKILL.md': skill('plain', 'first'), 'notes.md': disguised })
  await using desk = await Desk.start(au, 'approval: none')
  const before = await desk.names()
  au.skills.set('skill://notes/SKILL.md', { 'SKILL.md': disguised })

  await desk.mirror.pull()

  expect([before, await desk.names()]).toEqual([['plain'], ['plain']])
  expect(au.reads().filter((uri) => uri === 'skill://notes/SKILL.md')).toEqual([])
})

test('findings of a server that cannot be read keep its skills out of the folder, and nothing else', async () => {
  await using au = await HostileServer.start()
  offer(au, 'first')
  await using state = await temporaryFolder()
  await using first = await Desk.start(au, 'approval: none', state.path)
  const before = await first.names()
  await first.mirror.stop()
  await rm(join(state.path, 'upstreams/au/texts.json'), { force: true })
  await mkdir(join(state.path, 'upstreams/au/texts.json'))

  await using second = await Desk.start(au, 'approval: none', state.path)

  expect([before, await second.names()]).toEqual([['refunds'], []])
})

test('nothing is fetched of a skill that waits for approval', async () => {
  await using au = await HostileServer.start()
  offer(au, 'first')
  await using desk = await Desk.start(au, 'approval: required')
  const [reads, names] = [au.reads(), await desk.names()]

  await desk.mirror.approve('au', 'refunds')
  await desk.mirror.pull()

  expect([reads, names]).toEqual([[], []])
  expect(au.reads().toSorted()).toEqual([URI, SCRIPT])
  expect(await desk.names()).toEqual(['refunds'])
})

test('a server that declares no digests puts nothing into a folder', async () => {
  await using au = await HostileServer.start()
  au.offers = 'index-r0'
  offer(au, 'first')

  await using desk = await Desk.start(au, 'approval: none')

  expect(await desk.mirror.urisListed()).toEqual([SERVED])
  expect(desk.mirror.findings('au')).toEqual(['not-verifiable refunds'])
  expect(await desk.names()).toEqual([])
})

test('a skill that is not whole is in no folder, and comes when its last file was fetched', async () => {
  await using au = await HostileServer.start()
  offer(au, 'first')
  au.on('resources/read', ({ uri }) => (uri === SCRIPT ? 'drop' : undefined))
  await using desk = await Desk.start(au, 'approval: none')
  const before = await desk.names()

  au.on('resources/read')
  // What could not be had is the answer for a second.
  while ((await desk.mirror.bytesOf('skill://au/refunds/run.sh')) === -32_603);
  await desk.mirror.pull()

  expect(before).toEqual([])
  expect(await desk.names()).toEqual(['refunds'])
})

test('a server that answers no read is left after three skills in a row', async () => {
  await using au = await HostileServer.start()
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name, 'first') })
  au.on('resources/read', () => 'drop')

  await using desk = await Desk.start(au, 'approval: none')

  expect([...new Set(au.reads())]).toEqual(['a', 'b', 'c'].map((name) => `skill://${name}/SKILL.md`))
  expect(await desk.names()).toEqual([])
})

test('a stored file that was damaged is fetched again by the next process, although no client reads it', async () => {
  await using au = await HostileServer.start()
  offer(au, 'first')
  await using state = await temporaryFolder()
  await using first = await Desk.start(au, 'approval: none', state.path)
  const kept = join(state.path, 'upstreams/au/files')
  await first.mirror.stop()
  for (const name of await readdir(kept)) {
    const bytes = await readFile(join(kept, name))
    await chmod(join(kept, name), 0o600)
    await writeFile(join(kept, name), bytes.fill(120))
  }

  await using second = await Desk.start(au, 'approval: none', state.path)

  expect(await second.documentOf('refunds')).toBe(skill('refunds', 'first'))
  expect(await second.keptTexts()).toContain(skill('refunds', 'first'))
})

test('without `folders` no file is asked for, and no skill is in a folder', async () => {
  await using au = await HostileServer.start()
  offer(au, 'first')
  await using folder = await temporaryFolder()
  await using mirror = await Mirror.start(
    { au: `mcp: "${au.url}", approval: none` },
    { config: [`links: [{ to: ${folder.path}/agent }]`] },
  )

  expect(au.reads()).toEqual([])
  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(await readdir(folder.path)).toEqual([])
})

/** A daemon that puts the skills of a server into a folder. */
class Desk implements AsyncDisposable {
  readonly mirror: Mirror
  readonly folder: string
  readonly #parent: AsyncDisposable

  private constructor(mirror: Mirror, folder: string, parent: AsyncDisposable) {
    this.mirror = mirror
    this.folder = folder
    this.#parent = parent
  }

  static async start(au: HostileServer, lines: string, state?: string): Promise<Desk> {
    const parent = await temporaryFolder()
    const folder = join(parent.path, 'agent')
    const options = { config: [`links: [{ to: ${folder} }]`], ...(state !== undefined && { state }) }
    const mirror = await Mirror.start({ au: `mcp: "${au.url}", folders: true, ${lines}` }, options)
    return new Desk(mirror, folder, parent)
  }

  async names(): Promise<string[]> {
    return readdir(this.folder).catch(() => [])
  }

  async documentOf(name: string): Promise<string> {
    return readFile(join(this.folder, name, 'SKILL.md'), 'utf8')
  }

  /** The texts of all files that are stored of the server. */
  async keptTexts(): Promise<readonly string[]> {
    const kept = join(this.mirror.state, 'upstreams/au/files')
    return Promise.all((await readdir(kept)).map(async (name) => readFile(join(kept, name), 'utf8')))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mirror[Symbol.asyncDispose]()
    await this.#parent[Symbol.asyncDispose]()
  }
}

function offer(au: HostileServer, body: string): void {
  au.skills.set(URI, { 'SKILL.md': skill('refunds', body), 'run.sh': `echo ${body}` })
}

function skill(name: string, body: string): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}
