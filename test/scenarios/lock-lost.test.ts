import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { World, skill } from '../e2e/world.ts'
import { stdio } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import type { Home } from '../support/process/program.ts'

const FIRST = skill('alpha', 'first')
const SECOND = skill('alpha', 'second')

type Lose = (file: string) => Promise<void>

const removed: Lose = async (file) => rm(file)

const LOSSES: readonly [string, Lose][] = [
  ['removed', removed],
  ['rewritten without sources', (file) => edited(file, (lock) => (lock.sources = {}))],
  ['rewritten without the entry', (file) => edited(file, (lock) => delete lock.sources.team)],
]

describe.each(LOSSES)('a lock that is %s', (_name, lose) => {
  test('lets nothing move without a daemon: sync, status and verify say so, and lock locks what is served', async () => {
    await using world = await World.create()
    const { locked } = await followed(world)
    await lose(world.home.lockFile)

    const status = await world.home.command('status', '--check')
    const verified = await world.home.command('verify')
    const synced = await world.home.command('sync')
    const body = await bodyIn(world.home)
    const locking = await world.home.command('lock')
    const after = await told(world.home)
    const again = await world.home.command('sync')

    expect(status.status).toBe(3)
    expect(status.stdout).toContain('! lock-mismatch: Cannot follow the lock')
    expect(verified.status).toBe(3)
    expect(verified.stdout).toContain(`locked at ${locked}`)
    expect(synced.status).toBe(1)
    expect(synced.stdout).toContain(`locked at ${locked}`)
    expect(synced.stdout).toContain('skillsyncd lock team locks it again, as it is served')
    expect(body).toBe(FIRST)
    expect(locking).toMatchObject({ status: 0, stdout: expect.stringContaining(`at ${locked}`) })
    expect(await lockedIn(world.home)).toBe(locked)
    expect(after.sources[0]).toMatchObject({ lock: { state: 'followed' }, served: { commit: locked } })
    expect(after.sources[0]).not.toHaveProperty('problem')
    expect(again.stdout).toContain('(locked)')
  })

  test('lets nothing move in a daemon, over a reload and a restart', async () => {
    await using world = await World.create()
    const { locked } = await followed(world)
    const daemon = world.home.start('start')
    await daemon.line()
    await lose(world.home.lockFile)

    const synced = await world.home.command('sync')
    await world.home.command('reload')
    const reloaded = await world.home.command('sync')
    await daemon.stop()
    const next = world.home.start('start')
    await next.line()
    const restarted = await world.home.command('sync')
    const before = await told(world.home)
    const locking = await world.home.command('lock')
    const after = await told(world.home)

    expect([synced.status, reloaded.status, restarted.status]).toEqual([1, 1, 1])
    expect(before.sources[0]).toMatchObject({
      lock: { state: 'lost', commit: locked },
      served: { commit: locked },
      problem: { code: 'lock-mismatch' },
    })
    expect(locking.status).toBe(0)
    expect(await lockedIn(world.home)).toBe(locked)
    expect(after.sources[0]).toMatchObject({ lock: { state: 'followed' }, served: { commit: locked } })
  })
})

test('release lets a source move whose lock is lost, and says no more of it', async () => {
  await using world = await World.create()
  const { newest } = await followed(world)
  await removed(world.home.lockFile)
  const early = await world.home.command('sync')

  const released = await world.home.command('release', 'team')
  const { sources } = await told(world.home)
  const verified = await world.home.command('verify')

  expect([early.status, released.status, verified.status]).toEqual([1, 0, 0])
  expect(sources[0]).toMatchObject({ served: { commit: newest }, lock: { state: 'missing' } })
  expect(sources[0]).not.toHaveProperty('problem')
})

test('a source that is followed by the lock is not released from it', async () => {
  await using world = await World.create()
  await followed(world)

  expect(await world.home.command('release', 'team')).toMatchObject({ status: 1 })
})

test('`lock: ignore` lets the source move, and forgets the lock', async () => {
  await using world = await World.create()
  const { newest } = await followed(world)
  await removed(world.home.lockFile)
  await configure(world, [], ['lock: ignore'])
  await world.synced()
  await configure(world)

  const synced = await world.home.command('sync')

  expect(synced.stdout).toContain(short(newest))
  expect((await told(world.home)).sources[0]).toMatchObject({ served: { commit: newest }, lock: { state: 'missing' } })
})

