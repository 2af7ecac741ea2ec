import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { idsOf } from '../../src/daemon/config/config.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import type { Environment } from '../../src/daemon/config/environment.ts'
import { withPresentSources } from '../../src/daemon/config/present-sources.ts'
import { readConfig } from '../../src/daemon/configuration.ts'
import { followRequest } from '../../src/daemon/control/follow-request.ts'
import { aboutClient } from '../../src/daemon/control/same-config.ts'
import { Follower as StateFollower } from '../../src/daemon/follower.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { Writer } from '../../src/daemon/writer.ts'
import { lockEntryOf } from '../../src/sync/model/decisions/lock.ts'
import type { SourceId } from '../../src/sync/model/source-id.ts'
import { changeLock } from '../../src/sync/store/lock-file.ts'
import { KEY, skillNamed, startFileServer } from '../features/channel/follow/site.ts'
import { Hub, skillsOf } from '../features/channel/publish/hub.ts'
import type { Content } from '../features/channel/publish/hub.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { pullNow } from '../support/pull-now.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { never, sourceId } from '../sync/store/samples.ts'

const A: Content = { a: [skillNamed('one', 'text', { 'notes.md': 'notes\n' }), skillNamed('two')] }
const B: Content = { b: [skillNamed('one', 'of b'), skillNamed('three', '', { 'run.sh!': '#!/bin/sh\n' })] }
const C: Content = { c: [skillNamed('four'), skillNamed('five')] }
const CHANGED: Content = { a: [skillNamed('one', 'changed'), skillNamed('two')], ...B }

/** A history of what a hub serves, each with the skills that are disabled then. */
const HISTORY: readonly (readonly [string, Content, readonly string[]])[] = [
  ['one source', A, []],
  ['another source before it', { ...B, ...A }, []],
  ['a changed skill', CHANGED, []],
  ['a disabled skill', CHANGED, ['b/three']],
  ['a removed source', A, []],
  ['another source in its place', B, []],
  ['nothing', {}, []],
  ['all again', { ...A, ...B, ...C }, []],
]

test.each(['a folder', 'HTTP'])(
  'a hub that is followed over %s has the same catalog here, after each change',
  async (way) => {
    await using desk = await Desk.open(way === 'HTTP' ? 'http' : 'folder', 'follow')
    await desk.start()

    for (const [name, content, disabled] of HISTORY) {
      await desk.publish(content, disabled)
      await desk.follow()
      expect([name, desk.sources]).toEqual([name, Object.keys(content)])
      expect([name, desk.served]).toEqual([name, served(content, disabled)])
    }
  },
)

test('all sources of a hub are polled with one request', async () => {
  await using desk = await Desk.open('http')
  await desk.publish({ ...A, ...B, ...C })
  await desk.start()
  await desk.follow()
  desk.requests.length = 0

  const outcomes = await pullNow(desk.writer.daemon)

  expect([...outcomes.values()].map(({ kind }) => kind)).toEqual(['unchanged', 'unchanged', 'unchanged'])
  expect(desk.requests.map(({ path, status }) => [path, status])).toEqual([['checkpoint', 304]])
})

test('a change of one source is a change of that source alone', async () => {
  await using desk = await Desk.open('http')
  await desk.publish({ ...A, ...B })
  await desk.start()
  await desk.follow()

  await desk.publish(CHANGED)
  const outcomes = await pullNow(desk.writer.daemon)

  expect([...outcomes].map(([id, { kind }]) => [id, kind])).toEqual([
    ['a', 'updated'],
    ['b', 'unchanged'],
  ])
})

test('a collection keeps what the next change needs of the channel', async () => {
  await using desk = await Desk.open('http', 'hold', 'retention: { generations: 1, younger_than: 1ms }')
  await desk.publish({ ...A, ...B, ...C })
  await desk.start()
  await desk.follow()
  for (const text of ['first', 'second', 'third']) {
    desk.requests.length = 0
    await desk.publish({ a: [skillNamed('one', text)], ...B, ...C })
    // Each pull collects what the pulls before it have left.
    await pullNow(desk.writer.daemon)
    await pullNow(desk.writer.daemon)
  }

  const requested = new Set(desk.requests.map(({ path }) => path.split('/')[0]))
  expect(requested).toEqual(new Set(['checkpoint', 'tile', 'changes']))
})

