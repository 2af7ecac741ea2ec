import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Mode } from '../../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { Daemon } from '../../../../src/daemon/daemon.ts'
import { RefreshOnRead } from '../../../../src/daemon/pull/schedule/pull-scheduler.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import type { GenerationCause } from '../../../../src/sync/model/generation.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import type { Source } from '../../../../src/sync/model/source.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { ScriptedUpstream, skillText } from '../../../support/git/scripted-upstream.ts'
import { pullNow } from '../../../support/pull-now.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { sourceId } from '../../../sync/store/samples.ts'

const MINUTE = 60_000

describe('who asks for what sources have', () => {
  test('has those looked at that nobody looked at for one period, and no others', async () => {
    const bench = new Bench(['team every: 5m', 'house every: 1h', 'local folder'])
    bench.attempted('team', 5 * MINUTE)
    bench.attempted('house', 5 * MINUTE)
    bench.attempted('local', 4_999)

    await bench.look()
    expect(bench.pulled).toEqual(['team'])

    await bench.clock.advance(1)
    await bench.look()
    expect(bench.pulled).toEqual(['team', 'local'])
  })

  test('has a cron source looked at after the time between its last two times', async () => {
    const bench = new Bench(['team every: "0 9 * * 1-5"'])
    // A Monday: the last time but one was on Friday.
    bench.clock.setWall(new Date(2026, 5, 15, 9, 5))
    bench.attempted('team', 72 * 60 * MINUTE - 1)
    await bench.look()
    expect(bench.pulled).toEqual([])

    bench.attempted('team', 72 * 60 * MINUTE)
    await bench.look()
    expect(bench.pulled).toEqual(['team'])

    // And one on Tuesday.
    bench.clock.setWall(new Date(2026, 5, 16, 9, 5))
    bench.attempted('team', 24 * 60 * MINUTE)
    await bench.look()
    expect(bench.pulled).toEqual(['team', 'team'])
  })

  test('shares a look with all who ask meanwhile', async () => {
    const bench = new Bench(['team every: 5m'])
    bench.hold()

    const looks = [bench.look(), bench.look(), bench.look()]
    bench.release()
    await Promise.all(looks)

    expect(bench.pulled).toEqual(['team'])
  })

  test('has one that is named looked at from then on, whoever looks at it already', async () => {
    const bench = new Bench(['team every: 5m'])
    bench.hold()

    const looks = [bench.look(), bench.look(sourceId('team'))]
    bench.release()
    await Promise.all(looks)

    expect(bench.pulled).toEqual(['team', 'team'])
  })

  test('is told how long it may still wait, and waits for a second look no longer than that', async () => {
    const bench = new Bench(['team every: 5m'])
    bench.hold()

    const first = bench.look()
    await bench.clock.advance(1_500)
    bench.release()
    const leftMs = await first
    bench.hold()
    const second = bench.look(sourceId('team'), leftMs)
    await bench.clock.advance(500)

    expect([leftMs, await second]).toEqual([500, 0])
    bench.release()
  })

  test('waits no longer than was agreed; the look goes on, and keeps nobody waiting any more', async () => {
    const bench = new Bench(['team every: 5m'])
    bench.hold()
    const first = bench.look()
    const [isOver, andNow] = [watch(first), watch(first)]

    await bench.clock.advance(1_999)
    const early = isOver()
    await bench.clock.advance(1)
    await first
    const after = await Promise.all([bench.look(), bench.look()])

    expect([early, andNow()]).toEqual([false, true])
    expect(after).toEqual([2_000, 2_000])
    expect(bench.pulled).toEqual(['team'])
    expect(bench.clock.waiting).toBe(0)
    bench.release()
  })

  test('waits for a look that is under way only as long as who began it, and for others that begin the whole time', async () => {
    const bench = new Bench(['team every: 5m', 'house every: 5m'])
    bench.attempted('house', 4 * MINUTE)
    bench.hold()

    const first = bench.look()
    await bench.clock.advance(1_500)
    const second = bench.look()
    await bench.clock.advance(500)
    const leftMs = await Promise.all([first, second])
    bench.attempted('house', 5 * MINUTE)
    const third = bench.look()
    const isOver = watch(third)
    await bench.clock.advance(1_999)
    const early = isOver()
    await bench.clock.advance(1)

    expect([...leftMs, early, await third]).toEqual([0, 1_500, false, 0])
    expect(bench.pulled).toEqual(['team', 'house'])
    bench.release()
  })

  test('has a folder looked at however fresh it is, where it may have changed since a look began', async () => {
    const bench = new Bench(['local folder', 'other folder'])
    bench.attempted('local', 0)
    bench.attempted('other', 0)
    bench.news.add(sourceId('local'))

    await bench.look()

    expect(bench.pulled).toEqual(['local'])
  })

  test('has a source that is named without end looked at half of the time at most', async () => {
    const bench = new Bench(['local folder'])
    bench.hold()
    const first = bench.look(sourceId('local'))
    await bench.clock.advance(1_000)
    bench.release()
    await first

    const others = Promise.all(Array.from({ length: 100 }, () => bench.look(sourceId('local'))))
    await bench.clock.advance(999)
    const during = bench.pulled.length
    await bench.clock.advance(1)
    await others

    expect([during, bench.pulled.length]).toEqual([1, 2])
  })

  test('is not kept waiting for one that is fresh, and has it looked at all the same who names it', async () => {
    const bench = new Bench(['team every: 5m', 'house every: 5m'])
    bench.attempted('team', 0)
    bench.attempted('house', 0)

    await bench.look()
    await bench.look(sourceId('house'))

    expect(bench.pulled).toEqual(['house'])
  })

  test('has none looked at that is to be left alone, named or not', async () => {
    const bench = new Bench(['team every: 5m'], () => false)

    await bench.look()
    await bench.look(sourceId('team'))

    expect(bench.pulled).toEqual([])
  })

  test('is answered although a look was stopped', async () => {
    const bench = new Bench(['team every: 5m'])
    bench.failure = new DOMException('stopped', 'AbortError')

    await expect(bench.look()).resolves.toBe(2_000)
  })
})

