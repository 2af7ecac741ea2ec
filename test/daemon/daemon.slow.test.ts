import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Clock } from '../../src/base/async/clock.ts'
import { systemClock } from '../../src/base/async/clock.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { servingOf } from '../../src/daemon/status/page/mcp-serving.ts'
import type { SourceStatus, Status } from '../../src/daemon/status/status.ts'
import type { Changes } from '../../src/sync/catalog/changes.ts'
import { isSourceId, type SourceId } from '../../src/sync/model/source-id.ts'
import { Store } from '../../src/sync/store/store.ts'
import { damageObject, loseObject } from '../support/damage.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { GitServer, type GitRequest } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { pullNow } from '../support/pull-now.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('a daemon that has nothing yet serves an empty catalog, and what the first pulls bring after them', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') }, more: { 'b/SKILL.md': skill('b') } })
  await using daemon = await world.start()
  expect(daemon.registry.catalog.listed).toEqual([])

  const outcomes = await pullNow(daemon)

  expect([...outcomes].map(([id, { kind }]) => [id, kind])).toEqual([
    ['team', 'updated'],
    ['more', 'updated'],
  ])
  expect(listed(daemon)).toEqual(['skill://more/b/SKILL.md', 'skill://team/a/SKILL.md'])
})

test('a failed pull leaves the last good catalog in place, also over a restart', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  {
    await using daemon = await world.start()
    await pullNow(daemon)
    world.git.fault = { kind: 'status', status: 500 }

    const outcomes = await pullNow(daemon)

    expect(outcomes.get(id('team'))).toMatchObject({ kind: 'failed', error: { code: 'source-unreachable' } })
    expect(listed(daemon)).toEqual(['skill://team/a/SKILL.md'])
  }
  await using again = await world.start()

  expect(listed(again)).toEqual(['skill://team/a/SKILL.md'])
  expect(sourceOf(again.parts.status.status(), 'team')).toMatchObject({ problem: { code: 'source-unreachable' } })
})

test('an unchanged pull publishes nothing, and a changed one tells exactly what moved, once', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a'), 'b/SKILL.md': skill('b') } })
  await using daemon = await world.start()
  await pullNow(daemon)
  const told: Changes[] = []
  using _listening = daemon.registry.listen((changes) => told.push(changes))
  const { generation } = daemon.registry.catalog

  await pullNow(daemon)
  await world.repositories['team']!.commit({ 'a/SKILL.md': skill('a', 'changed') })
  await pullNow(daemon)

  expect(daemon.registry.catalog.generation).toBe(generation + 1)
  expect(told).toHaveLength(1)
  expect([...told[0]!.changed]).toEqual(['skill://team/a/SKILL.md'])
})

test('fifty pushes between two polls are one pull, to the newest', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a', '0') } })
  await using daemon = await world.start()
  await pullNow(daemon)
  const told: Changes[] = []
  using _listening = daemon.registry.listen((changes) => told.push(changes))
  for (let push = 1; push <= 50; push += 1) {
    await world.repositories['team']!.commit({ 'a/SKILL.md': skill('a', String(push)) })
  }

  await pullNow(daemon)

  expect(told).toHaveLength(1)
  expect(await world.read(daemon, 'skill://team/a/SKILL.md')).toContain('\n50\n')
})

test('while a source is pulled, all who ask for it again get one more pull', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  await using daemon = await world.start()
  const running = pullNow(daemon)
  await world.git.requested(isListing)

  await Promise.all([running, pullNow(daemon), pullNow(daemon), pullNow(daemon)])

  expect(world.git.requests.filter(isListing)).toHaveLength(2)
})

test('a source whose host hangs delays none of the others', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  await using hung = await GitServer.start()
  hung.fault = { kind: 'hang-before' }
  await world.add('hung', `${hung.origin}/hung.git`)
  await using daemon = await world.start()
  const all = pullNow(daemon).catch((error: unknown) => error)
  await hung.requested(() => true)

  const outcomes = await pullNow(daemon, [id('team')])

  expect(outcomes.get(id('team'))?.kind).toMatch(/updated|unchanged/)
  expect(listed(daemon)).toEqual(['skill://team/a/SKILL.md'])
  await daemon[Symbol.asyncDispose]()
  expect(await all).toMatchObject({ name: 'AbortError' })
})

test('one of two sources is broken from the start: the other is served', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  await world.add('gone', `${world.git.origin}/gone.git`)
  await using daemon = await world.start()

  const outcomes = await pullNow(daemon)

  expect(outcomes.get(id('gone'))).toMatchObject({ kind: 'failed', error: { code: 'repository-not-found' } })
  expect(listed(daemon)).toEqual(['skill://team/a/SKILL.md'])
  expect(sourceOf(daemon.parts.status.status(), 'gone')).toMatchObject({ served: undefined, tally: { seen: 0 } })
  expect(sourceOf(daemon.parts.status.status(), 'team').problem).toBeUndefined()
})

