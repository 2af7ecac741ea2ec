import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { skill } from '../../../support/http/marketplace.ts'
import { Home } from '../../../support/process/program.ts'

const MARKETPLACE = ['packs:', '  - id: writing', '    include: [{ path: write-* }]']
const SERVE = ['serve: { http: { port: 0 }, marketplace: { name: acme } }']

test('without a daemon the command pushes by itself, and says what it did', async () => {
  await using world = await World.create()

  const first = await world.home.command('hub', 'publish', '--git', world.url)
  const again = await world.home.command('hub', 'publish', '--git', world.url)

  expect(first).toMatchObject({ status: 0, stdout: expect.stringMatching(/: pushed [0-9a-f]{12}, the first commit/) })
  expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('nothing to push') })
  expect(await world.remote.git('rev-list', '--count', 'main')).toBe('1')
})

test('a dry run tells the tree and pushes nothing', async () => {
  await using world = await World.create()

  const dry = await world.home.command('hub', 'publish', '--git', world.url, '--dry-run', '--json')

  const { publications } = JSON.parse(dry.stdout)
  expect(publications).toEqual([
    { url: world.url, branch: 'main', kind: 'would-push', tree: expect.stringMatching(/^[0-9a-f]{40}$/) },
  ])
  expect(await world.remote.git('for-each-ref')).toBe('')
})

test('a branch and a pack that are named are those that are pushed', async () => {
  await using world = await World.create()

  const done = await world.home.command(
    'hub',
    'publish',
    '--git',
    world.url,
    '--branch',
    'web/main',
    '--pack',
    'writing',
  )

  expect(done.status).toBe(0)
  const files = await world.remote.git('ls-tree', '-r', '--name-only', 'web/main')
  expect(files).toContain('plugins/writing/skills/write-letter/SKILL.md')
  expect(files).not.toContain('tidy')
  expect(await world.remote.git('show', 'web/main:.claude-plugin/marketplace.json')).toContain('"acme-writing"')
})

test('without --git each repository of the configuration is pushed to, and one that fails hides no other', async () => {
  await using world = await World.create([
    'publish:',
    '  - git: ORIGIN/none.git',
    '  - git: ORIGIN/out.git',
    '    branch: skills',
  ])

  const done = await world.home.command('hub', 'publish', '--json')

  const { publications } = JSON.parse(done.stdout)
  expect(done.status).toBe(1)
  expect(publications).toMatchObject([
    { kind: 'failed', problem: { code: 'repository-not-found' } },
    { kind: 'pushed', branch: 'skills' },
  ])
})

test('the credential that `defaults` has for an address is used for one that is only named', async () => {
  await using world = await World.create([
    'defaults:',
    '  - match: ORIGIN/out.git',
    '    auth: { token: { env: PUSH_TOKEN } }',
  ])
  world.home.env['PUSH_TOKEN'] = 'push-token-push-token'
  world.server.doors = (name, { authorization = '' }) =>
    name !== 'out' ||
    Buffer.from(authorization.slice(6), 'base64').toString() === 'x-access-token:push-token-push-token'

  const done = await world.home.command('hub', 'publish', '--git', world.url)

  expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining('pushed') })
})

test.each([
  ['ssh://git@git.example.com/out.git', 'http(s)'],
  ['git@git.example.com:out.git', 'http(s)'],
  ['file:///srv/out.git', 'http(s)'],
  ['https://me:pass-word-pass@git.example.com/out.git', 'auth'],
])('the address %s is refused with what to use', async (url, what) => {
  await using world = await World.create()

  const refused = await world.home.command('hub', 'publish', '--git', url)

  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining(what) })
  expect(refused.stderr).not.toContain('pass-word-pass')
})

test.each([
  [['--branch', 'main'], 2, '--branch goes with --git, and --pack with --git or --to'],
  [['--git', 'https://git.example.com/o.git', '--pack', 'none'], 1, 'no pack is called "none"'],
  [['--git', 'https://git.example.com/o.git', '--branch', 'refs/heads/main'], 1, 'must be the name of a branch'],
  [[], 1, 'the configuration has no `publish` with `git`'],
])('publish %j ends with %i', async (args, status, message) => {
  await using world = await World.create()

  expect(await world.home.command('hub', 'publish', ...args)).toMatchObject({
    status,
    stderr: expect.stringContaining(message),
  })
})

test('what is not complete is not published: nothing is served yet, or there is no marketplace', async () => {
  await using world = await World.create([], { synced: false })
  const early = await world.home.command('hub', 'publish', '--git', world.url)
  await world.configure(['serve: { http: { port: 0 } }'])
  const without = await world.home.command('hub', 'publish', '--git', world.url)

  expect(early).toMatchObject({ status: 1, stderr: expect.stringContaining('nothing is served yet') })
  expect(without).toMatchObject({ status: 1, stderr: expect.stringContaining('`serve.marketplace` is not set') })
  expect(await world.remote.git('for-each-ref')).toBe('')
})

test('with --offline a daemon publishes nothing, and says so', async () => {
  await using world = await World.create()
  await world.configure([
    'serve: { http: { port: 0 }, marketplace: { name: acme } }',
    'publish:',
    `  - git: ${world.url}`,
  ])
  const daemon = world.home.start('start', '--offline')
  await daemon.line()

  const end = await world.home.command('hub', 'publish')

  expect(end).toMatchObject({ status: 1, stderr: expect.stringContaining('--offline forbids network access') })
  expect(await world.remote.git('for-each-ref')).toBe('')
})

/** A home with a configuration of one source, and a repository to publish to. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly server: GitServer
  readonly source: Repository
  readonly remote: Repository

  private constructor(parts: Pick<World, 'home' | 'server' | 'source' | 'remote'>) {
    this.home = parts.home
    this.server = parts.server
    this.source = parts.source
    this.remote = parts.remote
  }

  static async create(lines: readonly string[] = [], { synced = true } = {}): Promise<World> {
    const server = await GitServer.start()
    const [source, remote] = [await Repository.create(), await Repository.create()]
    await source.commit({ 'write-letter/SKILL.md': skill('write-letter'), 'tidy/SKILL.md': skill('tidy') })
    const world = new World({ home: await Home.create(), server, source, remote })
    server.serve('fx', source)
    server.serve('out', remote)
    await world.configure([...MARKETPLACE, ...SERVE, ...lines])
    if (synced) expect(await world.home.command('sync')).toMatchObject({ status: 0 })
    return world
  }

  get url(): string {
    return `${this.server.origin}/out.git`
  }

  async configure(lines: readonly string[]): Promise<void> {
    const source = ['sources:', '  - id: fx', `    url: ${this.server.origin}/fx.git`]
    const text = [...source, ...lines].join('\n').replaceAll('ORIGIN', this.server.origin)
    await writeFile(this.home.configFile, `${text}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
    await this.source[Symbol.asyncDispose]()
    await this.remote[Symbol.asyncDispose]()
  }
}
