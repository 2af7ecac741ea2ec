import { hash } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { CheckResult } from '../../../../src/daemon/cli/check.ts'
import { digestOf } from '../../../../src/sync/model/digest.ts'
import type { SkillFile } from '../../../../src/sync/model/skill.ts'
import { storedSkill } from '../../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { World, skill } from '../../../e2e/world.ts'
import { checksIn, faultsIn, notesIn } from '../../../support/checks.ts'
import { PackChanger, packWithFlipped } from '../../../support/git/pack-changer.ts'
import { SshHost } from '../../../support/git/ssh-host.ts'

interface Verified {
  readonly status: number | null
  readonly compared?: number
  readonly findings: readonly CheckResult[]
  readonly notes: readonly CheckResult[]
}

async function verified({ home }: World, ...args: readonly string[]): Promise<Verified> {
  const { status, stdout, stderr } = await home.command('verify', '--json', ...args)
  if (stdout === '') throw new Error(stderr)
  return { status, ...JSON.parse(stdout), findings: faultsIn(stdout), notes: notesIn(stdout) }
}

/** A world whose git server is behind a proxy that can change what isomorphic-git fetches. */
async function changeable(files: Parameters<World['repository']['commit']>[0] = {}) {
  const world = await World.create()
  onTestFinished(() => world[Symbol.asyncDispose]())
  const changer = await PackChanger.before(world.git)
  onTestFinished(() => changer[Symbol.asyncDispose]())
  await world.home.configure({ team: [`url: ${changer.url('team')}`, 'every: 1h'] })
  if (Object.keys(files).length > 0) await world.repository.commit(files)
  await world.synced()
  return { world, changer }
}

test('a second fetch that agrees says how many files it compared: links, executables, nested skills and docs', async () => {
  const { world, changer } = await changeable({
    'alpha/run.sh': { executable: 'echo' },
    'alpha/again.md': { link: 'run.sh' },
    'alpha/inner/SKILL.md': skill('inner', 'nested'),
    'other/target/SKILL.md': skill('linked', 'elsewhere'),
    linked: { link: 'other/target' },
    'guide/a.md': 'read me',
    'guide/picture.png': 'no markdown',
    'big.bin': Buffer.alloc(300_000, 7),
  })
  await world.home.configure({ team: [`url: ${changer.url('team')}`, 'every: 1h', 'docs: guide'] })
  await world.synced()

  const deep = await verified(world, '--deep')
  const plain = await verified(world)
  const text = await world.home.command('verify', '--deep', 'team')

  expect(deep).toMatchObject({ status: 0, findings: [], notes: [] })
  expect(deep.compared).toBeGreaterThanOrEqual(7)
  expect(plain.compared).toBeUndefined()
  expect(text.stdout).toContain(`, ${deep.compared} files compared with isomorphic-git: nothing found`)
  expect(changer.fetches.length).toBe(2)
})

// The flip is in the pack that isomorphic-git is sent: what was pulled and is stored is right.
test('one flipped file in the pack of the second fetch fails verify --deep, and names the file of the skill', async () => {
  const { world, changer } = await changeable({ 'beta/SKILL.md': skill('beta', 'b'), 'beta/notes.md': 'some notes\n' })
  changer.pack = await packWithFlipped(world.repository, 'beta/notes.md')

  const alone = await verified(world, '--deep')
  const daemon = world.home.start('start')
  await daemon.line()
  const asked = await verified(world, '--deep', 'team')
  const text = await world.home.command('verify', '--deep')

  for (const end of [alone, asked]) {
    expect(end).toMatchObject({
      status: 3,
      findings: [{ check: 'second-opinion-differs', subject: 'team/beta/notes.md' }],
    })
  }
  expect(alone.findings[0]?.message).toContain('what the host sent does not have it')
  expect(alone.findings[0]?.fix).toContain('skillsyncd disable team/beta')
  expect(text.status).toBe(3)
  expect(text.stdout).toContain('fail  second-opinion-differs team/beta/notes.md: the commit names the object')
})

