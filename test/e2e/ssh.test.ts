import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { SshHost } from '../support/git/ssh-host.ts'
import { Home } from '../support/process/program.ts'
import { skill } from './world.ts'

const PASSPHRASE = 'canary/passphrase 8e1b&%'

test('a repository on this disk with ids of SHA-256 is followed and served', async () => {
  await using repository = await Repository.create({ objectFormat: 'sha256' })
  await using home = await Home.create()
  const first = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await home.configure({ team: [`url: ${pathToFileURL(repository.folder).href}`, 'every: 1h'] })
  const before = await home.run('sync', '--json')
  const second = await repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })

  const after = await home.run('sync', '--json')

  const status = await home.run('status', '--json')
  expect(first).toMatch(/^[0-9a-f]{64}$/)
  expect(JSON.parse(before.stdout).sources).toMatchObject([{ outcome: 'updated' }])
  expect(JSON.parse(after.stdout).sources).toMatchObject([{ outcome: 'updated' }])
  expect(status.stdout).toContain(second)
  expect(JSON.parse(status.stdout)).toMatchObject({ skills: 2 })
})

test('29, P7: a locked key for ssh opens the repository, and neither it nor its passphrase is met anywhere', async () => {
  await using world = await World.create()
  const daemon = world.home.start('start', '--log-level', 'debug')
  const url = await daemon.line()
  await daemon.said((line) => line.includes('"source-updated"'))
  await using peer = await modernHttp(url)
  const status = await world.home.run('status', '--json')
  const answer = JSON.stringify(await peer.call('skills/list'))

  const end = await daemon.stop()

  expect(JSON.parse(status.stdout)).toMatchObject({ skills: 1 })
  for (const text of [
    status,
    answer,
    end,
    await allFiles(world.home.state),
    await allFiles(join(world.home.path, 'tmp')),
  ])
    world.expectNoSecret(JSON.stringify(text))
})

test('a host whose key has changed is a problem with both fingerprints, and what was served is served on', async () => {
  await using world = await World.create()
  expect(await world.home.run('sync')).toMatchObject({ status: 0 })
  world.host.makeKey('other')
  await writeFile(world.knownHosts, await world.host.knownAs('other'))

  const sync = await world.home.run('sync', '--json')

  const status = await world.home.run('status', '--json')
  expect(sync.status).toBe(1)
  expect(JSON.parse(sync.stdout).sources).toMatchObject([{ outcome: 'failed', problem: { code: 'tls-failed' } }])
  expect(JSON.parse(status.stdout)).toMatchObject({ skills: 1, sources: [{ problem: { code: 'tls-failed' } }] })
  expect(status.stdout).toContain(world.host.fingerprint)
  world.expectNoSecret(JSON.stringify([sync, status]))
})

test('a passphrase that is another is a problem that names the key, and not the passphrase', async () => {
  await using world = await World.create()
  await writeFile(world.passphraseFile, 'canary-another-passphrase\n')

  const sync = await world.home.run('sync', '--json')

  const status = await world.home.run('status')
  expect(JSON.parse(sync.stdout).sources).toMatchObject([
    { outcome: 'failed', problem: { code: 'credentials-rejected' } },
  ])
  expect(status.stdout).toContain('environment variable "SKILLS_KEY"')
  expect(JSON.stringify([sync, status, await allFiles(world.home.state)])).not.toContain('canary-another-passphrase')
  world.expectNoSecret(JSON.stringify([sync, status]))
})

test('an address like that of scp has its host, and a missing ssh program is a problem that names it', async () => {
  await using home = await Home.create()
  await home.configure({ team: ['url: git@127.0.0.1:team/skills.git', 'every: 1h'] }, [
    'programs: { ssh: /nonexistent/ssh }',
  ])

  const sync = await home.run('sync', '--json')

  expect(JSON.parse(sync.stdout).sources).toMatchObject([
    { outcome: 'failed', problem: { code: 'git-missing', message: expect.stringContaining('/nonexistent/ssh') } },
  ])
})

/** A home with one source on a host of ssh, which lets in a key with a passphrase. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly host: SshHost
  readonly knownHosts: string
  readonly passphraseFile: string
  readonly #key: string
  readonly #repository: Repository

  private constructor(home: Home, host: SshHost, repository: Repository, key: string) {
    this.home = home
    this.host = host
    this.knownHosts = join(home.path, 'known_hosts')
    this.passphraseFile = join(home.path, 'passphrase')
    this.#repository = repository
    this.#key = key
  }

  static async create(): Promise<World> {
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'behind a lock') })
    const host = await SshHost.start()
    const locked = host.makeKey('locked', PASSPHRASE)
    await host.allow(locked)
    const world = new World(await Home.create(), host, repository, await readFile(locked, 'utf8'))
    world.home.env['SKILLS_KEY'] = world.#key
    await writeFile(world.knownHosts, await readFile(host.knownHosts, 'utf8'))
    await writeFile(world.passphraseFile, `${PASSPHRASE}\n`)
    const auth = `{ ssh: { key: { env: SKILLS_KEY }, passphrase: { file: ${world.passphraseFile} }, known_hosts: ${world.knownHosts} } }`
    await world.home.configure({ team: [`url: ${host.url(repository.folder)}`, 'every: 1h', `auth: ${auth}`] })
    return world
  }

  expectNoSecret(text: string): void {
    const lines = this.#key.split('\n').filter((line) => line.length > 20 && !line.includes('PRIVATE KEY'))
    for (const secret of [...lines, PASSPHRASE, JSON.stringify(PASSPHRASE).slice(1, -1)])
      expect(text).not.toContain(secret)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.host[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
  }
}

async function allFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n')
}