test('a repository without skills is an empty source and no failure', async () => {
  await using world = await World.create({ team: { 'README.md': '# nothing\n' } })
  await using daemon = await world.start()

  const outcomes = await pullNow(daemon)

  expect(outcomes.get(id('team'))?.kind).toBe('updated')
  expect(sourceOf(daemon.parts.status.status(), 'team')).toMatchObject({ tally: { seen: 0 }, findings: [] })
  expect(sourceOf(daemon.parts.status.status(), 'team').served?.commit).toMatch(/^[0-9a-f]{40}$/)
  expect(daemon.registry.catalog.listed).toEqual([])
})

test('a repository without commits is a problem until there is one', async () => {
  await using world = await World.create({})
  await using empty = await Repository.create()
  await world.add('team', world.git.serve('team', empty))
  await using daemon = await world.start()

  const before = await pullNow(daemon)
  await empty.commit({ 'a/SKILL.md': skill('a') })
  const after = await pullNow(daemon)

  expect(before.get(id('team'))).toMatchObject({ kind: 'failed', error: { code: 'ref-not-found' } })
  expect(after.get(id('team'))?.kind).toBe('updated')
  expect(sourceOf(daemon.parts.status.status(), 'team').problem).toBeUndefined()
})

test('a repository of SHA-256 ids is served and followed over http, also after a restart', async () => {
  await using world = await World.create({})
  await using sha256 = await Repository.create({ objectFormat: 'sha256' })
  const first = await sha256.commit({ 'a/SKILL.md': skill('a'), 'b/SKILL.md': skill('b') })
  await world.add('team', world.git.serve('team', sha256))
  {
    await using daemon = await world.start()
    await pullNow(daemon)
    expect(sourceOf(daemon.parts.status.status(), 'team').served?.commit).toBe(first)
  }
  const second = await sha256.commit({ 'c/SKILL.md': skill('c') })
  await using again = await world.start()

  const outcomes = await pullNow(again)

  expect(outcomes.get(id('team'))?.kind).toBe('updated')
  expect(sourceOf(again.parts.status.status(), 'team').served?.commit).toBe(second)
  expect(second).toMatch(/^[0-9a-f]{64}$/)
  expect(listed(again)).toEqual(['skill://team/a/SKILL.md', 'skill://team/b/SKILL.md', 'skill://team/c/SKILL.md'])
})

test('a full commit id of 64 digits can be asked for', async () => {
  await using sha256 = await Repository.create({ objectFormat: 'sha256' })
  const first = await sha256.commit({ 'a/SKILL.md': skill('a') })
  await sha256.commit({ 'b/SKILL.md': skill('b') })
  await using world = await World.create({}, [`ref: ${first}`])
  await world.add('team', world.git.serve('team', sha256))
  await using daemon = await world.start()

  await pullNow(daemon)

  expect(listed(daemon)).toEqual(['skill://team/a/SKILL.md'])
})

test('a ref that is deleted is a problem, its last good skills are served, and it recovers when it is back', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } }, ['ref: main'])
  const repository = world.repositories['team']!
  await using daemon = await world.start()
  await pullNow(daemon)
  const commit = await repository.git('rev-parse', 'refs/heads/main')
  await repository.deleteRef('refs/heads/main')

  const gone = await pullNow(daemon)
  const status = sourceOf(daemon.parts.status.status(), 'team')
  const served = listed(daemon)
  await repository.setRef('refs/heads/main', commit)
  const back = await pullNow(daemon)

  expect(gone.get(id('team'))).toMatchObject({ kind: 'failed', error: { code: 'ref-not-found' } })
  expect(status).toMatchObject({ served: { commit }, problem: { code: 'ref-not-found' } })
  expect(served).toEqual(['skill://team/a/SKILL.md'])
  expect(back.get(id('team'))?.kind).toBe('unchanged')
  expect(sourceOf(daemon.parts.status.status(), 'team').problem).toBeUndefined()
})

test('a stored file that was damaged is never read, and is fetched again by itself', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a', 'sound') } })
  await using daemon = await world.start()
  await pullNow(daemon)
  const uri = 'skill://team/a/SKILL.md'
  damageObject(world.state, world.sha256(daemon, uri))

  const damaged = await world.read(daemon, uri)
  // The one it set off itself runs or waits by now, and this joins it or follows it.
  await pullNow(daemon)

  expect(damaged).toBeUndefined()
  expect(await world.read(daemon, uri)).toBe(skill('a', 'sound'))
})

