import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Log } from '../../../src/base/log.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import type { Environment } from '../../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../../src/daemon/configuration.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { FolderFollower } from '../../../src/features/agent-folders/folder-follower.ts'
import type { FollowerParts } from '../../../src/features/agent-folders/folder-follower.ts'
import { LinkSync } from '../../../src/features/agent-folders/link-sync.ts'
import { Registry } from '../../../src/serve/registry.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { catalogWith } from '../../support/content/searchable-skills.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, sample, sourceId } from '../../sync/store/samples.ts'
import type { Sample } from '../../sync/store/samples.ts'

test('a folder that hangs keeps neither a command nor the end waiting, and nothing is put there afterwards', async () => {
  await using desk = await Desk.open(['links: [claude-code]'])
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const follower = desk.follower({
    links: desk.linking.links,
    settled: async () => {},
    drop: async () => {},
    put: async () => {
      asked.resolve()
      await answered.promise
      return { taken: [] }
    },
  })

  follower.follow()
  await asked.promise
  const settled = follower.settled()
  await desk.clock.advance(60_000)
  await settled
  const ended = follower[Symbol.asyncDispose]()
  await desk.clock.advance(60_000)
  await ended
  answered.resolve()
  await follower.settled()

  expect(await readdir(desk.home)).toEqual(['state'])
})

test('a process that lost the right to write removes nothing', async () => {
  await using desk = await Desk.open(['links: [claude-code]'])
  const follower = desk.follower()
  follower.follow()
  await follower.settled()
  const before = await readdir(join(desk.home, '.claude/skills'))

  desk.store.folder.guardWith(async () => {
    throw new SyncError('store-failed', 'Another process writes here')
  })
  desk.serve()
  follower.follow()
  await follower.settled()

  expect(before).toEqual(['alpha'])
  expect(await readdir(join(desk.home, '.claude/skills'))).toEqual(['alpha'])
  expect(desk.messages).toEqual([expect.stringContaining('Another process writes here')])
})

test('neither a home nor the parent of a named folder is made, and each is filled once it is there', async () => {
  await using desk = await Desk.open(['links: [claude-code, { to: ~/usb/skills }]'])
  await using home = await temporaryFolder()
  const [absent, mount] = [join(home.path, 'ada'), join(desk.home, 'usb')]
  const follower = desk.follower(desk.linking, environmentOf({ HOME: absent }, absent))

  follower.follow()
  await follower.settled()
  const before = await Promise.all([readdir(home.path), readdir(desk.home)])
  await mkdir(absent)
  await mkdir(mount)
  follower.follow()
  await follower.settled()

  expect(before).toEqual([[], ['state']])
  expect(await readdir(join(absent, '.claude/skills'))).toEqual(['alpha'])
  expect(await readdir(join(mount, 'skills'))).toEqual(['alpha'])
  expect(desk.messages.join('; ')).toContain(`Cannot fill "${absent}/.claude/skills": there is no folder "${absent}"`)
  expect(desk.messages.join('; ')).toContain(`Cannot fill "${mount}/skills": there is no folder "${mount}"`)
})

test('a service whose home is its state folder fills nothing there, and a folder that is named elsewhere', async () => {
  await using desk = await Desk.open(['links: [claude-code, gemini-cli]'])
  await using other = await temporaryFolder()
  const { state } = desk.config
  const gemini = join(other.path, '.gemini')
  await mkdir(gemini)
  const follower = desk.follower(desk.linking, environmentOf({ HOME: state, GEMINI_CLI_HOME: other.path }, state))

  follower.follow()
  await follower.settled()

  expect(await readdir(state)).not.toContain('.claude')
  expect(await readdir(join(gemini, 'skills'))).toEqual(['alpha'])
  expect(desk.messages).toEqual([
    'Cannot fill the folder of claude-code: this service has no home; skillsyncd service install --user, as the user whose agent reads, runs one that has, or the agent has the skills over MCP',
  ])
})

test('what link --remove took out of the record before it was placed is taken back', async () => {
  await using desk = await Desk.open(['links: [claude-code]'])
  const { linking } = desk
  const folder = join(desk.home, '.claude/skills')
  const follower = desk.followerPutting(async (put) => {
    const answer = await linking.put(put)
    // The last step of an `unlink` that found the folder empty.
    await linking.drop({ folder, uses: [{ agent: 'claude-code' }], names: ['alpha'] })
    return answer
  })

  follower.follow()
  await follower.settled()

  expect(linking.links.folders.size).toBe(0)
  expect(await readdir(folder)).toEqual([])
  expect(desk.messages).toEqual([expect.stringContaining('lacks alpha: link --remove took it out meanwhile')])
})

test('all skills of a folder are recorded at once, and what was verified is not read again before a publish', async () => {
  await using desk = await Desk.open(['links: [claude-code]'])
  const samples = ['alpha', 'beta', 'gamma'].map(sampleOf)
  await keepSamples(desk.store, ...samples)
  desk.serve(...samples)
  const puts: number[] = []
  const follower = desk.followerPutting(async (put) => {
    puts.push(put.skills.length)
    return desk.linking.put(put)
  })
  follower.follow()
  await follower.settled()
  const file = join(desk.home, '.claude/skills/alpha/SKILL.md')
  await chmod(file, 0o600)
  await writeFile(file, 'edited')

  await desk.linking.put({ folder: '/elsewhere', uses: [], made: [], copies: false, skills: [] })
  const edited = await readFile(file, 'utf8')
  desk.linking.follow()
  await desk.linking.settled()

  expect(puts).toEqual([3])
  expect(edited).toBe('edited')
  expect(await readFile(file, 'utf8')).toContain('name: alpha')
})

