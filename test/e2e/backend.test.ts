import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { filesBelow } from '../support/content/folder.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import { skill } from './world.ts'

const TOKEN = 'canary-token-9f31c2d7'

test('a source that wants the git program is followed by it over http, with its token', async () => {
  await using world = await World.create()
  const before = await world.home.run('sync', '--json')
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })

  const after = await world.home.run('sync', '--json')

  const status = await world.home.run('status', '--json')
  expect([before, after].map(({ stdout }) => JSON.parse(stdout).sources)).toMatchObject([
    [{ outcome: 'updated' }],
    [{ outcome: 'updated' }],
  ])
  expect(JSON.parse(status.stdout)).toMatchObject({ skills: 2 })
  for (const { headers } of world.server.requests) expect(headers['user-agent']).toMatch(/^git\/\d/)
})

test('a kill in the middle of a fetch by the git program leaves no token on the disk', async () => {
  await using world = await World.create()
  world.server.fault = { kind: 'hang-before', on: 'fetch' }
  const sync = world.home.start('sync')
  await world.server.requested(({ body }) => body.includes('command=fetch'))

  await sync.kill()

  const left = await filesBelow(world.home.state)
  expect(left.map(({ name }) => name)).toContain('.gitconfig')
  for (const { text } of left) for (const secret of secrets()) expect(text).not.toContain(secret)
})

test('without the git program a source that wants it is a problem, and what was served is served on', async () => {
  await using world = await World.create()
  await world.home.run('sync')
  await world.configure('programs: { git: /nonexistent/git }')

  const sync = await world.home.run('sync', '--json')

  const status = await world.home.run('status', '--json')
  expect(JSON.parse(sync.stdout).sources).toMatchObject([
    { outcome: 'failed', problem: { code: 'git-missing', message: expect.stringContaining('"/nonexistent/git"') } },
  ])
  expect(JSON.parse(status.stdout)).toMatchObject({ skills: 1 })
})

test('a repository on this disk that takes the git program is refused to our own reader alone', async () => {
  await using repository = await Repository.create({ objectFormat: 'sha256' })
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await using home = await Home.create()
  const url = `url: ${pathToFileURL(repository.folder).href}`
  await home.configure({ alone: [url, 'backend: embedded'], both: [url, 'backend: system'] })

  const sync = await home.run('sync', '--json')

  expect(JSON.parse(sync.stdout).sources).toMatchObject([
    { outcome: 'failed', problem: { code: 'unsupported', message: expect.stringContaining('`backend` is embedded') } },
    { outcome: 'updated' },
  ])
})

/** A private repository behind a git server, with a source that wants the git program. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly server: GitServer
  readonly repository: Repository
  readonly #url: string

  private constructor(home: Home, server: GitServer, repository: Repository) {
    this.home = home
    this.server = server
    this.repository = repository
    this.#url = server.serve('team', repository)
    server.access = { token: TOKEN }
    home.env['TEAM_TOKEN'] = TOKEN
  }

  static async create(): Promise<World> {
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
    const world = new World(await Home.create(), await GitServer.start(), repository)
    await world.configure()
    return world
  }

  async configure(...rest: readonly string[]): Promise<void> {
    const auth = 'auth: { token: { env: TEAM_TOKEN } }'
    await this.home.configure({ team: [`url: ${this.#url}`, 'backend: system', 'every: 1h', auth] }, rest)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
  }
}

function secrets(): string[] {
  return [TOKEN, Buffer.from(`x-access-token:${TOKEN}`).toString('base64')]
}