test('a hub without most of its skills waits for the operator, whatever came in their place', async () => {
  await using desk = await Desk.open()
  await desk.publish(A)
  await desk.start()
  await desk.follow()

  await desk.publish(B)
  await desk.follow()
  await desk.follow()
  const waiting = desk.writer.daemon.parts.decisions.waiting(sourceId('a'), 'approve')
  const before = desk.served
  await desk.writer.daemon.parts.decisions.decide(sourceId('a'), 'approve', { commit: waiting.revision.commit })
  await pullNow(desk.writer.daemon)
  await desk.follow()

  expect(waiting).toMatchObject({ code: 'mass-deletion' })
  expect(before).toEqual(served({ ...A, ...B }))
  expect(desk.served).toEqual(served(B))
  expect(desk.sources).toEqual(['b'])
})

test('a source that comes back before the operator decides is followed again', async () => {
  await using desk = await Desk.open()
  await desk.publish(A)
  await desk.start()
  await desk.follow()
  await desk.publish({})
  await desk.follow()
  const withoutAny = desk.served

  await desk.publish(CHANGED)
  await desk.follow()

  expect(withoutAny).toEqual(served(A))
  expect(desk.served).toEqual(served(CHANGED))
  expect(() => desk.writer.daemon.parts.decisions.waiting(sourceId('a'), 'approve')).toThrow('Nothing')
})

test.each(['kept', 'lost'])(
  'after a restart without the hub its sources are served, with a %s list of them',
  async (list) => {
    await using desk = await Desk.open()
    await desk.publish({ ...A, ...B })
    await desk.start()
    await desk.follow()

    await rm(desk.channel, { recursive: true })
    if (list === 'lost') await rm(join(desk.state, 'logs', 'hub-sources.json'))
    await desk.start()
    const atStart = desk.served
    await desk.follow()

    expect(atStart).toEqual(served({ ...A, ...B }))
    expect(desk.served).toEqual(served({ ...A, ...B }))
    expect((await desk.config()).sources.map(({ source }) => source.id)).toEqual(['a', 'b'])
  },
)

test('a damaged list of sources is refused, and not taken for an empty one', async () => {
  await using desk = await Desk.open()
  await desk.publish(A)
  await desk.start()
  await desk.follow()

  await writeFile(join(desk.state, 'logs', 'hub-sources.json'), '{"sources":["a"')

  await expect(desk.config()).rejects.toMatchObject({
    code: 'store-failed',
    message: expect.stringContaining('damaged'),
  })
})

test('a hub that cannot be reached the first time is reported, and followed once it can', async () => {
  await using desk = await Desk.open()
  await desk.start()
  await expect(desk.follow()).rejects.toMatchObject({ code: 'repository-not-found' })

  await desk.publish(A)
  await desk.follow()

  expect(desk.served).toEqual(served(A))
})

test('a source that the lock has stays at its locked content after the hub removed it', async () => {
  await using desk = await Desk.open()
  await desk.publish({ ...A, ...B, ...C })
  await desk.start()
  await desk.follow()
  await desk.lock('b')

  await desk.publish({ ...A, ...C })
  await desk.follow()

  expect(desk.served).toEqual(served({ ...A, ...C, ...B }))
  expect(desk.writer.daemon.parts.status.status().sources.flatMap(({ id, problem }) => (problem ? [id] : []))).toEqual(
    [],
  )
})

test.each([{}, { noPoll: true }])(
  'a source that is held with %o stays until it is released, although the hub removed it',
  async (hold) => {
    await using desk = await Desk.open()
    await desk.publish({ ...A, ...B, ...C })
    await desk.start()
    await desk.follow()
    await desk.writer.daemon.parts.decisions.decide(sourceId('b'), 'hold', { hold })

    await desk.publish({ ...A, ...C })
    await desk.follow()
    const kept = desk.served
    await desk.writer.daemon.parts.decisions.decide(sourceId('b'), 'release')
    await desk.follow()

    expect(kept).toEqual(served({ ...A, ...C, ...B }))
    expect(desk.served).toEqual(served({ ...A, ...C }))
    expect(desk.sources).toEqual(['a', 'c'])
  },
)

test('a source that followed the whole channel before is none of the hub', async () => {
  await using desk = await Desk.open()
  await desk.publish({ ...A, ...B })
  await desk.followAsSource()

  await desk.start()
  await desk.follow()

  expect(desk.served).toEqual(served({ ...A, ...B }))
})

