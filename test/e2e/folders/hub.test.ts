import { chmod, readFile, readdir, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import type { Peer } from '../../support/clients/peer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Home } from '../../support/process/program.ts'
import type { Program } from '../../support/process/program.ts'
import { World, skill } from '../world.ts'

const SCRIPT = '#!/bin/sh\necho hello\n'
const BINARY = Buffer.from([0, 255, 1, 254, 10])

test('skills of a hub come into a folder byte by byte, follow each change, and leave when they are withdrawn', async () => {
  await using world = await World.create(['every: 1s'])
  const { repository } = world
  await repository.commit({ 'alpha/scripts/run.sh': SCRIPT, 'alpha/assets/logo.bin': BINARY })
  const hub = await hubOf(world)
  await using follower = await Follower.create(await hub.line(), ['approval: none'])

  const daemon = follower.home.start('start')
  await using peer = await modernHttp(await daemon.line())
  await said(daemon, { put: 1, removed: 0 })
  const first = await follower.contents('alpha')
  const asServed = await servedBy(peer, 'alpha', [...first.keys()])
  const mode = (await stat(join(follower.folder, 'alpha/scripts/run.sh'))).mode & 0o777
  const before = await readlink(join(follower.home.state, 'links/alpha'))

  let since = daemon.stderr.length
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second'), 'beta/SKILL.md': skill('beta', 'first') })
  await said(daemon, { put: 1, removed: 0 }, since)
  await expect.poll(() => readlink(join(follower.home.state, 'links/alpha'))).not.toBe(before)
  const second = await follower.contents('alpha')
  const secondServed = await servedBy(peer, 'alpha', [...second.keys()])
  since = daemon.stderr.length
  await repository.commit({ 'alpha/SKILL.md': null, 'alpha/scripts/run.sh': null, 'alpha/assets/logo.bin': null })
  await said(daemon, { put: 0, removed: 1 }, since)

  expect(first).toEqual(
    new Map<string, Buffer>([
      ['SKILL.md', Buffer.from(skill('alpha', 'first'))],
      ['assets/logo.bin', BINARY],
      ['scripts/run.sh', Buffer.from(SCRIPT)],
    ]),
  )
  expect(asServed).toEqual(first)
  // A listing does not prove which files are executable.
  expect(mode).toBe(0o444)
  expect(second.get('SKILL.md')?.toString()).toBe(skill('alpha', 'second'))
  expect(secondServed).toEqual(second)
  expect(await follower.names()).toEqual(['beta'])
})

test('what nobody approved is in no folder: neither a skill that waits, nor the change of one that was approved', async () => {
  await using world = await World.create(['every: 1s'])
  const { repository } = world
  const hub = await hubOf(world)
  await using follower = await Follower.create(await hub.line(), [])
  const daemon = follower.home.start('start')
  await daemon.line()
  await follower.home.command('sync')
  const waiting = await follower.home.command('link', '--json')
  const before = await follower.names()

  const approved = await follower.home.approve('hub/team/alpha')
  await said(daemon, { put: 1, removed: 0 })
  const document = await readFile(join(follower.folder, 'alpha/SKILL.md'), 'utf8')
  const since = daemon.stderr.length
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'unapproved') })
  await said(daemon, { put: 0, removed: 1 }, since)
  const revoked = await follower.names()
  await follower.home.approve('hub/team/alpha')
  await said(daemon, { put: 1, removed: 0 }, since)

  expect(before).toEqual([])
  expect(JSON.parse(waiting.stdout).leftOut).toEqual([
    { source: 'hub', path: 'team/alpha', name: 'alpha', why: 'waiting for skillsyncd approve' },
  ])
  expect(approved).toMatchObject({ status: 0 })
  expect(document).toBe(skill('alpha', 'first'))
  expect(revoked).toEqual([])
  expect(await readFile(join(follower.folder, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'unapproved'))
})

