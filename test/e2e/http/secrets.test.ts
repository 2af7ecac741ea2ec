import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'

const USER = 'reader'
const CANARY = 'canary/7f3a+9c1e=&%secret'
const WRONG = 'canary-wrong-5b2d8e'

test.each(['env', 'file'] as const)(
  '29, P7: a secret from %s opens the repository and is met nowhere',
  async (kind) => {
    await using world = await World.create(kind, CANARY)
    const daemon = world.home.start('start', '--log-level', 'debug')
    const url = await daemon.line()
    await daemon.said((line) => line.includes('"source-updated"'))
    await using peer = await modernHttp(url)
    const cmdline = await readFile(`/proc/${daemon.pid}/cmdline`, 'utf8')
    const status = await world.home.run('status', '--json')
    const list = await world.home.run('list', '--json')
    const answer = JSON.stringify(await peer.call('skills/list'))

    const end = await daemon.stop()

    expect(JSON.parse(status.stdout)).toMatchObject({ skills: 1 })
    expect(world.git.requests.at(-1)?.authorization).toMatch(/^Basic /)
    const texts = [cmdline, status, list, answer, end, await allFiles(world.home.state), await allFiles(world.runtime)]
    for (const text of texts) expectNoSecret(JSON.stringify(text), CANARY)
  },
)

test('26, P7: a secret that the host rejects is a problem that names the credential, not its value', async () => {
  await using world = await World.create('env', WRONG)
  const daemon = world.home.start('start', '--log-level', 'debug')
  await daemon.line()
  await daemon.said((line) => line.includes('"pull-failed"'))

  const status = await world.home.run('status', '--json')
  const lines = await world.home.run('status')
  const sync = await world.home.run('sync', '--json')
  const end = await daemon.stop()

  const credential = 'environment variable "SKILLS_SECRET"'
  expect(JSON.parse(status.stdout).sources).toMatchObject([{ problem: { code: 'credentials-rejected', credential } }])
  expect(lines.stdout).toContain(credential)
  expect(sync.status).toBe(1)
  expect(JSON.parse(sync.stdout).sources).toMatchObject([
    { outcome: 'failed', problem: { code: 'credentials-rejected' } },
  ])
  const state = await allFiles(world.home.state)
  expect(state).toContain('credentials-rejected')
  for (const text of [status, lines, sync, end, state]) expectNoSecret(JSON.stringify(text), WRONG)
})

test('a secret file with a new secret is taken up without a restart', async () => {
  await using world = await World.create('file', WRONG)
  const daemon = world.home.start('start')
  await daemon.line()
  await daemon.said((line) => line.includes('"credentials-rejected"'))
  await writeFile(world.secretFile, `${CANARY}\n`)

  const sync = await world.home.run('sync', '--json')

  expect(JSON.parse(sync.stdout).sources).toMatchObject([{ outcome: 'updated' }])
  expectNoSecret((await daemon.stop()).stderr, CANARY)
})

test('a secret that is not there is a problem that names where it was looked for', async () => {
  await using world = await World.create('env', '')

  const end = await world.home.run('sync', '--json')

  expect(end.status).toBe(1)
  const [source] = JSON.parse(end.stdout).sources
  expect(source.problem.code).toBe('credentials-rejected')
  expect(source.problem.message).toContain('SKILLS_SECRET')
  expect(world.git.requests).toEqual([])
})

test('what a git server says back is not told on, should it hold the secret', async () => {
  await using world = await World.create('env', CANARY)
  const basic = Buffer.from(`${USER}:${CANARY}`).toString('base64')
  world.git.fault = { kind: 'status', status: 500, body: `no: ${CANARY} ${basic}` }

  const end = await world.home.run('sync', '--log-level', 'debug')
  const status = await world.home.run('status')

  expect(end.status).toBe(1)
  for (const text of [end, status, await allFiles(world.home.state)]) expectNoSecret(JSON.stringify(text), CANARY)
})

/** A home with one source behind a user name and a password, the password named in the way asked for. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly secretFile: string
  readonly runtime: string
  readonly #repository: Repository

  private constructor(home: Home, git: GitServer, repository: Repository) {
    this.home = home
    this.git = git
    this.#repository = repository
    this.secretFile = join(home.path, 'secret')
    this.runtime = join(home.path, 'tmp')
  }

  static async create(kind: 'env' | 'file', secret: string): Promise<World> {
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': '---\nname: alpha\ndescription: Behind a door\n---\nalpha\n' })
    const git = await GitServer.start()
    git.access = { basic: { user: USER, password: CANARY } }
    const world = new World(await Home.create(), git, repository)
    world.home.env['SKILLS_SECRET'] = kind === 'env' ? secret : 'not this one'
    await writeFile(world.secretFile, `${secret}\n`)
    const password = kind === 'env' ? '{ env: SKILLS_SECRET }' : `{ file: ${world.secretFile} }`
    await world.home.configure({
      team: [
        `url: ${git.serve('team', repository)}`,
        'every: 1h',
        `auth: { basic: { username: ${USER}, password: ${password} } }`,
      ],
    })
    return world
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
  }
}

/** Neither as it is, nor as it stands in an address, a header or JSON. */
function expectNoSecret(text: string, secret: string): void {
  const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]
  const encoded = [secret, `${USER}:${secret}`].map((form) => Buffer.from(form).toString('base64'))
  for (const form of [...forms, ...encoded]) expect(text).not.toContain(form)
}

async function allFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n')
}