// The flip is in what is stored here, and everything that names it was made to fit: only the commit knows better.
test('a stored file that was changed with all of its digests passes verify, and fails verify --deep', async () => {
  const { world } = await changeable()
  await forge(world, 'alpha', 'SKILL.md', (bytes) => Buffer.from(bytes.toString().replace('first', 'forged')))

  const plain = await verified(world)
  const deep = await verified(world, '--deep')

  expect(plain).toMatchObject({ status: 0, findings: [] })
  expect(deep).toMatchObject({
    status: 3,
    findings: [{ check: 'second-opinion-differs', subject: 'team/alpha/SKILL.md' }],
  })
  expect(deep.findings[0]?.message).toMatch(/are served$/)
  expect(deep.findings[0]?.fix).toContain('skillsyncd disable team/alpha')
})

test('a commit that the host does not give any more could not be compared, which is no difference', async () => {
  const { world } = await changeable()
  await world.repository.git('config', 'uploadpack.allowAnySHA1InWant', 'false')
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'rewritten') }, { orphan: true })

  const end = await verified(world, '--deep')

  const codes = [...end.findings, ...end.notes].map(({ check }) => check)
  expect(codes).not.toContain('second-opinion-differs')
  expect(end.notes).toMatchObject([{ check: 'not-compared', message: expect.stringContaining('no longer gives') }])
})

test('what is served of another address than the source names now is not asked for with the credential of that one', async () => {
  const { world, changer } = await changeable()
  await world.home.configure({ team: [`url: ${world.git.serve('moved', world.repository)}`, 'every: 1h'] })

  const end = await verified(world, '--deep')

  expect(end.notes).toMatchObject([{ check: 'not-compared', message: expect.stringContaining(`and the source names`) }])
  expect(changer.fetches).toEqual([])
})

test('a repository on this disk is read in place; over ssh and of a folder it is said that nothing was compared', async () => {
  const { world } = await changeable()
  await using host = await SshHost.start()
  await world.home.configure({
    disk: [`url: ${pathToFileURL(world.repository.folder).href}`],
    folder: [`path: ${await aFolder(world)}`],
    far: [
      `url: ${host.url(world.repository.folder)}`,
      `auth: { ssh: { key: { file: ${host.key} }, known_hosts: ${host.knownHosts} } }`,
    ],
  })
  await world.synced()

  const end = await verified(world, '--deep')
  const disk = await verified(world, '--deep', 'disk')

  expect(end).toMatchObject({ status: 0, compared: 1, findings: [] })
  expect(end.notes).toMatchObject([
    { check: 'not-compared', subject: 'folder', message: expect.stringContaining('a folder has no commit') },
    { check: 'not-compared', subject: 'far', message: expect.stringContaining('it does not support ssh') },
  ])
  expect(disk).toMatchObject({ status: 0, compared: 1, findings: [], notes: [] })
})

test('Ctrl-C while the second fetch waits ends verify at once, and leaves nothing in the state folder', async () => {
  const { world, changer } = await changeable()
  const never = Promise.withResolvers<void>()
  changer.gate = never.promise
  const verify = world.home.start('verify', '--deep')
  await expect.poll(() => changer.fetches.length).toBe(1)

  verify.process.kill('SIGINT')
  const end = await verify.ended()
  never.resolve()

  expect(end.status).not.toBe(0)
  expect(await readdir(join(world.home.state, 'tmp')).catch(() => [])).toEqual([])
})

test('a pack with an object that inflates beyond the bound is not compared, and the bound is named', async () => {
  const { world, changer } = await changeable({ 'bomb.bin': Buffer.alloc(80 * 2 ** 20) })

  const end = await verified(world, '--deep')

  expect(changer.fetches.length).toBe(1)
  expect(end).toMatchObject({
    status: 0,
    notes: [{ check: 'not-compared', message: expect.stringContaining('67108864 bytes') }],
  })
})

