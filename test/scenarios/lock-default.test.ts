import { readFile, rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { World, skill } from '../e2e/world.ts'
import { modernHttp, stdio } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'

const FIRST = skill('alpha', 'first')
const SECOND = skill('alpha', 'second')

test('a lock beside the configuration is followed by sync, start and mcp, though upstream moved on', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)

  const synced = await world.home.command('sync')
  const ofMcp = await bodyIn(world.home)
  const daemon = world.home.start('start')
  await using peer = await modernHttp(await daemon.line())
  const ofDaemon = await bodyOf(peer)
  const { json, text } = await told(world.home)

  expect(synced.stdout).toBe(
    `team: unchanged, refs/heads/main at ${short(locked)} (locked); upstream is at ${short(newest)}\n`,
  )
  expect([ofMcp, ofDaemon]).toEqual([FIRST, FIRST])
  expect(json.lock).toEqual({ file: world.home.lockFile, use: 'follow', isThere: true, followed: 1 })
  expect(json.sources[0]).toMatchObject({
    lock: { state: 'followed', commit: locked },
    served: { commit: locked },
    upstream: { commit: newest },
  })
  expect(json.sources[0].lock).not.toHaveProperty('by')
  expect(text).toContain(`lock: followed, at ${short(locked)}`)
  expect((await world.home.command('why', 'alpha')).stdout).toContain(
    'auto, but there is a lock: only the lock moves it',
  )
})

test('with `lock: ignore` a source follows its ref, and each command says that the lock is not followed', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)
  await configure(world, [], ['lock: ignore'])

  const locking = await world.home.command('lock')
  const synced = await world.home.command('sync')
  const { json, text } = await told(world.home)
  const verified = await world.home.command('verify')
  const outdated = await world.home.command('status', '--upstream')
  const compared = await world.home.command('diff', 'lock', 'served')
  const why = await world.home.command('why', 'alpha')
  const updated = await world.home.command('update')

  expect(locking.stdout).toContain('skills.lock is as it was: not followed (lock: ignore), but with --locked')
  expect(synced.stdout).toContain(`refs/heads/main at ${short(newest)}`)
  expect(json.lock).toMatchObject({ use: 'ignore', followed: 0 })
  expect(json.sources[0]).toMatchObject({ lock: { state: 'ignored', commit: locked }, served: { commit: newest } })
  const said = `lock: not followed (lock: ignore); it has the source at ${short(locked)}`
  for (const { stdout } of [{ stdout: text }, outdated, compared]) expect(stdout).toContain(said)
  expect(verified).toMatchObject({ status: 0 })
  expect(verified.stdout).toContain('lock-not-followed team: is in the lock, which is not followed (lock: ignore)')
  expect(why.stdout).toContain('which is not followed (lock: ignore)')
  expect(updated.stdout).toContain('skills.lock is written: not followed (lock: ignore), but with --locked')
})

test('with `lock: ignore` a source with `update: locked`, and a daemon with --locked, follow the lock all the same', async () => {
  await using world = await World.create()
  const { locked } = await moved(world)

  await configure(world, [], ['lock: ignore'])
  await world.home.command('sync', '--locked')
  const ofSwitch = (await told(world.home)).json.sources[0]
  await configure(world, ['update: locked'], ['lock: ignore'])
  await world.home.command('sync')
  const ofSource = (await told(world.home)).json.sources[0]

  expect(ofSwitch).toMatchObject({ served: { commit: locked } })
  expect(ofSource).toMatchObject({ served: { commit: locked }, lock: { state: 'followed', by: 'update: locked' } })
})

test('lock ends with what becomes of it, and update without a lock makes one that is followed', async () => {
  await using world = await World.create()
  await world.synced()

  const { stdout } = await world.home.command('update')
  await world.repository.commit({ 'alpha/SKILL.md': SECOND })
  await world.synced()
  const locking = JSON.parse((await world.home.command('lock', '--json')).stdout)

  expect(stdout).toContain('skills.lock is written: what is in it is served, and skillsyncd update moves it\n')
  expect(locking).toMatchObject({ use: 'follow', written: false })
  expect(await bodyIn(world.home)).toBe(FIRST)
})

test('a source that the lock lacks follows its ref and is told as that, until skillsyncd lock adds it', async () => {
  await using world = await World.create()
  await moved(world)
  const url = `url: ${world.git.origin}/team.git`
  await world.home.configure({ team: [url], more: [url] })

  await world.home.command('sync')
  const { json, text } = await told(world.home)
  const strict = await world.home.command('sync', '--locked')
  const verified = await world.home.command('verify')
  await world.home.command('lock')
  const after = (await told(world.home)).json.sources

  expect(json.sources.map(({ id, lock }: any) => [id, lock.state])).toEqual([
    ['team', 'followed'],
    ['more', 'absent'],
  ])
  expect(text).toContain('lock: has nothing of the source; skillsyncd lock adds it')
  expect(text).toContain('followed by 1 of 2 sources')
  expect(strict).toMatchObject({ status: 1 })
  expect(verified.stdout).toContain('warn  lock-mismatch more: "more" is not in the lock')
  expect(after.map(({ lock }: any) => lock.state)).toEqual(['followed', 'followed'])
})