test('a file of the store that is gone is not read, and is taken again by itself', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a', 'sound'), 'b/SKILL.md': skill('b') } })
  await using daemon = await world.start()
  await pullNow(daemon)
  const uri = 'skill://team/a/SKILL.md'
  loseObject(world.state, world.sha256(daemon, uri))

  const lost = await world.read(daemon, uri)
  const first = await pullNow(daemon)
  const then = await pullNow(daemon)

  expect(first.get(id('team'))?.kind).not.toBe('failed')
  expect([lost, await world.read(daemon, uri)]).toEqual([undefined, skill('a', 'sound')])
  expect(then.get(id('team'))?.kind).toBe('unchanged')
})

test('a state that cannot be written is a failure of the pull, and nothing else', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  await using daemon = await world.start()
  await pullNow(daemon)
  await world.repositories['team']!.commit({ 'a/SKILL.md': skill('a', 'changed') })
  const restore = await world.block('tmp')

  const outcomes = await pullNow(daemon)

  expect(outcomes.get(id('team'))).toMatchObject({ kind: 'failed', error: { code: 'store-failed' } })
  expect(await world.read(daemon, 'skill://team/a/SKILL.md')).toBe(skill('a'))
  await restore()
  expect((await pullNow(daemon)).get(id('team'))?.kind).toBe('updated')
  expect(await world.read(daemon, 'skill://team/a/SKILL.md')).toBe(skill('a', 'changed'))
})

test('2, P6: two hundred unchanged polls change no file, open no descriptor and are one request each', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a'), 'b/SKILL.md': skill('b') } })
  await using daemon = await world.start()
  for (let poll = 0; poll < 5; poll += 1) await pullNow(daemon)
  const files = await filesIn(world.state)
  const descriptors = await openDescriptors()
  const requests = world.git.requests.length

  for (let poll = 0; poll < 200; poll += 1) await pullNow(daemon)

  expect(world.git.requests.length - requests).toBe(200)
  expect(await filesIn(world.state)).toEqual(files)
  // Some are the git server's, which runs in this process too and closes its own a little later.
  expect(await openDescriptors()).toBeLessThan(descriptors + 20)
  expect(world.logged().match(/source-updated/g)).toHaveLength(1)
})

test('23, P6: a host that is down for a week is asked about as often as ever and logged once, and the recovery is one line', async () => {
  const clock = new FakeClock()
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } }, ['every: 30m'])
  {
    await using daemon = await world.start()
    await pullNow(daemon)
  }
  world.git.fault = { kind: 'status', status: 500 }
  const logged = world.logged().length
  await using daemon = await world.start(clock)
  daemon.poll()
  let failed = 0

  for (let hour = 0; hour < 7 * 24; hour += 1) failed += await world.passHour(clock, daemon)

  const down = sourceOf(daemon.parts.status.status(), 'team')
  const served = listed(daemon)
  world.git.fault = { kind: 'none' }
  for (let hour = 0; hour < 2; hour += 1) await world.passHour(clock, daemon)

  // Every half hour would be 336 times; the longest pause is an hour.
  expect(failed).toBeGreaterThan(7 * 24)
  expect(failed).toBeLessThan(450)
  expect(served).toEqual(['skill://team/a/SKILL.md'])
  expect(down.problem?.code).toBe('source-unreachable')
  expect(Date.parse(down.lastAttempt!) - clock.now().getTime()).toBeGreaterThan(-4 * HOUR)
  expect(sourceOf(daemon.parts.status.status(), 'team').problem).toBeUndefined()
  expect(
    world
      .logged()
      .slice(logged)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { event: 'pull-failed', code: 'source-unreachable' },
    { event: 'recovered', repeated: failed - 1 },
  ])
})

test('a daemon that is disposed ends its pulls, and answers no more requests', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  world.git.fault = { kind: 'hang', at: 4, on: 'fetch' }
  const daemon = await world.start()
  const pulled = pullNow(daemon).catch((error: unknown) => error)
  await world.git.requested(isFetch)

  await daemon[Symbol.asyncDispose]()

  expect(await pulled).toMatchObject({ name: 'AbortError' })
  await expect(pullNow(daemon)).rejects.toMatchObject({ name: 'AbortError' })
  expect(await readdir(join(world.state, 'tmp'))).toEqual([])
})

/** A git server with a repository for each source, and a state folder for the daemon of a test. */
class World implements AsyncDisposable {
  readonly git: GitServer
  readonly state: string
  readonly repositories: Record<string, Repository> = {}
  readonly #urls: Record<string, string> = {}
  readonly #lines: readonly string[]
  readonly #folder: AsyncDisposable
  #logged = ''
  #store: Store | undefined