test('without a list the sources of the lock are followed', async () => {
  await using desk = await Desk.open()
  await desk.publish({ ...A, ...B })
  await desk.start()
  await desk.follow()
  await desk.lock('a', 'b')

  await desk.empty()
  await desk.start()
  await pullNow(desk.writer.daemon)

  expect(desk.served).toEqual(served({ ...A, ...B }))
})

test('a process that serves the state folder takes new sources of the hub', async () => {
  await using desk = await Desk.open()
  await desk.publish(A)
  await desk.start()
  await desk.follow()
  await using other = await StateFollower.open(await desk.config(), desk.log, new FakeClock())
  const changed = Promise.withResolvers<void>()
  using _listening = other.registry.listen(() => changed.resolve())

  await desk.publish({ ...A, ...B })
  await desk.follow()
  await changed.promise
  await other.look()

  expect([...other.registry.catalog.skills.keys()].toSorted()).toEqual(Object.keys(served({ ...A, ...B })).toSorted())
})

test('a daemon that polls finds the first sources by itself', async () => {
  await using desk = await Desk.open()
  await desk.publish(A)
  await desk.start()

  desk.writer.poll()

  await expect.poll(() => desk.served, { timeout: 60_000 }).toEqual(served(A))
})

test('a damaged record of the log ends no daemon, and the served sources stay', async () => {
  await using desk = await Desk.open()
  await desk.publish(A)
  await desk.start()
  await desk.follow()

  await writeFile(join(desk.state, 'logs', 'followed.json'), '{"origin":')
  const outcomes = await pullNow(desk.writer.daemon)
  await desk.writer.daemon.parts.hub.check()

  expect([...outcomes.values()]).toMatchObject([{ kind: 'failed', error: { code: 'store-failed' } }])
  expect(desk.served).toEqual(served(A))
})

test('a record without the sources is completed, and the log in it is still the one to continue', async () => {
  await using desk = await Desk.open()
  await desk.publish(A)
  await desk.start()
  await desk.follow()
  const older = await readFile(join(desk.channel, 'checkpoint'))
  await desk.publish(CHANGED)
  await desk.follow()
  const file = join(desk.state, 'logs', 'followed.json')
  const { sources: _, ...rest } = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify(rest))
  const newer = await readFile(join(desk.channel, 'checkpoint'))

  await writeFile(join(desk.channel, 'checkpoint'), older)
  const refused = await pullNow(desk.writer.daemon)
  await writeFile(join(desk.channel, 'checkpoint'), newer)
  await desk.follow()

  const rolledBack = { kind: 'failed', error: { code: 'log-rolled-back' } }
  expect([...refused.values()]).toMatchObject([rolledBack, rolledBack])
  expect(JSON.parse(await readFile(file, 'utf8')).sources).toHaveLength(2)
  expect(desk.served).toEqual(served(CHANGED))
})

test('with --locked the sources are those of the lock, whatever the list has', async () => {
  await using desk = await Desk.open()
  await desk.publish({ ...A, ...B })
  await desk.start()
  await desk.follow()
  await desk.lock('a')
  const config = await desk.config()

  const locked = await withPresentSources({ ...config, mode: { locked: true, offline: false } })

  expect([idsOf(config), idsOf(locked)]).toEqual([['a', 'b'], ['a']])
})

test('a daemon that cannot read the channel says so in its status', async () => {
  await using desk = await Desk.open()
  await desk.start()
  expect(desk.writer.daemon.parts.status.status().hub).toEqual({ url: pathToFileURL(desk.channel).href })

  desk.writer.poll()

  await expect
    .poll(() => desk.writer.daemon.parts.status.status().hub?.problem?.code, { timeout: 60_000 })
    .toBe('repository-not-found')
})

/** The URIs of these skills, with their digests. */
function served(content: Content, disabled: readonly string[] = []): Readonly<Record<string, string | undefined>> {
  const skills = Object.entries(skillsOf(content, disabled))
  return Object.fromEntries(skills.map(([path, { digest }]) => [`skill://${path}/SKILL.md`, digest]))
}

/** A hub, and a machine whose configuration follows it as a whole. */
class Desk implements AsyncDisposable {
  readonly requests: { readonly path: string; readonly status: number }[]
  readonly channel: string
  readonly state: string
  readonly log = createLog({
    level: 'error',
    stream: { write: () => true },
    format: 'json',
    journal: false,
    clock: new FakeClock(),
    redactor: new Redactor(),
  })
  readonly #hub: Hub
  readonly #file: string
  readonly #environment: Environment
  readonly #open: AsyncDisposableStack
  #writer: Writer | undefined