test('of a source with `update: locked`, lock locks what was followed last, and nothing newer', async () => {
  await using world = await World.create()
  await configure(world, ['update: locked'])
  const { locked } = await followed(world)
  const text = await readFile(world.home.lockFile, 'utf8')
  await removed(world.home.lockFile)
  const synced = await world.home.command('sync')

  const locking = await world.home.command('lock')

  expect([synced.status, locking.status]).toEqual([1, 0])
  expect(await lockedIn(world.home)).toBe(locked)
  expect(await readFile(world.home.lockFile, 'utf8')).toBe(text)
  expect(await bodyIn(world.home)).toBe(FIRST)
})

test('update of a source whose lock is lost locks what upstream has, and the others stay where they are', async () => {
  await using world = await World.create()
  const other = [`url: ${world.git.origin}/team.git`, 'every: 1h']
  await world.home.configure({ team: other, also: other })
  const { locked, newest } = await followed(world)
  await removed(world.home.lockFile)

  const updated = await world.home.command('update', 'team')
  const synced = await world.home.command('sync')
  const { sources } = await told(world.home)

  expect([updated.status, synced.status]).toEqual([0, 1])
  expect(sources).toMatchObject([
    { id: 'team', served: { commit: newest }, lock: { state: 'followed' } },
    { id: 'also', served: { commit: locked }, lock: { state: 'lost' } },
  ])
})

test('a source whose record has a problem of another version, and whose lock is lost, stays', async () => {
  await using world = await World.create()
  await followed(world)
  await edited(join(world.home.state, 'sources/team.json'), (record) => (record.problem = { code: 'new', message: '' }))
  await removed(world.home.lockFile)

  expect(await world.home.command('sync')).toMatchObject({ status: 1 })
  expect(await bodyIn(world.home)).toBe(FIRST)
})

test('lock says which step locks a source that has another url than what is served, if the lock is lost', async () => {
  await using world = await World.create()
  const { locked } = await followed(world)
  const url = world.git.serve('moved', world.repository)
  await world.home.configure({ team: [`url: ${url}`, 'every: 1h'] })
  await removed(world.home.lockFile)

  const locking = await world.home.command('lock')
  const before = (await told(world.home)).sources[0]
  const updated = await world.home.command('update', 'team')

  expect(locking).toMatchObject({
    status: 1,
    stdout: expect.stringContaining(`what is served is of ${world.git.origin}/team.git; skillsyncd update team locks`),
  })
  expect(before).toMatchObject({ served: { commit: locked } })
  expect(updated).toMatchObject({ status: 0 })
  expect(await lockedIn(world.home)).not.toBe(locked)
})

test('a source that comes back with another url is not locked at what was kept of the first, if the lock is lost', async () => {
  await using world = await World.create()
  await followed(world)
  const url = world.git.serve('moved', world.repository)
  await world.home.configure({ other: [`url: ${url}`, 'every: 1h'] })
  await world.synced()
  await removed(world.home.lockFile)
  await world.home.configure({ team: [`url: ${url}`, 'every: 1h'] })

  const locking = await world.home.command('lock')

  expect(locking).toMatchObject({
    status: 1,
    stdout: expect.stringContaining(`/team.git; skillsyncd update team locks`),
  })
})

test('another configuration with the same state folder, and no lock beside it, lets nothing move', async () => {
  await using world = await World.create()
  const { locked } = await followed(world)
  const other = join(world.home.path, 'other.yaml')
  await writeFile(other, await readFile(world.home.configFile))

  const synced = await world.home.command('sync', '--config', other)
  const body = await bodyIn(world.home)
  const locking = await world.home.command('lock', '--config', other)

  expect([synced.status, locking.status]).toEqual([1, 0])
  expect(body).toBe(FIRST)
  expect(locking.stdout).toContain(`at ${locked}`)
})

test('a folder whose lock is lost stays at what was locked, and lock locks that', async () => {
  await using world = await World.create()
  const folder = join(world.home.path, 'skills')
  await mkdir(join(folder, 'alpha'), { recursive: true })
  await writeFile(join(folder, 'alpha/SKILL.md'), FIRST)
  await world.home.configure({ team: [`path: ${folder}`] })
  await world.home.command('sync')
  await world.home.command('lock')
  const before = await lockedIn(world.home)
  await writeFile(join(folder, 'alpha/SKILL.md'), SECOND)
  await removed(world.home.lockFile)

  const synced = await world.home.command('sync')
  const locking = await world.home.command('lock')

  expect([synced.status, locking.status]).toEqual([1, 0])
  expect(await lockedIn(world.home)).toBe(before)
  expect(await bodyIn(world.home)).toBe(FIRST)
})