describe('a daemon that is asked', () => {
  test('serves what a stale source has by the time of the answer', async () => {
    await using desk = await Desk.open()
    await using daemon = await desk.start()
    await pullNow(daemon)
    desk.upstream.files = { 'beta/SKILL.md': skillText('beta') }

    await daemon.parts.scheduler.refresh()
    const early = namesIn(daemon)
    await desk.clock.advance(5 * MINUTE)
    await daemon.parts.scheduler.refresh()

    expect([early, namesIn(daemon)]).toEqual([['pdf'], ['beta']])
    expect((await desk.lastCause())?.trigger).toBe('call')
  })

  test('asks a host that fails once in a period, whoever tried last, and serves on', async () => {
    await using desk = await Desk.open()
    await using daemon = await desk.start()
    await pullNow(daemon)
    desk.upstream.failure = new SyncError('source-unreachable', 'Cannot reach "team"')
    const asked = desk.upstream.counts.resolve

    for (let minute = 0; minute < 15; minute += 1) {
      await desk.clock.advance(MINUTE)
      await daemon.parts.scheduler.refresh()
      await daemon.parts.scheduler.refresh()
    }

    expect(desk.upstream.counts.resolve - asked).toBe(3)
    expect(namesIn(daemon)).toEqual(['pdf'])
  })

  test('leaves a host alone that asked for that', async () => {
    await using desk = await Desk.open()
    await using daemon = await desk.start()
    desk.upstream.failure = new SyncError('rate-limited', 'Later', { retryAfterMs: 60 * MINUTE })
    await pullNow(daemon)
    const asked = desk.upstream.counts.resolve

    await desk.clock.advance(59 * MINUTE)
    await daemon.parts.scheduler.refresh()
    const during = desk.upstream.counts.resolve
    await desk.clock.advance(MINUTE)
    await daemon.parts.scheduler.refresh()

    expect([during - asked, desk.upstream.counts.resolve - asked]).toEqual([0, 1])
  })

  test('does not look at what is held without polls, nor at anything with --offline', async () => {
    await using desk = await Desk.open()
    {
      await using daemon = await desk.start()
      await pullNow(daemon)
      await daemon.parts.decisions.decide(sourceId('team'), 'hold', { hold: { noPoll: true } })
      await desk.clock.advance(60 * MINUTE)
      await daemon.parts.scheduler.refresh()
      await daemon.parts.decisions.decide(sourceId('team'), 'release')
    }
    await using daemon = await desk.start({ locked: false, offline: true })
    await daemon.parts.scheduler.refresh()
    const offline = desk.logged('source-')
    await desk.clock.advance(60 * MINUTE)
    await daemon.parts.scheduler.refresh()

    expect(desk.upstream.counts.resolve).toBe(1)
    expect(desk.logged('source-')).toEqual(offline)
  })

  test('knows after a restart when a source was looked at last', async () => {
    await using desk = await Desk.open()
    {
      await using daemon = await desk.start()
      await pullNow(daemon)
    }
    await desk.clock.advance(4 * MINUTE)
    await using daemon = await desk.start()

    await daemon.parts.scheduler.refresh()
    const early = desk.upstream.counts.resolve
    await desk.clock.advance(MINUTE)
    await daemon.parts.scheduler.refresh()

    expect([early, desk.upstream.counts.resolve]).toEqual([1, 2])
  })
})