test('a server that sends other bytes than it declares puts nothing into a folder, and its other skills come', async () => {
  await using server = await HostileServer.start()
  server.skills.set('skill://lies/SKILL.md', { 'SKILL.md': skill('lies', 'declared'), 'run.sh': SCRIPT })
  server.skills.set('skill://honest/SKILL.md', { 'SKILL.md': skill('honest', 'declared') })
  server.skills.setResource('skill://lies/run.sh', SCRIPT.replace('hello', 'worse'))
  await using follower = await Follower.create(server.url, ['approval: none'])

  const daemon = follower.home.start('start')
  await said(daemon, { put: 1, removed: 0 })
  await follower.home.command('sync')
  const named = await follower.home.command('link', '--skill', 'hub/lies', '--to', `${follower.folder}-of-one`)

  expect(await follower.names()).toEqual(['honest'])
  expect(named).toMatchObject({ status: 1 })
  expect(named.stderr).toContain('The SHA-256 of "run.sh" is')
  expect(await checkoutsOf(follower.home)).toHaveLength(1)
})

test('while the hub is down the folder keeps its skills, also after a restart', async () => {
  await using world = await World.create(['every: 1s'])
  const hub = await hubOf(world)
  await using follower = await Follower.create(await hub.line(), ['approval: none'])
  const first = follower.home.start('start')
  await said(first, { put: 1, removed: 0 })
  const before = await follower.contents('alpha')

  await hub.stop()
  const failed = await follower.home.command('sync')
  await first.stop()
  const second = follower.home.start('start')
  await second.line()
  await follower.home.command('sync')

  expect(failed.status).not.toBe(0)
  expect(await follower.contents('alpha')).toEqual(before)
  expect(second.stderr).not.toContain('"folder-followed"')
})

test('a source without `folders` has none, and one that loses it leaves the folders', async () => {
  await using world = await World.create(['every: 1s'])
  const hub = await hubOf(world)
  const url = await hub.line()
  await using follower = await Follower.create(url, ['approval: none'])
  const daemon = follower.home.start('start')
  await said(daemon, { put: 1, removed: 0 })

  await follower.configure(url, ['approval: none', 'folders: false'])
  const reloaded = await follower.home.command('reload')
  await said(daemon, { put: 0, removed: 1 })
  const linked = await follower.home.command('link', '--once', '--to', follower.folder)
  const named = await follower.home.command('link', '--once', '--to', follower.folder, '--skill', 'hub/team/alpha')

  expect(reloaded).toMatchObject({ status: 0 })
  expect(await follower.names()).toEqual([])
  expect(await readdir(join(follower.home.state, 'links'))).toEqual([])
  expect(linked.stdout).toContain(
    '1 skill of other MCP servers: in no folder, since their sources have no `folders: true`',
  )
  expect(named).toMatchObject({ status: 1 })
  expect(named.stderr).toContain('its source has no `folders: true`')
})

test('an edited checkout of a hub skill is found by verify, and made again from what was compared', async () => {
  await using world = await World.create(['every: 1s'])
  const hub = await hubOf(world)
  await using follower = await Follower.create(await hub.line(), ['approval: none'])
  const first = follower.home.start('start')
  await said(first, { put: 1, removed: 0 })
  await first.stop()
  const document = join(follower.folder, 'alpha/SKILL.md')
  await chmod(document, 0o644)
  await writeFile(document, 'mine')

  const verified = await follower.home.command('verify')
  const second = follower.home.start('start')
  await second.line()

  expect(verified).toMatchObject({ status: 3 })
  expect(verified.stdout).toContain('checkout-edited')
  expect(await readFile(document, 'utf8')).toBe(skill('alpha', 'first'))
})

test('copies of hub skills are made by a command and have the same bytes', async () => {
  await using world = await World.create(['every: 1s'])
  await world.repository.commit({ 'alpha/scripts/run.sh': SCRIPT })
  const hub = await hubOf(world)
  await using follower = await Follower.create(await hub.line(), ['approval: none'], [])
  await follower.home.command('sync')

  const copied = await follower.home.command('link', '--once', '--to', follower.folder, '--copy')

  expect(copied).toMatchObject({ status: 0, stderr: '' })
  expect(await follower.contents('alpha')).toEqual(
    new Map([
      ['SKILL.md', Buffer.from(skill('alpha', 'first'))],
      ['scripts/run.sh', Buffer.from(SCRIPT)],
    ]),
  )
})