  private constructor(git: GitServer, folder: AsyncDisposable & { readonly path: string }, lines: readonly string[]) {
    this.git = git
    this.#folder = folder
    this.#lines = lines
    this.state = join(folder.path, 'state')
  }

  /** Each source with the files of its first commit; the lines of YAML stand in each. */
  static async create(
    sources: Readonly<Record<string, Readonly<Record<string, string>>>>,
    lines: readonly string[] = [],
  ): Promise<World> {
    const world = new World(await GitServer.start(), await temporaryFolder(), lines)
    for (const [source, files] of Object.entries(sources)) {
      const repository = await Repository.create()
      await repository.commit(files)
      world.repositories[source] = repository
      await world.add(source, world.git.serve(source, repository))
    }
    return world
  }

  async add(source: string, url: string): Promise<void> {
    this.#urls[source] = url
  }

  async start(clock: Clock = systemClock): Promise<Daemon> {
    const entries = Object.entries(this.#urls).map(([source, url]) => ({
      lines: [`  - id: ${source}`, `    url: ${url}`, ...this.#lines.map((line) => `    ${line}`)],
    }))
    const yaml = ['sources:', ...entries.flatMap(({ lines }) => lines), `state: ${this.state}`].join('\n')
    const environment = environmentOf({}, this.state)
    const config = parseConfig(yaml, 'skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const redactor = new Redactor()
    const stream = { write: (text: string) => (this.#logged += text) }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor })
    this.#store = await Store.open(this.state)
    return Daemon.start(config, { store: this.#store, clock, log, environment, redactor })
  }

  /** Everything that was logged at `info` and above. */
  logged(): string {
    return this.#logged
  }

  /** What a client would be given; undefined where it is damaged. */
  async read(daemon: Daemon, uri: string): Promise<string | undefined> {
    const { skill, file } = daemon.registry.catalog.files.get(uri)!
    const bytes = await servingOf(daemon.parts.serving).read(skill, file)
    return bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : undefined
  }

  sha256(daemon: Daemon, uri: string): string {
    return daemon.registry.catalog.files.get(uri)!.file.sha256
  }

  /** Puts a file in the place of a folder of the state. Returns what puts the folder back. */
  async block(folder: string): Promise<() => Promise<void>> {
    const path = join(this.state, folder)
    await rename(path, `${path}-aside`)
    await writeFile(path, '')
    return async () => {
      await rm(path)
      await rename(`${path}-aside`, path)
    }
  }

  /** Lets an hour pass, a minute at a time; a poll that falls due has its end before time goes on. Returns how many did. */
  async passHour(clock: FakeClock, daemon: Daemon): Promise<number> {
    let polls = 0
    const team = (): SourceStatus => sourceOf(daemon.parts.status.status(), 'team')
    for (const endMs = clock.now().getTime() + HOUR; clock.now().getTime() < endMs;) {
      const { nextPoll, lastAttempt } = team()
      // No further than to the poll, lest the one behind it come too. What is told of it knows whole milliseconds only.
      const atMs = Math.min(Date.parse(nextPoll!) + 1, endMs)
      await clock.advance(atMs - clock.now().getTime())
      if (Date.parse(nextPoll!) > clock.now().getTime()) continue
      // The poll is real: it ends when the server has answered, not when the clock says so.
      while (team().lastAttempt === lastAttempt || Date.parse(team().nextPoll!) <= clock.now().getTime()) await turn()
      polls += 1
    }
    return polls
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.git[Symbol.asyncDispose]()
    for (const repository of Object.values(this.repositories)) await repository[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

const HOUR = 3_600_000

function skill(name: string, body = 'first'): string {
  return `---\nname: ${name}\ndescription: ${name} of the tests\n---\n${body}\n`
}

function listed(daemon: Daemon): string[] {
  return daemon.registry.catalog.listed.map(({ uri }) => uri)
}

function sourceOf(status: Status, name: string): SourceStatus {
  return status.sources.find((source) => source.id === name)!
}

function id(text: string): SourceId {
  if (!isSourceId(text)) throw new Error(`"${text}" is no source id`)
  return text
}

function isListing({ body }: GitRequest): boolean {
  return /^.{4}command=ls-refs/.test(body.toString('latin1', 0, 64))
}

function isFetch({ body }: GitRequest): boolean {
  return /^.{4}command=fetch/.test(body.toString('latin1', 0, 64))
}

/** Every file below a folder, with what changes whenever it is written. */
async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const marks = files.toSorted().map(async (file) => {
    const { ino, mtimeNs, ctimeNs, size } = await stat(file, { bigint: true })
    return [file, `${ino} ${mtimeNs} ${ctimeNs} ${size}`] as const
  })
  return Object.fromEntries(await Promise.all(marks))
}

async function openDescriptors(): Promise<number> {
  return (await readdir('/proc/self/fd')).length
}
