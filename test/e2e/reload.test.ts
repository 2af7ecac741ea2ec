import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'
import type { Heard, Peer } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { git } from '../support/http/marketplace.ts'
import type { Program } from '../support/process/program.ts'
import { World, skill } from './world.ts'

describe('one daemon, whose configuration is as it was before each of them', () => {
  let hub: Hub
  let first: string
  beforeAll(async () => {
    hub = await Hub.createShared()
    first = await readFile(hub.world.home.configFile, 'utf8')
  })
  beforeEach(async () => {
    await writeFile(hub.world.home.configFile, first)
    expect(await hub.world.home.command('reload')).toMatchObject({ status: 0 })
  })
  afterAll(async () => hub?.[Symbol.asyncDispose]())

  test('a configuration that is not valid any more is refused with its place, and the daemon goes on with the old one', async () => {
    const { length } = hub.events
    await writeFile(hub.world.home.configFile, 'sources:\n  - id: team\n    ulr: https://git.example.com/team.git\n')

    const refused = await hub.world.home.command('reload')

    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toContain(`${hub.world.home.configFile}:3:5: sources[0].ulr: `)
    expect(await hub.listed()).toEqual(['skill://team/alpha/SKILL.md'])
    expect(hub.events.slice(length)).not.toContain('reloaded')
  })

  test('what is set once for a process is named, and nothing else of that configuration is applied', async () => {
    await hub.configure(['team', 'more'], {}, ['limits: { http: { connections: 700 } }'])

    const refused = await hub.world.home.command('reload')

    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toContain('limits.http')
    expect(await hub.listed()).toEqual(['skill://team/alpha/SKILL.md'])
  })

  test('a marketplace comes and goes with the configuration, and its commit is that of before', async () => {
    const { home } = hub.world
    const status = JSON.parse((await home.command('status', '--json')).stdout)
    const remote = new URL('/marketplace.git', status.http.url).href
    const tip = async () => git(['ls-remote', remote, 'HEAD']).catch(() => 'none')
    const reloadWith = async (name: string): Promise<string> => {
      await writeFile(home.configFile, first.replace('port: 0 }', `port: 0 }, marketplace: { name: ${name} }`))
      expect(await home.command('reload')).toMatchObject({ status: 0 })
      return tip()
    }
    expect(await tip()).toBe('none')

    const acme = await reloadWith('acme')
    const other = await reloadWith('other')

    expect(acme).toMatch(/^[0-9a-f]{40}\tHEAD$/)
    expect(other).not.toBe(acme)
    expect(await reloadWith('acme')).toBe(acme)
  })

  test('a configuration that says the same is nothing to apply, and what is served stays as it was', async () => {
    await writeFile(hub.world.home.configFile, `# a remark\n${await readFile(hub.world.home.configFile, 'utf8')}`)

    expect(await hub.world.home.command('reload')).toMatchObject({
      status: 0,
      stdout: 'nothing to apply: the daemon has this configuration\n',
    })
  })

  test('forms that the configuration has anew are there, and no source counts as changed', async () => {
    const { configFile } = hub.world.home
    const before = await readFile(configFile, 'utf8')
    await writeFile(configFile, before.replace('serve: { ', 'serve: { forms: [default, archives], '))

    const { stdout } = await hub.world.home.command('reload', '--json')

    expect(JSON.parse(stdout)).toMatchObject({ changed: [], isNew: true })
    expect(await hub.refusalOf('skill://team/alpha.tar.gz')).toBeUndefined()
  })

  test.each([
    ['what is open to everybody', 'public: [page]'],
    ['the title of the page', "page: { title: 'Skills of ours' }"],
  ])('%s is applied, though nothing else is another', async (_, serve) => {
    const { configFile } = hub.world.home
    const before = await readFile(configFile, 'utf8')
    await writeFile(configFile, before.replace('serve: { ', `serve: { ${serve}, `))

    const { stdout } = await hub.world.home.command('reload', '--json')

    expect(JSON.parse(stdout)).toMatchObject({ changed: [], isNew: true })
  })

  test('another lock file is applied, though nothing else is another', async () => {
    await hub.configure(['team'], {}, ['lock: other.lock'])

    const { stdout } = await hub.world.home.command('reload', '--json')

    expect(JSON.parse(stdout)).toMatchObject({ changed: [], isNew: true })
  })
})

test('what is valid by itself and not together with the lock is refused, and the old one goes on', async () => {
  await using hub = await Hub.start({ args: ['--locked'] })
  await hub.configure(['team', 'more'])

  const refused = await hub.world.home.command('reload')

  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(refused.stderr).toContain('more')
  expect(await hub.listed()).toEqual(['skill://team/alpha/SKILL.md'])
})