test('the second fetch proves who it is as the pull does, and is not led to another origin', async () => {
  const { world, changer } = await changeable()
  world.git.access = { token: 'a-token-for-the-test' }
  world.home.env['TEAM_TOKEN'] = 'a-token-for-the-test'
  await world.home.configure({ team: [`url: ${changer.url('team')}`, 'auth: { token: { env: TEAM_TOKEN } }'] })

  const let_in = await verified(world, '--deep')
  world.git.fault = { kind: 'redirect', on: 'info-refs', status: 302, to: 'http://127.0.0.2:9' }
  const led = await verified(world, '--deep')

  expect(let_in).toMatchObject({ status: 0, compared: 1, findings: [], notes: [] })
  expect(led).toMatchObject({
    status: 3,
    findings: [{ message: expect.stringContaining('redirect (302) is refused') }],
  })
  expect(JSON.stringify([let_in, led])).not.toContain('a-token-for-the-test')
})

test('doctor SOURCE compares what is stored and what isomorphic-git fetches, of the sources that are named alone', async () => {
  const { world, changer } = await changeable()
  const { home } = world

  const before = await home.command('doctor', 'team')
  await forge(world, 'alpha', 'SKILL.md', (bytes) => Buffer.from(bytes.toString().replace('first', 'forged')))
  const end = await home.command('doctor', 'team', '--json')
  const offline = await home.command('doctor', 'team', '--offline', '--json')
  const nobody = await home.command('doctor', 'nobody')
  await world.git.goAway()
  const away = await home.command('doctor', 'team', '--json')

  expect(before).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('second-opinion team: isomorphic-git has 1 file'),
  })
  const checksOf = ({ stdout }: { readonly stdout: string }) =>
    checksIn(stdout).filter(({ check }) => check.startsWith('second-opinion'))
  expect(end.status).toBe(3)
  expect(checksOf(end)).toMatchObject([
    { verdict: 'fail', subject: 'team/alpha/SKILL.md', message: expect.stringContaining('the commit has') },
  ])
  expect(checksOf(offline)).toEqual([])
  expect(nobody.status).toBe(2)
  expect(faultsIn(away.stdout)).toContainEqual(
    expect.objectContaining({ check: 'source-unreachable', subject: 'team' }),
  )
  expect(changer.fetches.length).toBe(2)
})

test('a source that nobody configured is wrong usage', async () => {
  const { world } = await changeable()

  const end = await world.home.command('verify', '--deep', 'nobody')

  expect([end.status, end.stderr]).toEqual([2, expect.stringContaining('No source is called "nobody"')])
})

async function aFolder({ home }: World): Promise<string> {
  const folder = join(home.path, 'plain')
  await mkdir(join(folder, 'gamma'), { recursive: true })
  await writeFile(join(folder, 'gamma/SKILL.md'), skill('gamma', 'plain'))
  return folder
}

/** Changes a stored file, and writes skill, snapshot and generation anew, each under the digest that it has then. */
async function forge({ home }: World, path: string, name: string, change: (bytes: Buffer) => Buffer): Promise<void> {
  using store = await Store.openExisting(home.state, { isWriter: true })
  const generation = await store?.generations.current()
  const held = generation?.sources[0]
  const snapshot = held && (await store?.snapshots.read(held.snapshot))
  const found = snapshot?.skills.find((one) => one.path === path)
  if (store === undefined || snapshot === undefined || held === undefined || found?.digest === undefined)
    throw new Error('Nothing is stored')
  const bytes = new Map<string, Buffer>()
  for (const file of found.files) bytes.set(file.path, await store.skills.read(storedSkill(found), file))
  bytes.set(name, change(bytes.get(name) ?? Buffer.alloc(0)))
  const files: SkillFile[] = found.files.map((file) => {
    const now = bytes.get(file.path) ?? Buffer.alloc(0)
    return { ...file, size: now.length, sha256: hash('sha256', now) }
  })
  const digest = digestOf(files)
  await store.objects.put(bytes.values())
  const size = files.reduce((sum, file) => sum + file.size, 0)
  const forged = { ...found, files, digest, size }
  const skills = snapshot.skills.map((one) => (one === found ? forged : one))
  const kept = await store.snapshots.keep({ ...snapshot, skills })
  await store.generations.publish([{ ...held, snapshot: kept }], new Date())
}