/** Sources, each with when it was looked at last, and pulls that do nothing. */
class Bench {
  readonly clock = new FakeClock()
  readonly pulled: SourceId[] = []
  /** Those in which something changed. */
  readonly news = new Set<SourceId>()
  failure: Error | undefined
  readonly #freshness: RefreshOnRead
  readonly #attempts = new Map<SourceId, number>()
  #gate: PromiseWithResolvers<void> | undefined

  /** Each source in one line: its id, and its schedule or `folder`. */
  constructor(lines: readonly string[], isOpen: (source: Source) => boolean = () => true) {
    this.#freshness = new RefreshOnRead(lines.map(sourceOf), {
      clock: this.clock,
      waitMs: 2_000,
      sinceAttemptMs: (id) => this.clock.monotonicMs() - (this.#attempts.get(id) ?? Number.NEGATIVE_INFINITY),
      hasNews: (id) => this.news.has(id),
      isOpen,
      pull: async (id) => {
        this.news.delete(id)
        this.pulled.push(id)
        await this.#gate?.promise
        if (this.failure !== undefined) throw this.failure
        this.#attempts.set(id, this.clock.monotonicMs())
      },
    })
  }

  attempted(id: string, agoMs: number): void {
    this.#attempts.set(sourceId(id), this.clock.monotonicMs() - agoMs)
  }

  async look(only?: SourceId, mostMs?: number): Promise<number> {
    return this.#freshness.look(only, mostMs)
  }

  hold(): void {
    this.#gate = Promise.withResolvers()
  }

  release(): void {
    this.#gate?.resolve()
  }
}

function sourceOf(line: string): Source {
  const [id, ...rest] = line.split(' ')
  const way = rest[0] === 'folder' ? ['path: /srv/skills'] : ['url: https://git.example.com/x.git', rest.join(' ')]
  const config = parseConfig(
    [`sources:`, `  - id: ${id}`, ...way.map((key) => `    ${key}`)].join('\n'),
    'skillsyncd.yaml',
    environmentOf({}, '/home/me'),
  )
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  return config.sources[0]!.source
}

function watch(promise: Promise<unknown>): () => boolean {
  let isOver = false
  void promise.then(() => (isOver = true))
  return () => isOver
}

/** One source, scripted, and the state folder of its daemon. */
class Desk implements AsyncDisposable {
  readonly clock = new FakeClock()
  readonly upstream = new ScriptedUpstream()
  readonly #folder: AsyncDisposable & { readonly path: string }
  #logged = ''

  private constructor(folder: AsyncDisposable & { readonly path: string }) {
    this.#folder = folder
  }

  static async open(): Promise<Desk> {
    return new Desk(await temporaryFolder())
  }

  async start(mode: Mode = { locked: false, offline: false }): Promise<Daemon> {
    const yaml = `sources:\n  - id: team\n    url: https://git.example.com/team.git\nstate: ${this.#folder.path}/state\n`
    const environment = environmentOf({}, this.#folder.path)
    const config = parseConfig(yaml, 'skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const redactor = new Redactor()
    const stream = { write: (text: string) => (this.#logged += text) }
    const { clock } = this
    const log = createLog({ level: 'debug', stream, format: 'json', journal: false, clock, redactor })
    const store = await Store.open(config.state)
    const open = (_: Source, reach: Parameters<ScriptedUpstream['open']>[0]) => this.upstream.open(reach)
    return Daemon.start({ ...config, mode }, { store, clock, log, environment, redactor, open })
  }

  /** Of the newest generation. */
  async lastCause(): Promise<GenerationCause | undefined> {
    const store = await Store.open(join(this.#folder.path, 'state'))
    return (await store.generations.current())?.cause
  }

  /** The lines of the log about events that begin so. */
  logged(event: string): readonly string[] {
    return this.#logged.split('\n').filter((line) => line.includes(`"event":"${event}`))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}

function namesIn(daemon: Daemon): string[] {
  return daemon.registry.catalog.listed.map(({ name }) => name)
}