test('sources that come, go and are renamed are so for clients that stay connected, each told once', async () => {
  await using hub = await Hub.start()
  const heard = await hub.peer.subscribe(['skill://team/alpha/SKILL.md'])
  await heard.next((message) => message.method === 'notifications/subscriptions/acknowledged')
  await hub.configure(['crew', 'more'])

  const reloaded = await hub.world.home.command('reload', '--json')

  expect(reloaded).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(reloaded.stdout)).toEqual({ added: ['crew', 'more'], removed: ['team'], changed: [], isNew: true })
  for (const id of ['crew', 'more'])
    await hub.said((line) => line.includes('"source-updated"') && line.includes(`"${id}"`))
  expect(await hub.listed()).toEqual(['skill://crew/alpha/SKILL.md', 'skill://more/beta/SKILL.md'])
  expect(await hub.refusalOf('skill://team/alpha/SKILL.md')).toBeDefined()
  expect(updatedIn(heard)).toEqual(['skill://team/alpha/SKILL.md'])
})

test('who subscribed before a reload is told of what is published after it', async () => {
  await using hub = await Hub.start()
  const heard = await hub.peer.subscribe(['skill://team/alpha/SKILL.md'])
  await heard.next((message) => message.method === 'notifications/subscriptions/acknowledged')
  await hub.configure(['team', 'more'])
  await hub.world.home.command('reload')
  await hub.world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })

  await hub.world.home.command('sync', 'team')

  await heard.next((message) => message.method === 'notifications/resources/updated')
  expect(await hub.text('skill://team/alpha/SKILL.md')).toBe(skill('alpha', 'second'))
})

test('a source that is gone is in no generation that is made from then on', async () => {
  await using hub = await Hub.start()
  await hub.configure(['team', 'more'])
  await hub.world.home.command('reload')
  await hub.said((line) => line.includes('"source-updated"') && line.includes('"more"'))
  await hub.configure(['more'])

  const reloaded = await hub.world.home.command('reload')

  expect(reloaded).toMatchObject({ status: 0, stdout: 'removed team\n' })
  const { stdout } = await hub.world.home.command('log', '--json')
  const [newest] = JSON.parse(stdout).generations
  expect(newest).toMatchObject({ served: true, cause: { action: 'withdraw', trigger: 'reload' } })
})

test('a pull that is under way is stopped by a reload, and the source is pulled by what it says then', async () => {
  await using hub = await Hub.start()
  hub.world.git.fault = { kind: 'hang', at: 10, on: 'fetch' }
  await hub.world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const before = hub.world.git.requests.length
  const sync = hub.world.home.run('sync', 'team')
  await hub.world.git.requested(({ body }) => /command=fetch/.test(body.toString('latin1', 0, 64)), before)
  await hub.configure(['team'], { team: ['every: 1s'] })

  hub.world.git.fault = { kind: 'none' }

  const reloaded = await hub.world.home.command('reload')
  const ended = await sync

  expect(reloaded).toMatchObject({ status: 0, stdout: 'changed team\n' })
  expect(ended).toMatchObject({ status: 1 })
  expect(ended.stderr).toContain('stopped')
  await hub.said((line) => line.includes('"source-updated"'))
  expect(await hub.text('skill://team/alpha/SKILL.md')).toBe(skill('alpha', 'second'))
})

test('a changed limit of a pack holds the commits from then on, and a raised one lets them through', async () => {
  await using hub = await Hub.start()
  const { home, repository } = hub.world
  const limitTo = async (budget: number): Promise<unknown> => {
    await hub.configure(['team'], {}, [`packs: [{ id: core, include: [{ source: team }], budget: ${budget} }]`])
    return home.command('reload')
  }
  const names = Array.from({ length: 20 }, (_, index) => `skill-${index}`)
  await limitTo(20_000)

  const lowered = await limitTo(150)
  await repository.commit(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skill(name, 'new')])))
  const held = await home.command('sync')
  const before = await hub.listed()
  const raised = await limitTo(20_001)
  await home.command('sync')

  expect([lowered, raised]).toMatchObject([{ status: 0 }, { status: 0 }])
  expect(held.stdout + held.stderr).toContain('takes the listing of the pack "core" to ')
  expect(before).toEqual(['skill://team/alpha/SKILL.md'])
  expect(await hub.listed()).toHaveLength(names.length + 1)
})

test('where there is an address for operations, by which names the daemon may be called is set once', async () => {
  await using hub = await Hub.start({ serve: 'http: { port: 0 }, operations: { host: 127.0.0.1, port: 0 }' })
  const { configFile } = hub.world.home
  const before = await readFile(configFile, 'utf8')
  await writeFile(configFile, before.replace('http: { port: 0 }', 'http: { port: 0, allowed_hosts: [hub.example] }'))

  const refused = await hub.world.home.command('reload')

  expect(refused).toMatchObject({ status: 2, stdout: '' })
  expect(refused.stderr).toContain('(serve.http.allowed_hosts')
})