test('a source stays if the lock of a repository loses it, and the entry is to be put back there', async () => {
  await using world = await World.create()
  const { locked } = await followed(world)
  const config = await Repository.create()
  const url = world.git.serve('config', config)
  await config.commit({ 'skills.lock': await readFile(world.home.lockFile, 'utf8') })
  await configure(world, [], ['lock:', '  every: 1h', '  from:', `    git: ${url}`])
  await world.home.command('sync')
  await config.commit({ 'skills.lock': '{\n  "version": 1,\n  "sources": {}\n}\n' })

  const synced = await world.home.command('sync')
  const locking = await world.home.command('lock')
  const { sources } = await told(world.home)

  expect([synced.status, locking.status]).toEqual([1, 2])
  expect(locking.stderr).toContain('it is followed from')
  expect(synced.stdout).toContain('Put it back there, as it is served; skillsyncd release team lets it move')
  expect(sources[0]).toMatchObject({ served: { commit: locked }, lock: { state: 'lost' } })
})

test('a source that follows the lock which was just written loses it without a pull in between, and stays', async () => {
  await using world = await World.create()
  await world.home.command('lock')
  const locked = await world.repository.git('rev-parse', 'main')
  await world.repository.commit({ 'alpha/SKILL.md': SECOND })
  await removed(world.home.lockFile)

  const synced = await world.home.command('sync')

  expect(synced.status).toBe(1)
  expect((await told(world.home)).sources[0]).toMatchObject({ served: { commit: locked } })
})

test('lock writes no file if it can lock nothing', async () => {
  await using world = await World.create()
  world.git.fault = { kind: 'status', status: 503 }

  const locking = await world.home.command('lock')

  expect(locking.status).toBe(1)
  expect(locking.stdout).not.toContain('what is in it is served')
  await expect(readFile(world.home.lockFile)).rejects.toThrow('ENOENT')
})

/** A lock of the first commit that was followed, while the second is upstream. */
describe.each<[string, (text: string) => string]>([
  ['cut off', (text) => text.slice(0, 50)],
  ['left with the marks of a merge', (text) => text.replace('{', '{\n<<<<<<< HEAD\n=======\n>>>>>>> main')],
  ['empty', () => ''],
  ['an empty object', () => '{}'],
  ['of another version', (text) => text.replace(/"version": \d+/, '"version": 999')],
])('a lock that is %s', (_name, damage) => {
  test('lets nothing move, and each command has the one step that mends it', async () => {
    await using world = await World.create()
    const { locked } = await followed(world)
    const file = world.home.lockFile
    await writeFile(file, damage(await readFile(file, 'utf8')))

    const ends = [['status', '--check'], ['verify'], ['lock'], ['update', 'team'], ['sync']].map(async (words) =>
      world.home.command(...words),
    )
    for (const { status, stdout, stderr } of await Promise.all(ends)) {
      expect(status).not.toBe(0)
      expect(stdout + stderr).toMatch(/move it away: skillsyncd lock\s+then locks again what was locked/)
    }
    expect(await bodyIn(world.home)).toBe(FIRST)
    await rm(file)
    const locking = await world.home.command('lock')

    expect(locking).toMatchObject({ status: 0, stdout: expect.stringContaining(`at ${locked}`) })
    expect(await lockedIn(world.home)).toBe(locked)
    expect(await world.home.command('sync')).toMatchObject({ status: 0, stdout: expect.stringContaining('(locked)') })
    expect(await bodyIn(world.home)).toBe(FIRST)
  })
})

async function followed(world: World): Promise<{ readonly locked: string; readonly newest: string }> {
  await world.home.command('sync')
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  await world.synced()
  const locked = await world.repository.git('rev-parse', 'main')
  const newest = await world.repository.commit({ 'alpha/SKILL.md': SECOND })
  return { locked, newest }
}

async function configure(world: World, source: readonly string[] = [], rest: readonly string[] = []): Promise<void> {
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h', ...source] }, rest)
}

async function told(home: Home): Promise<any> {
  return JSON.parse((await home.command('status', '--json')).stdout)
}

async function lockedIn(home: Home): Promise<string> {
  return JSON.parse(await readFile(home.lockFile, 'utf8')).sources.team.commit.replace('sha1:', '')
}

async function edited(file: string, edit: (lock: any) => void): Promise<void> {
  const lock = JSON.parse(await readFile(file, 'utf8'))
  edit(lock)
  await writeFile(file, JSON.stringify(lock))
}

/** Reads the skill `alpha` by a program that reads the state folder and pulls nothing. */
async function bodyIn(home: Home): Promise<string | undefined> {
  await using mcp = await stdio(['--offline'], 'legacy', home.env)
  const { result } = await mcp.call('resources/read', { uri: 'skill://team/alpha/SKILL.md' })
  return result?.contents[0].text
}

function short(commit: string): string {
  return commit.slice(0, 12)
}
