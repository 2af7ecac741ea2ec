import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { stdio, type Heard, type Peer } from '../../support/clients/peer.ts'
import { fillFolder } from '../../support/content/folder.ts'
import type { Files } from '../../support/git/scripted-upstream.ts'
import { Home, MAIN } from '../../support/process/program.ts'
import { CLIENTS, CLIENT_NAMES } from '../clients.ts'
import { World, skill } from '../world.ts'

vi.setConfig({ testTimeout: 60_000 })

test.each(CLIENT_NAMES)(
  'a file saved in a folder is told over stdio, with no configuration at all (%s)',
  async (name) => {
    await using desk = await Desk.of({ 'alpha/SKILL.md': skill('alpha', 'first') })
    const args = [MAIN, 'mcp', '--skills-dir', desk.folder, '--state', desk.home.state]
    await using client = await CLIENTS[name]({ command: process.execPath, args, stderr: 'ignore' })
    const [alpha] = await client.list()
    await client.subscribe([alpha!.uri])

    await writeFile(join(desk.folder, 'alpha/SKILL.md'), skill('alpha', 'second'))

    let told = await client.told()
    while (told !== alpha!.uri) told = await client.told()
    const now = await client.get(alpha!.uri)
    expect(alpha!.uri).toBe('skill://desk/alpha/SKILL.md')
    expect(Buffer.from(await client.read(now, now.uri)).toString()).toBe(skill('alpha', 'second'))
  },
)

test('a folder in which an installer linked the skills is served by --skills-dir, and what is saved behind a link', async () => {
  await using home = await Home.create()
  const installed = join(home.path, '.agents/skills')
  await fillFolder(installed, { 'alpha/SKILL.md': skill('alpha', 'first'), 'alpha/run.sh': 'run' })
  await fillFolder(join(home.path, '.claude/skills'), { alpha: { link: '../../.agents/skills/alpha' } })
  const place = ['--skills-dir', join(home.path, '.claude/skills')]
  await using mcp = await stdio(place, 'legacy', home.env)

  const first = await mcp.call('tools/call', { name: 'get_skill', arguments: { id: 'alpha' } })
  await writeFile(join(installed, 'alpha/SKILL.md'), skill('alpha', 'second'))
  expect(await home.command('sync', ...place)).toMatchObject({ status: 0 })
  const second = await mcp.call('tools/call', { name: 'get_skill', arguments: { id: 'alpha' } })
  const status = await home.command('status', ...place)

  expect(JSON.stringify(first.result)).toContain('first')
  expect(JSON.stringify(second.result)).toContain('second')
  expect(status.stdout).toContain('1 of 1 skill served')
})