  private constructor(
    hub: Hub,
    folder: string,
    requests: { readonly path: string; readonly status: number }[],
    open: AsyncDisposableStack,
  ) {
    this.#hub = hub
    this.channel = join(folder, 'channel')
    this.state = join(folder, 'state')
    this.requests = requests
    this.#file = join(folder, 'skillsyncd.yaml')
    this.#environment = environmentOf({ XDG_RUNTIME_DIR: join(folder, 'run') }, folder)
    this.#open = open
  }

  static async open(way: 'folder' | 'http' = 'folder', brakes = 'hold', rest = ''): Promise<Desk> {
    await using opening = new AsyncDisposableStack()
    const folder = opening.use(await temporaryFolder())
    const hub = opening.use(await Hub.create())
    const server = opening.use(await startFileServer(hub.read))
    const place = way === 'http' ? `url: '${server.url}'` : 'path: channel'
    const follow = `follow: { ${place}, key: '${KEY}', brakes: ${brakes} }`
    await mkdir(join(folder.path, 'run'))
    await writeFile(join(folder.path, 'skillsyncd.yaml'), `${follow}\nstate: state\n${rest}\n`)
    return new Desk(hub, folder.path, server.requests, opening.move())
  }

  async config() {
    return readConfig({ file: this.#file }, this.#environment)
  }

  get writer(): Writer {
    if (this.#writer === undefined) throw new Error('No writer was started')
    return this.#writer
  }

  /** Starts a writer, in place of the one before. */
  async start(): Promise<void> {
    await this.#writer?.[Symbol.asyncDispose]()
    const candidate = {
      config: await this.config(),
      environment: this.#environment,
      log: this.log,
      redactor: new Redactor(),
      command: 'start',
    }
    const writer = await Writer.open(candidate, never())
    if ('heldBy' in writer) throw new Error(`Held by ${writer.heldBy.command}`)
    this.#writer = writer
  }

  async publish(content: Content, disabled: readonly string[] = []): Promise<void> {
    await this.#hub.serve(content, disabled)
    await this.#hub.publish(this.channel)
  }

  /** Follows the hub, and pulls its sources. */
  async follow(): Promise<void> {
    await this.#followHub()
    await pullNow(this.writer.daemon)
    await this.#followHub()
  }

  async #followHub(): Promise<void> {
    await this.writer.answer(followRequest.name, aboutClient(this.writer.daemon.config), () => {}, never())
  }

  /** Locks what is served of these sources. */
  async lock(...ids: readonly string[]): Promise<void> {
    const { config, registry } = this.writer.daemon
    const entries = registry.catalog.snapshots.flatMap((snapshot) => {
      const configured = config.sources.find(({ source }) => source.id === snapshot.source)
      return configured === undefined || !ids.includes(snapshot.source)
        ? []
        : [[snapshot.source, lockEntryOf(configured.source, snapshot)] as const]
    })
    await changeLock(config.lock ?? '', (before) => ({ ...before, sources: new Map(entries) }), Date.now, never())
    await this.writer.daemon.parts.lock.read()
  }

  /** Follows the channel as one source, with the state folder of this configuration. */
  async followAsSource(): Promise<void> {
    const whole = await readFile(this.#file, 'utf8')
    await writeFile(
      this.#file,
      whole.replace('follow:', 'sources: [{ id: hub, follow:').replace(/, brakes: .*/, ' } }]'),
    )
    await this.start()
    await pullNow(this.writer.daemon)
    await this.writer[Symbol.asyncDispose]()
    this.#writer = undefined
    await writeFile(this.#file, whole)
  }

  /** Removes the state folder, as on a new machine. */
  async empty(): Promise<void> {
    await this.#writer?.[Symbol.asyncDispose]()
    this.#writer = undefined
    await rm(this.state, { recursive: true })
  }

  get sources(): readonly SourceId[] {
    return idsOf(this.writer.daemon.config)
  }

  get served(): Readonly<Record<string, string>> {
    const { skills } = this.writer.daemon.registry.catalog
    return Object.fromEntries([...skills].map(([uri, { digest }]) => [uri, digest]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer?.[Symbol.asyncDispose]()
    await this.#open[Symbol.asyncDispose]()
  }
}