test('SIGHUP applies the configuration, and one that is no good is told and leaves the old one', async () => {
  await using hub = await Hub.start()
  await hub.configure(['team', 'more'])

  hub.hangUp()
  await hub.said((line) => line.includes('"source-updated"') && line.includes('"more"'))
  await hub.configure(['team'], { team: ['every: never'] })
  hub.hangUp()
  await hub.said((line) => line.includes('"not-reloaded"') && line.includes('every'))

  expect(await hub.listed()).toEqual(['skill://more/beta/SKILL.md', 'skill://team/alpha/SKILL.md'])
})

test('reloads that come at once go one after the other, and the last configuration is the one that counts', async () => {
  await using hub = await Hub.start()
  await hub.configure(['team', 'more'])

  const all = await Promise.all([1, 2, 3].map(() => hub.world.home.command('reload', '--json')))

  const answers = all.map(({ stdout }) => JSON.parse(stdout))
  expect(answers.filter(({ isNew }) => isNew)).toEqual([{ added: ['more'], removed: [], changed: [], isNew: true }])
  expect((await hub.world.home.command('status', '--json')).status).toBe(0)
})

test('without a daemon a reload says so', async () => {
  await using world = await World.create()

  const refused = await world.home.command('reload')

  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(refused.stderr).toContain('no daemon runs')
})

test('a daemon that was started with --source has nothing to read again', async () => {
  await using world = await World.create()
  const url = world.git.serve('team', world.repository)
  const state = `${world.home.path}/other`
  const daemon = world.home.start('start', '--source', url, '--state', state, '--port', '0')
  await daemon.line()

  const refused = await world.home.command('reload', '--source', url, '--state', state)

  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(refused.stderr).toContain('command line')
})

interface HubOptions {
  readonly args?: readonly string[]
  readonly serve?: string
}

/** A daemon that serves `team`, with a client that stays connected. `more` and `crew` can be had. */
class Hub implements AsyncDisposable {
  readonly world: World
  readonly peer: Peer
  readonly #daemon: Program
  readonly #more: Repository

  private constructor(world: World, daemon: Program, peer: Peer, more: Repository) {
    this.world = world
    this.#daemon = daemon
    this.peer = peer
    this.#more = more
  }

  /** `serve`: what stands under that key of the configuration, in place of the usual. */
  static async start(options: HubOptions = {}): Promise<Hub> {
    return Hub.#in(await World.create(), options)
  }

  /** Makes one for several tests: `afterAll` disposes of it. */
  static async createShared(): Promise<Hub> {
    return Hub.#in(await World.createShared(), {})
  }

  static async #in(world: World, { args = [], serve }: HubOptions): Promise<Hub> {
    const { configFile } = world.home
    const config = await readFile(configFile, 'utf8')
    if (serve !== undefined) await writeFile(configFile, config.replace(/^serve: .*$/m, `serve: { ${serve} }`))
    await world.synced()
    if (args.includes('--locked')) await world.home.command('lock')
    const more = await Repository.create()
    await more.commit({ 'beta/SKILL.md': skill('beta', 'first') })
    const daemon = world.home.start('start', ...args)
    return new Hub(world, daemon, await modernHttp(await daemon.line()), more)
  }

  /** The events that the daemon told of. */
  get events(): readonly string[] {
    return this.#daemon.stderr.split('\n').flatMap((line) => (line === '' ? [] : [String(JSON.parse(line).event)]))
  }

  async said(accepts: (line: string) => boolean): Promise<void> {
    await this.#daemon.said(accepts)
  }

  hangUp(): void {
    process.kill(this.#daemon.pid, 'SIGHUP')
  }

  async configure(
    ids: readonly string[],
    lines: Readonly<Record<string, readonly string[]>> = {},
    rest: readonly string[] = [],
  ): Promise<void> {
    const entries = ids.map((id) => {
      const url = this.world.git.serve(id, id === 'more' ? this.#more : this.world.repository)
      return [id, [`url: ${url}`, ...(lines[id] ?? ['every: 1h'])]] as const
    })
    await this.world.home.configure(Object.fromEntries(entries), rest)
  }

  async listed(): Promise<readonly string[]> {
    const { result } = await this.peer.call('skills/list')
    return result.skills.map(({ uri }: { uri: string }) => uri)
  }

  async text(uri: string): Promise<string> {
    const { result } = await this.peer.call('resources/read', { uri })
    return result.contents[0].text
  }

  /** Why a read is refused, or undefined. */
  async refusalOf(uri: string): Promise<unknown> {
    const { error } = await this.peer.call('resources/read', { uri })
    return error
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer[Symbol.asyncDispose]()
    await this.world[Symbol.asyncDispose]()
    await this.#more[Symbol.asyncDispose]()
  }
}

function updatedIn({ messages }: Heard): readonly string[] {
  return messages.flatMap(({ method, params }) => (method === 'notifications/resources/updated' ? [params.uri] : []))
}