test.each(['legacy', 'modern'] as const)('skills come and go as folders do, by watching alone (%s)', async (era) => {
  await using desk = await Desk.of({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await desk.configure(['every: 1h'])
  await using mcp = await stdio([], era, desk.home.env)
  expect(await namesOf(mcp)).toEqual(['alpha'])
  const listening = await Listening.to(mcp)

  await desk.put('beta/SKILL.md', skill('beta', 'new'))
  await listening.names('alpha', 'beta')
  await desk.put('group/deep/gamma/SKILL.md', skill('gamma', 'in folders that were not there'))
  await listening.names('alpha', 'beta', 'gamma')
  await desk.put('group/deep/delta/SKILL.md', skill('delta', 'beside it'))
  await listening.names('alpha', 'beta', 'delta', 'gamma')
  await rm(join(desk.folder, 'group'), { recursive: true })
  await listening.names('alpha', 'beta')
  await rename(join(desk.folder, 'beta'), join(desk.folder, '.git'))
  await listening.names('alpha')
  await rename(join(desk.folder, '.git'), join(desk.folder, 'again'))
  await listening.names('alpha', 'beta')
  await rm(join(desk.folder, 'alpha'), { recursive: true })
  await listening.names('beta')

  expect(mcp.stderr()).not.toContain('"level":"warn"')
})

test('get_skill has what was saved in SKILL.md and beside it in the answer to the next call', async () => {
  await using desk = await Desk.of({ 'alpha/SKILL.md': skill('alpha', 'first'), 'alpha/run.sh': 'one' })
  await desk.configure(['every: 1h'])
  const yaml = await readFile(desk.home.configFile, 'utf8')
  await writeFile(desk.home.configFile, yaml.replace('serve: {', 'serve: { tool_wait: 1m,'))
  await using mcp = await stdio([], 'modern', desk.home.env)
  expect((await skillIn(mcp, 'alpha')).content).toBe('first\n')

  await desk.put('alpha/SKILL.md', skill('alpha', 'second'))
  await desk.put('alpha/run.sh', 'two')
  const { path, content } = await skillIn(mcp, 'alpha')

  expect([path, content]).toEqual([join(desk.folder, 'alpha/SKILL.md'), 'second\n'])
})

test('a folder that is gone, or emptied, is served on, and followed again when it is back', async () => {
  await using desk = await Desk.of({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await using daemon = await desk.start(['every: 1s'])

  await rename(desk.folder, `${desk.folder}.away`)
  await daemon.said('"repository-not-found"')
  await mkdir(desk.folder)
  await daemon.said('"mass-deletion"')
  const held = await desk.home.command('list')
  await fillFolder(desk.folder, { 'beta/SKILL.md': skill('beta', 'back') })
  await daemon.said('"recovered"', '"source-waiting"')

  expect(held.stdout).toContain('alpha')
  expect((await desk.home.command('list')).stdout).toContain('beta')
})

test('a folder that held too many files beside its skills is followed again once they are gone', async () => {
  await using desk = await Desk.of({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await using daemon = await desk.start(['every: 1h'], ['limits: { repository: { files: 20 } }'])

  for (let number = 0; number < 40; number += 1) await desk.put(`build/${number}`, '')
  await desk.put('beta/SKILL.md', skill('beta', 'new'))
  await daemon.said('"limit-exceeded"')
  await rm(join(desk.folder, 'build'), { recursive: true })
  await daemon.said('"recovered"', '"pull-failed"')

  expect((await desk.home.command('list')).stdout).toContain('beta')
})

test('a folder whose own path is put in place of another is watched on', async () => {
  await using desk = await Desk.of({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await desk.configure(['every: 1h'])
  await using mcp = await stdio([], 'legacy', desk.home.env)
  expect(await namesOf(mcp)).toEqual(['alpha'])
  const listening = await Listening.to(mcp)

  await fillFolder(`${desk.folder}.new`, { 'beta/SKILL.md': skill('beta', 'other') })
  await rename(desk.folder, `${desk.folder}.old`)
  await rename(`${desk.folder}.new`, desk.folder)

  await listening.names('beta')
  await desk.put('gamma/SKILL.md', skill('gamma', 'in the other one'))
  await listening.names('beta', 'gamma')
})

test('several folders and a repository are served side by side, each by an id of its own', async () => {
  await using world = await World.create()
  await using desk = await Desk.of({ 'beta/SKILL.md': skill('beta', 'mine') })
  const project = join(desk.home.path, 'project/.claude/skills')
  await fillFolder(project, { 'gamma/SKILL.md': skill('gamma', 'ours') })
  const args = ['--source', world.repository.folder, '--skills-dir', desk.folder, '--skills-dir', project]

  await using mcp = await stdio(args, 'legacy', desk.home.env)
  const listening = await Listening.to(mcp)
  await listening.names('alpha', 'beta', 'gamma')

  const uris = (await mcp.call('skills/list')).result.skills.map(({ uri }: any) => uri)
  expect(uris).toHaveLength(3)
  expect(uris).toContain('skill://desk/beta/SKILL.md')
  expect(uris).toContain('skill://project/gamma/SKILL.md')
})

test('--offline looks at a folder, and --locked serves what was locked of it', async () => {
  await using desk = await Desk.of({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await desk.configure([], ['lock: ignore'])

  const first = await desk.home.command('sync', '--offline')
  await desk.home.command('lock')
  await desk.put('alpha/SKILL.md', skill('alpha', 'second'))
  const outdated = await desk.home.command('status', '--upstream')
  const followed = await desk.home.command('sync', '--offline')
  const locked = await desk.home.command('sync', '--frozen')
  const shown = await desk.home.command('why', 'alpha')
  const told = await desk.home.command('status')

  expect(first).toMatchObject({ status: 0, stdout: expect.stringContaining('updated, folder at ') })
  expect(outdated.status).toBe(3)
  expect(followed.stdout).toContain('updated, folder at ')
  expect(locked.stdout).toContain('updated, folder at ')
  expect(shown.stdout).toMatch(/^ {2}folder {2}as of content [0-9a-f]{64}$/m)
  expect(shown.stdout).not.toContain('repository')
  expect(told.stdout).toContain(`desk  the folder ${desk.folder}`)
  expect(told.stdout).not.toContain('upstream')
})

/** A home with a folder that somebody writes skills in. */
class Desk implements AsyncDisposable {
  readonly home: Home
  readonly folder: string

  private constructor(home: Home) {
    this.home = home
    this.folder = join(home.path, 'desk')
  }

  static async of(files: Files): Promise<Desk> {
    const desk = new Desk(await Home.create())
    await fillFolder(desk.folder, files)
    return desk
  }

  async put(path: string, text: string): Promise<void> {
    await mkdir(join(this.folder, path, '..'), { recursive: true })
    await writeFile(join(this.folder, path), text)
  }

  async configure(lines: readonly string[] = [], rest: readonly string[] = []): Promise<void> {
    await this.home.configure({ desk: [`path: ${this.folder}`, ...lines] }, rest)
  }

  /** A daemon that has served what is there. */
  async start(lines: readonly string[], rest: readonly string[] = []) {
    await this.configure(lines, rest)
    const program = this.home.start('start', '--port', '0')
    await program.said((line) => line.includes('"source-updated"'))
    return {
      said: (...parts: string[]) => program.said((line) => parts.every((part) => line.includes(part))),
      [Symbol.asyncDispose]: async () => void (await program.stop()),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
  }
}

async function namesOf(peer: Peer): Promise<string[]> {
  const { result } = await peer.call('skills/list')
  return result.skills.map(({ frontmatter }: any) => frontmatter.name)
}

async function skillIn(peer: Peer, id: string): Promise<{ readonly path: string; readonly content: string }> {
  const { result } = await peer.call('tools/call', { name: 'get_skill', arguments: { id } })
  return JSON.parse(result.content[0].text)
}

/** Waits for the listing to hold these, asking again whenever something is told. */
class Listening {
  readonly #peer: Peer
  readonly #heard: Heard
  readonly #seen = new Set<unknown>()

  private constructor(peer: Peer, heard: Heard) {
    this.#peer = peer
    this.#heard = heard
  }

  static async to(peer: Peer): Promise<Listening> {
    return new Listening(peer, await peer.subscribe([], { list: true }))
  }

  async names(...names: readonly string[]): Promise<void> {
    const isSo = async (): Promise<boolean> => (await namesOf(this.#peer)).toSorted().join() === names.join()
    while (!(await isSo())) this.#seen.add(await this.#heard.next((message) => !this.#seen.has(message)))
  }
}