test('a source whose url or ref is another than in the lock takes nothing, and serves on what it has', async () => {
  await using world = await World.create()
  const { locked } = await moved(world)
  await configure(world, ['ref: refs/heads/main'])

  const synced = await world.home.command('sync')
  const { json } = await told(world.home)
  const ofMcp = await bodyIn(world.home)

  expect(synced.status).toBe(1)
  expect(synced.stdout).toContain('"team" has ref "the default branch" in the lock and "refs/heads/main" in the')
  expect(synced.stdout).toContain('skillsyncd update team moves the lock')
  expect(json.sources[0]).toMatchObject({
    lock: { state: 'differs' },
    problem: { code: 'lock-mismatch' },
    served: { commit: locked },
  })
  expect(ofMcp).toBe(FIRST)
})

test('an edited selection is served of the locked commit: what is left out goes, and nothing newer comes', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  const { locked } = await moved(world)
  await configure(world, ['exclude: [beta]'])

  const synced = await world.home.command('sync')
  const { json, text } = await told(world.home)
  const names = JSON.parse((await world.home.command('list', '--served', '--json')).stdout).skills
  const again = await world.home.command('sync')

  expect([synced.status, again.status]).toEqual([0, 0])
  expect(again.stdout).toContain('unchanged')
  expect(json.sources[0]).toMatchObject({ lock: { state: 'other-rules' }, served: { commit: locked } })
  expect(text).toContain('it was made for another selection of skills: skillsyncd update moves it')
  expect(names.map(({ name }: any) => name)).toEqual(['alpha'])
  expect(await bodyIn(world.home)).toBe(FIRST)
})

test('a lock that changes is followed at the next pull; one that vanishes is an error until a release goes on without it', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)
  const text = await readFile(world.home.lockFile, 'utf8')
  const daemon = world.home.start('start')
  await using peer = await modernHttp(await daemon.line())

  await world.home.command('update')
  const ofUpdate = await bodyOf(peer)
  await writeFile(world.home.lockFile, text)
  await world.home.command('sync')
  const ofOldLock = await bodyOf(peer)
  await rm(world.home.lockFile)
  const gone = await world.home.command('sync')
  const whileGone = [await bodyOf(peer), (await told(world.home)).json.sources[0]]
  await world.home.command('reload')
  const reloaded = await world.home.command('sync')
  const freed = await world.home.command('release', 'team')
  const ofRef = await bodyOf(peer)
  await writeFile(world.home.lockFile, text)
  await world.home.command('sync')

  expect([ofUpdate, ofOldLock]).toEqual([SECOND, FIRST])
  expect([gone.status, reloaded.status]).toEqual([1, 1])
  expect(gone.stdout).toContain('skillsyncd lock team locks it again, as it is served; skillsyncd release team lets it')
  expect(whileGone).toMatchObject([FIRST, { served: { commit: locked }, lock: { state: 'lost' } }])
  expect(freed.stdout).toContain(`updated, refs/heads/main at ${short(newest)}`)
  expect([ofRef, await bodyOf(peer)]).toEqual([SECOND, FIRST])
})

test('once the lock moved, what is stored is served until a pull takes the locked commit up: over a start, a failure, a pause', async () => {
  await using world = await World.create()
  await moved(world)
  await using other = await Home.create()
  await other.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h'] })
  await other.command('sync')
  expect(await other.command('lock')).toMatchObject({ status: 0 })

  await writeFile(world.home.lockFile, await readFile(other.lockFile, 'utf8'))
  world.git.fault = { kind: 'status', status: 503 }
  const daemon = world.home.start('start')
  await using peer = await modernHttp(await daemon.line())
  const atFirst = await bodyOf(peer)
  await world.home.command('sync')
  const whileDown = await bodyOf(peer)
  await world.home.command('hold', 'team', '--no-poll')
  await world.home.command('sync')
  const whileHeld = await bodyOf(peer)
  await world.home.command('release', 'team')
  world.git.fault = { kind: 'none' }
  await world.home.command('sync')

  expect([atFirst, whileDown, whileHeld, await bodyOf(peer)]).toEqual([FIRST, FIRST, FIRST, SECOND])
})