test('a folder that was linked in part is recorded as one that holds everything', async () => {
  await using desk = await Desk.open(['links: [claude-code]'])
  const folder = join(desk.home, '.claude/skills')
  const follower = desk.follower()
  follower.follow()
  await follower.settled()
  await desk.linking.drop({ folder, uses: [], names: ['alpha'] })
  const only = { sources: [], skills: ['team/alpha'] }
  const skills = [
    {
      name: 'alpha',
      source: sourceId('team'),
      path: 'alpha',
      targets: [desk.store.links.pathOf('alpha')],
      digests: [],
    },
  ]
  await desk.linking.put({ folder, uses: [], made: [], copies: false, only, skills })
  const before = desk.linking.links.folders.get(folder)?.only

  follower.follow()
  await follower.settled()

  expect(before).toEqual(only)
  expect(desk.linking.links.folders.get(folder)).toMatchObject({ copies: false })
  expect(desk.linking.links.folders.get(folder)).not.toHaveProperty('only')
})

test('a failure and its end are told of each folder, also of one that the next configuration does not name', async () => {
  await using desk = await Desk.open(['links: [{ to: ~/a/skills }, { to: ~/b/skills }]'])
  const follower = desk.follower()
  follower.follow()
  await follower.settled()

  await mkdir(join(desk.home, 'a'))
  follower.follow()
  await follower.settled()
  const told = desk.lines.map(({ event, folder }) => [event, folder])
  desk.follower(desk.linking, undefined, { ...desk.config, links: [] }).takeOver(follower)

  const [a, b] = ['a', 'b'].map((name) => join(desk.home, name, 'skills'))
  expect(told).toEqual([
    ['folders-not-followed', a],
    ['folders-not-followed', b],
    ['folder-followed', a],
    ['recovered', a],
  ])
  expect(desk.lines.at(-1)).toMatchObject({ event: 'recovered', folder: b, from: 'folders-not-followed' })
})

test('a folder in a home that is not known keeps no other from being filled, and is named', async () => {
  await using desk = await Desk.open(['links: [codex, claude-code]'])
  const claude = join(desk.home, '.claude')
  await mkdir(claude)
  const follower = desk.follower(desk.linking, environmentOf({ CLAUDE_CONFIG_DIR: claude }, undefined))

  follower.follow()
  await follower.settled()

  expect(await readdir(join(claude, 'skills'))).toContain('alpha')
  expect(desk.messages).toEqual([expect.stringContaining('HOME is not set')])
})

/** A state folder in a home, and what serves the skill `alpha` of the source `team` from it. */
class Desk implements AsyncDisposable {
  readonly home: string
  readonly store: Store
  readonly config: WholeConfig
  readonly clock = new FakeClock()
  readonly registry = new Registry()
  readonly linking: LinkSync
  /** Everything that was logged. */
  readonly lines: Readonly<Record<string, unknown>>[] = []
  readonly #log: Log
  readonly #environment: Environment
  readonly #folder: AsyncDisposable

  private constructor(folder: AsyncDisposable & { readonly path: string }, store: Store, config: WholeConfig) {
    this.#folder = folder
    this.home = folder.path
    this.store = store
    this.config = config
    this.#environment = environmentOf({}, folder.path)
    this.#log = createLog({
      level: 'info',
      stream: { write: (line: string) => this.lines.push(JSON.parse(line)) > 0 },
      format: 'json',
      journal: false,
      clock: this.clock,
      redactor: new Redactor(),
    })
    this.linking = new LinkSync({ store, log: this.#log, clock: this.clock }, { oldest: this.registry }, this.registry)
  }

  static async open(rest: readonly string[]): Promise<Desk> {
    const folder = await temporaryFolder()
    const yaml = [`sources: [{ id: team, path: ${folder.path}/skills }]`, `state: ${folder.path}/state`, ...rest]
    const config = parseConfig(yaml.join('\n'), 'skillsyncd.yaml', environmentOf({}, folder.path))
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const store = await Store.open(config.state)
    const alpha = sampleOf('alpha')
    await keepSamples(store, alpha)
    const desk = new Desk(folder, store, config)
    desk.serve(alpha)
    return desk
  }

  serve(...samples: readonly Sample[]): void {
    this.registry.publish(catalogWith({ team: samples }))
  }

  /** A follower that records by another `put`. */
  followerPutting(put: FollowerParts['linking']['put']): FolderFollower {
    const { linking } = this
    return this.follower({
      get links() {
        return linking.links
      },
      settled: async () => linking.settled(),
      drop: async (drop) => linking.drop(drop),
      put,
    })
  }

  follower(
    linking: FollowerParts['linking'] = this.linking,
    environment = this.#environment,
    config = this.config,
  ): FolderFollower {
    const { clock, registry, store } = this
    return new FolderFollower({
      clock,
      config,
      registry,
      store,
      linking,
      environment,
      log: this.#log,
      publisher: { lost: [] },
    })
  }

  /** The messages of the failures. */
  get messages(): unknown[] {
    return this.lines.filter(({ event }) => event === 'folders-not-followed').map(({ message }) => message)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.store[Symbol.dispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

function sampleOf(name: string): Sample {
  return sample(name, { 'SKILL.md': `---\nname: ${name}\ndescription: The first\n---\n` })
}
