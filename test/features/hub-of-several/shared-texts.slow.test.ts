import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/async/clock.ts'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { Daemon } from '../../../src/daemon/daemon.ts'
import type { DaemonContext } from '../../../src/daemon/runtime/context.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { refreshDecisions, refreshTokens } from '../../../src/features/hub-of-several/shared-texts.ts'
import { SharedStore } from '../../../src/sync/postgres/shared-store.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { disabledPaths, setDisabled } from '../../support/decided.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { pullNow } from '../../support/pull-now.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { sourceId } from '../../sync/store/samples.ts'

const TEAM = sourceId('team')

const WAIT = { timeout: 60_000, interval: 100 }

describePostgres('daemons that share a database', (server) => {
  test('a daemon starts with what another one decided, and with its tokens', async () => {
    const url = await server.createDatabase()
    await using one = await Process.start(url)
    const { secret, sha256 } = newToken()
    await setDisabled(one.context.store.decisions, TEAM, 'a', true)
    await one.daemon.parts.tokens.add({ name: 'ada', sha256, scopes: ['skills'], created: '2026-06-15T12:00:00.000Z' })

    await using other = await Process.start(url)

    expect(other.disabled()).toEqual(['a'])
    expect(other.daemon.parts.tokens.principalOf(secret)?.id).toMatch(/^token:ada#/)
    expect(other.events()).toEqual([])
  })

  test('a daemon starts while the database is away, says so once, and takes over what was decided when it is back', async () => {
    const url = await server.createDatabase()
    await using one = await Process.start(url)
    await using folder = await temporaryFolder()
    await using before = await Process.start(url, folder.path)
    await before[Symbol.asyncDispose]()
    await setDisabled(one.context.store.decisions, TEAM, 'a', true)
    await server.stop()

    await using started = await Process.start(url, folder.path)
    const away = [
      await refreshDecisions(started.context),
      await refreshTokens(started.daemon.parts.tokens, started.context),
    ]
    const events = started.events()
    const held = [started.disabled(), started.context.store.decisions.areUnknown, started.daemon.parts.tokens.all]
    await server.start()
    // A failure to connect counts for a second.
    const ends = new Set<string>()
    await expect.poll(async () => ends.add(await refreshDecisions(started.context)).has('changed'), WAIT).toBe(true)
    await refreshTokens(started.daemon.parts.tokens, started.context)

    expect([away, events]).toEqual([
      ['failed', 'failed'],
      ['decisions-not-shared', 'tokens-not-shared'],
    ])
    expect(held).toEqual([[], false, []])
    expect(started.disabled()).toEqual(['a'])
    expect(started.events().slice(2)).toEqual(['recovered', 'recovered'])
  }, 120_000)

  test('a skill that another process disables while this one publishes it at another place is out of service there', async () => {
    const url = await server.createDatabase()
    await using one = await Process.start(url)
    await using other = await Process.start(url)
    await one.put('a', 'b')
    await pullNow(one.daemon)
    const { snapshots } = one.daemon.registry.catalog
    await rename(join(one.path, 'skills', 'a'), join(one.path, 'skills', 'moved'))
    await pullNow(one.daemon)

    await setDisabled(other.context.store.decisions, TEAM, 'a', true, snapshots)
    const before = one.served()
    await one.daemon.refresh()
    await other.daemon.refresh()

    expect([before, one.served()]).toEqual([['b', 'moved'], ['b']])
    expect(one.events()).toContain('disabled-returns')
    expect(other.context.store.decisions.outOfService).toEqual(one.context.store.decisions.outOfService)
  })

  test('a daemon that could not take over all says so, until it has', async () => {
    const url = await server.createDatabase()
    await using one = await Process.start(url)
    await using other = await Process.start(url)
    await setDisabled(other.context.store.decisions, TEAM, 'a', true)
    const file = join(one.path, 'state', 'decisions.json')
    await rm(file)
    await mkdir(join(file, 'in the way'), { recursive: true })

    const ends = [await one.daemon.refresh()]
    const disabled = one.disabled()
    await rm(file, { recursive: true })
    ends.push(await one.daemon.refresh())
    const { database } = other.context.shared!
    const [row] = await database.query('read', "SELECT bytes FROM skillsyncd.document WHERE name = 'decisions'")
    const edit = "UPDATE skillsyncd.document SET bytes = $1 WHERE name = 'decisions'"
    await database.query('edit', edit, [Buffer.from('{')])
    ends.push(await one.daemon.refresh())
    await database.query('edit', edit, [row?.['bytes']])
    ends.push(await one.daemon.refresh())

    expect(ends).toEqual([false, true, false, true])
    expect([disabled, one.disabled()]).toEqual([['a'], ['a']])
    expect(one.events()).toEqual(['decisions-not-shared', 'recovered', 'decisions-not-shared', 'recovered'])
  })

  test('a daemon that reloads goes by what it holds, also if its files are older', async () => {
    const url = await server.createDatabase()
    await using one = await Process.start(url)
    await setDisabled(one.context.store.decisions, TEAM, 'a', true)
    await one.daemon.parts.tokens.add({
      name: 'ada',
      sha256: newToken().sha256,
      scopes: ['skills'],
      created: '2026-06-15T12:00:00.000Z',
    })
    await using older = await Process.start(await server.createDatabase(), one.path)

    await setDisabled(older.context.store.decisions, TEAM, 'a', false)
    await older.daemon.parts.tokens.revoke('ada')
    await using _reloaded = await one.reload()

    expect(one.disabled()).toEqual(['a'])
    expect(one.daemon.parts.tokens.all).toHaveLength(1)
  })
})

/** A daemon of a folder that it pulls when asked, and the events that it has logged above `info`, with those of recoveries. */
class Process implements AsyncDisposable {
  readonly daemon: Daemon
  readonly context: DaemonContext
  readonly path: string
  readonly #logged: readonly string[]
  readonly #opened: AsyncDisposableStack

  private constructor(
    daemon: Daemon,
    context: DaemonContext,
    [path, logged, opened]: readonly [string, readonly string[], AsyncDisposableStack],
  ) {
    this.daemon = daemon
    this.context = context
    this.path = path
    this.#logged = logged
    this.#opened = opened
  }

  static async start(url: string, path?: string): Promise<Process> {
    const opened = new AsyncDisposableStack()
    const at = path ?? opened.use(await temporaryFolder()).path
    const environment = environmentOf({}, at)
    const config = parseConfig(
      `sources: [{ id: team, path: ${join(at, 'skills')} }]\nstate: ${join(at, 'state')}`,
      'skillsyncd.yaml',
      environment,
    )
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const redactor = new Redactor()
    const logged: string[] = []
    const stream = { write: (text: string) => logged.push(text) > 0 }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock: systemClock, redactor })
    const shared = opened.use(SharedStore.at({ url }))
    const store = opened.use(await Store.open(config.state))
    const context = { store, clock: systemClock, log, environment, redactor, shared }
    const daemon = opened.use(await Daemon.start(config, context))
    return new Process(daemon, context, [at, logged, opened])
  }

  async reload(): Promise<Daemon> {
    return Daemon.start(this.daemon.config, this.context, this.daemon)
  }

  /** Writes skills into the folder. */
  async put(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const folder = join(this.path, 'skills', name)
      await mkdir(folder, { recursive: true })
      await writeFile(
        join(folder, 'SKILL.md'),
        `---\nname: ${name}\ndescription: Does ${name}.\n---\nThe text of ${name}.\n`,
      )
    }
  }

  /** The paths of the served skills. */
  served(): readonly string[] {
    return [...this.daemon.registry.catalog.skills.values()].map(({ skill }) => skill.path).toSorted()
  }

  /** The disabled skills. */
  disabled(): readonly string[] {
    return disabledPaths(this.context.store.decisions, TEAM)
  }

  events(): readonly string[] {
    return this.#logged.map((line) => (JSON.parse(line) as { event: string }).event)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}