test('a lock that cannot be read is an error: nothing newer is taken, and what is served stays', async () => {
  await using world = await World.create()
  const { locked } = await moved(world)
  const daemon = world.home.start('start')
  await using peer = await modernHttp(await daemon.line())
  await world.home.command('sync')

  await writeFile(world.home.lockFile, '<<<<<<< HEAD\n')
  const synced = await world.home.command('sync')
  const { json, text } = await told(world.home)

  expect(synced.status).toBe(1)
  expect(json.lock.error).toContain('Cannot read the lock')
  expect(json.sources[0]).toMatchObject({
    lock: { state: 'unreadable' },
    problem: { code: 'lock-mismatch' },
    served: { commit: locked },
  })
  expect(text).toContain('lock: cannot be read')
  expect(await bodyOf(peer)).toBe(FIRST)
})

test('a start with a lock that cannot be read serves what the state folder has', async () => {
  await using world = await World.create()
  await moved(world)
  await world.synced()
  await writeFile(world.home.lockFile, '<<<<<<< HEAD\n')

  const daemon = world.home.start('start')
  await using peer = await modernHttp(await daemon.line())

  expect(await bodyOf(peer)).toBe(FIRST)
})

test('a hold on this machine outranks the lock, and is told; release goes back to it', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)
  await world.synced()

  await world.home.command('hold', 'team', newest)
  const first = await told(world.home)
  const ofMcp = await bodyIn(world.home)
  const back = await world.home.command('release', 'team')
  const passing = await world.home.command('rollback', 'team', newest)
  await world.home.command('hold', 'team', newest)
  await world.synced()
  const held = await told(world.home)
  await world.home.command('release', 'team')
  const released = await told(world.home)

  for (const { json } of [first, held])
    expect(json.sources[0]).toMatchObject({ served: { commit: newest }, lock: { state: 'overruled', commit: locked } })
  expect(first.text).toContain('lock: not followed while the source is held')
  expect(ofMcp).toBe(SECOND)
  expect(back.stdout).toContain(short(locked))
  expect(passing).toMatchObject({ status: 1 })
  expect(passing.stderr).toContain('which the next pull would bring back; skillsyncd hold team COMMIT keeps it there')
  expect(released.json.sources[0]).toMatchObject({ served: { commit: locked }, lock: { state: 'followed' } })
})

test('with `update: review` nothing waits where the lock has the source: the lock moves it, by an update that names the commit', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)
  await configure(world, ['update: review'])

  const synced = await world.home.command('sync')
  const approved = await world.home.command('approve', 'team', newest)
  const before = (await told(world.home)).json.sources[0]
  const unnamed = await world.home.command('update')
  const updated = await world.home.command('update', 'team', '--precise', newest)
  const after = (await told(world.home)).json.sources[0]

  expect(synced.status).toBe(0)
  expect(approved).toMatchObject({ status: 1, stderr: expect.stringContaining('Nothing of "team" waits') })
  expect(before).toMatchObject({ served: { commit: locked }, lock: { state: 'followed' } })
  expect([unnamed.status, updated.status]).toEqual([1, 0])
  expect(after).toMatchObject({ served: { commit: newest } })
})

test('sources of a command line know no lock', async () => {
  await using world = await World.create()
  const { newest } = await moved(world)

  const { stdout } = await world.home.command('sync', '--json', '--source', `${world.git.origin}/team.git`)

  expect(JSON.parse(stdout).sources[0]).toMatchObject({ commit: newest, lock: { state: 'missing' } })
})

/** A lock of the first commit, while the second is upstream. */
async function moved(world: World): Promise<{ readonly locked: string; readonly newest: string }> {
  await world.synced()
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  const locked = await world.repository.git('rev-parse', 'main')
  const newest = await world.repository.commit({ 'alpha/SKILL.md': SECOND })
  return { locked, newest }
}

async function configure(world: World, source: readonly string[], rest: readonly string[] = []): Promise<void> {
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h', ...source] }, rest)
}

async function told(home: Home): Promise<{ readonly json: any; readonly text: string }> {
  const json = JSON.parse((await home.command('status', '--json')).stdout)
  return { json, text: (await home.command('status')).stdout }
}

/** Of the skill `alpha`, by a program that reads the state folder and pulls nothing. */
async function bodyIn(home: Home): Promise<string | undefined> {
  await using mcp = await stdio(['--offline'], 'legacy', home.env)
  return await bodyOf(mcp)
}

async function bodyOf(peer: Peer): Promise<string | undefined> {
  const { result } = await peer.call('resources/read', { uri: 'skill://team/alpha/SKILL.md' })
  return result?.contents[0].text
}

function short(commit: string): string {
  return commit.slice(0, 12)
}
