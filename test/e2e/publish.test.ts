import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { git, skill } from '../support/http/marketplace.ts'
import { Home } from '../support/process/program.ts'

const TOKEN = 'publish-token-publish-token'

test('a daemon publishes with the token of its own environment, and the command has it publish', async () => {
  await using world = await World.create()
  world.home.env['PUBLISH_TOKEN'] = TOKEN
  const daemon = world.home.start('start')
  const url = await daemon.line()
  await daemon.said(isEvent('published'))
  delete world.home.env['PUBLISH_TOKEN']
  await world.source.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })
  await world.home.run('sync')

  const published = await world.home.run('hub', 'publish')
  const status = await world.home.run('status')
  const metrics = await (await fetch(new URL('/metrics', url))).text()

  expect(published).toMatchObject({ status: 0, stdout: expect.stringMatching(/pushed|nothing to push/) })
  expect(await world.remote.git('rev-list', '--count', 'main')).toBe('2')
  const served = await git(['ls-remote', new URL('/marketplace.git', url).href, 'HEAD'])
  const clone = await world.remote.git('fetch', new URL('/marketplace.git', url).href, 'HEAD:refs/heads/served')
  expect(clone).toBe('')
  expect(served.split('\t')[0]).toBe(await world.remote.git('rev-parse', 'served'))
  expect(await world.remote.git('rev-parse', 'main^{tree}')).toBe(await world.remote.git('rev-parse', 'served^{tree}'))
  expect(await git(['fsck', '--full', '--strict'], world.remote.folder)).toBe('')
  expect(status.stdout).toContain(`publishes to ${world.url}, branch main: up to date at `)
  expect(metrics).toContain('skillsyncd_publication_current{publication="1"} 1\n')
  expect(metrics).toContain('skillsyncd_publications_total{publication="1",end="pushed"} 2\n')
  expect(await daemon.stop()).toMatchObject({ status: 0 })
  expect(daemon.stderr + status.stdout + published.stdout).not.toContain(TOKEN)
})

test('a refused push needs a person: status says so, with what the server said, and --check counts it', async () => {
  await using world = await World.create()
  world.home.env['PUBLISH_TOKEN'] = 'another-token-another-token'
  const daemon = world.home.start('start')
  await daemon.line()

  await daemon.said(isEvent('not-published'))
  const status = await world.home.run('status', '--check')

  expect(status).toMatchObject({ status: 3, stdout: expect.stringContaining('may push to the branch') })
})

test('a reload without the publication ends its failure, and one with it publishes again', async () => {
  await using world = await World.create()
  world.home.env['PUBLISH_TOKEN'] = TOKEN
  world.server.fault = { kind: 'status', status: 503, of: 'out' }
  const daemon = world.home.start('start')
  await daemon.line()
  await daemon.said(isEvent('not-published'))
  const text = await readFile(world.home.configFile, 'utf8')

  await writeFile(world.home.configFile, text.replace(/publish:\n.*\n/, ''))
  const without = await world.home.run('reload')
  await daemon.said(isEvent('recovered'))
  world.server.fault = { kind: 'none' }
  await writeFile(world.home.configFile, text)
  const again = await world.home.run('reload')
  await daemon.said(isEvent('published'))

  expect([without, again]).toMatchObject([{ status: 0 }, { status: 0 }])
  expect(await world.remote.git('rev-list', '--count', 'main')).toBe('1')
})

/** Accepts the lines of the log about an event. */
function isEvent(event: string): (line: string) => boolean {
  return (line) => line.includes(`"event":"${event}"`)
}

/** A hub that publishes to a repository that needs a token. */
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

  static async create(): Promise<World> {
    const server = await GitServer.start()
    const [source, remote] = [await Repository.create(), await Repository.create()]
    await source.commit({ 'tidy/SKILL.md': skill('tidy') })
    const world = new World({ home: await Home.create(), server, source, remote })
    server.doors = (name, { authorization = '' }) =>
      name !== 'out' || Buffer.from(authorization.slice(6), 'base64').toString().endsWith(`:${TOKEN}`)
    const url = server.serve('out', remote)
    await world.home.configure({ fx: [`url: ${server.serve('fx', source)}`] }, [
      'publish:',
      `  - { git: '${url}', auth: { token: { env: PUBLISH_TOKEN } } }`,
    ])
    await appendMarketplace(world.home.configFile)
    return world
  }

  get url(): string {
    return `${this.server.origin}/out.git`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
    await this.source[Symbol.asyncDispose]()
    await this.remote[Symbol.asyncDispose]()
  }
}

async function appendMarketplace(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  await writeFile(
    file,
    text.replace('serve: { http: { port: 0 } }', 'serve: { http: { port: 0 }, marketplace: { name: acme } }'),
  )
}