test('a skill that some disk would have otherwise is in no folder, and link and doctor give the reason', async () => {
  await using server = await HostileServer.start()
  server.skills.set('skill://good/SKILL.md', { 'SKILL.md': skill('good', 'declared') })
  server.skills.set('skill://device/SKILL.md', { 'SKILL.md': skill('device', 'declared'), 'aux.md': 'text' })
  server.skills.set('skill://hooks/SKILL.md', { 'SKILL.md': skill('hooks', 'declared'), '.GIT/hooks/run': SCRIPT })
  server.skills.set('skill://deep/SKILL.md', { 'SKILL.md': skill('deep', 'declared'), ['x'.repeat(201)]: 'text' })
  await using follower = await Follower.create(server.url, ['approval: none'])

  const daemon = follower.home.start('start')
  await said(daemon, { put: 1, removed: 0 })
  await follower.home.command('sync')
  const listed = await follower.home.command('link')
  const doctor = await follower.home.command('doctor')

  expect(await follower.names()).toEqual(['good'])
  expect(listed.stdout).toContain('- hub/device is not linked: its file "aux.md" has the name of a Windows device')
  expect(listed.stdout).toContain(
    '- hub/hooks is not linked: withheld: The path ".GIT/hooks/run" has a name that git keeps for itself',
  )
  expect(listed.stdout).toMatch(/- hub\/deep is not linked: .* has a segment longer than 200 bytes/)
  expect(doctor.stdout).toContain('hub/device')
  expect(doctor.stdout).toContain('in no folder: its file "aux.md"')
})

/** Serves the skills of the world from now on. */
async function hubOf(world: World): Promise<Program> {
  await world.synced()
  return world.home.start('start')
}

/** A machine that follows a hub and puts its skills into a folder. */
class Follower implements AsyncDisposable {
  readonly home: Home
  readonly folder: string
  readonly #links: readonly string[]

  private constructor(home: Home, links: readonly string[] | undefined) {
    this.home = home
    this.folder = join(home.path, 'agent')
    this.#links = links ?? [`links: [{ to: ${this.folder} }]`]
  }

  static async create(url: string, source: readonly string[], links?: readonly string[]): Promise<Follower> {
    const follower = new Follower(await Home.create(), links)
    await follower.configure(url, ['folders: true', ...source])
    return follower
  }

  async configure(url: string, source: readonly string[]): Promise<void> {
    await this.home.configure({ hub: [`mcp: ${url}`, 'every: 1h', ...source] }, this.#links)
  }

  /** The skills in the folder. */
  async names(): Promise<string[]> {
    const names: readonly string[] = await readdir(this.folder).catch(() => [])
    return names.toSorted()
  }

  /** The files of a skill in the folder, in order. */
  async contents(name: string): Promise<ReadonlyMap<string, Buffer>> {
    const root = join(this.folder, name)
    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    const files = paths.toSorted().map(async (path) => [path.slice(root.length + 1), await readFile(path)] as const)
    return new Map(await Promise.all(files))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
  }
}

/** The same files, as a client of the follower gets them. */
async function servedBy(peer: Peer, name: string, paths: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
  const read = paths.map(async (path) => {
    const { result } = await peer.call('resources/read', { uri: `skill://hub/team/${name}/${path}` })
    const [{ text, blob }] = result.contents
    return [path, text === undefined ? Buffer.from(blob, 'base64') : Buffer.from(text)] as const
  })
  return new Map(await Promise.all(read))
}

async function checkoutsOf({ state }: Home): Promise<readonly string[]> {
  return readdir(join(state, 'checkouts'))
}

/** Waits until the daemon says that it has followed the folder so. */
async function said(
  daemon: Program,
  wanted: { readonly put: number; readonly removed: number },
  since = 0,
): Promise<void> {
  await daemon.said((line) => {
    if (!line.includes('"folder-followed"')) return false
    const { put, removed } = JSON.parse(line)
    return put === wanted.put && removed === wanted.removed
  }, since)
}
