import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Keyring } from '../../../src/daemon/access/keyring.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { HostBackoff } from '../../../src/daemon/pull/schedule/host-backoff.ts'
import { KnownLock } from '../../../src/daemon/pull/trust/known-lock.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { LockFollower } from '../../../src/features/lock-repository/lock-follower.ts'
import { EMPTY_LOCK } from '../../../src/sync/model/decisions/lock.ts'
import { followedLockFile } from '../../../src/sync/store/followed-lock.ts'
import { lockText } from '../../../src/sync/store/lock-text.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { READ_HERE } from '../../../src/sync/survey/document-reading.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { ScriptedUpstream } from '../../support/git/scripted-upstream.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never } from '../../sync/store/samples.ts'

const [FIRST, SECOND, THIRD] = ['first', 'second', 'third'].map((of) => lockText({ ...EMPTY_LOCK, rest: { of } })) as [
  string,
  string,
  string,
]

test('another file of the repository is taken at the same commit, and the same file is not fetched again', async () => {
  await using desk = await Desk.open({ 'skills.lock': FIRST, 'deep/other.lock': SECOND })

  const first = await desk.look('skills.lock')
  const again = await desk.look('skills.lock')
  const other = await desk.look('deep/other.lock')

  expect([first, again, other]).toEqual([
    { text: FIRST, fetches: 1, moves: 1 },
    { text: FIRST, fetches: 1, moves: 1 },
    { text: SECOND, fetches: 2, moves: 2 },
  ])
})

test('a commit that does not continue the one in force is not taken, and one that does is', async () => {
  await using desk = await Desk.open({ 'skills.lock': FIRST })
  // A branch would be looked at again, since it may be that of a host that lags behind.
  desk.upstream.pointer = { ref: 'refs/tags/v1' }
  await desk.look('skills.lock')

  desk.upstream.files = { 'skills.lock': SECOND }
  desk.upstream.related = 'rewritten'
  const rewritten = await desk.look('skills.lock')
  desk.upstream.files = { 'skills.lock': THIRD }
  desk.upstream.related = 'descends'
  const continued = await desk.look('skills.lock')

  expect([rewritten.text, continued.text]).toEqual([FIRST, THIRD])
})

test('the repository is looked at again after a duration, or at the times of a cron expression', async () => {
  await using desk = await Desk.open({ 'skills.lock': FIRST })
  const [looks, clock] = [desk.upstream.counts, new FakeClock()]
  const at = async (minutes: number): Promise<number> => {
    await clock.advance(minutes * 60_000)
    return looks.resolve
  }

  const seen = []
  for (const every of ['10m', '"15,45 * * * *"']) {
    looks.resolve = 0
    clock.setWall(new Date('2026-06-15T12:00:00Z'))
    await using follower = desk.follower('skills.lock', clock, every)
    follower.start()
    seen.push([await at(0), await at(9), await at(5), await at(2), await at(28), await at(2)])
  }

  expect(seen).toEqual([
    [1, 1, 2, 2, 5, 5],
    [1, 1, 1, 2, 2, 3],
  ])
})

/** A state folder, and a repository with locks. */
class Desk implements AsyncDisposable {
  readonly upstream: ScriptedUpstream
  readonly #folder: string
  readonly #store: Store
  readonly #opened: AsyncDisposableStack
  #moves = 0

  private constructor(upstream: ScriptedUpstream, folder: string, store: Store, opened: AsyncDisposableStack) {
    this.upstream = upstream
    this.#folder = folder
    this.#store = store
    this.#opened = opened
  }

  static async open(files: Readonly<Record<string, string>>): Promise<Desk> {
    await using opening = new AsyncDisposableStack()
    const { path } = opening.use(await temporaryFolder())
    const store = opening.use(await Store.open(join(path, 'state')))
    return new Desk(new ScriptedUpstream(files), path, store, opening.move())
  }

  /** The lock in force after a look at this file of the repository, and what was fetched and moved so far. */
  async look(path: string): Promise<{ readonly text: string; readonly fetches: number; readonly moves: number }> {
    await using follower = this.follower(path)
    await follower.look(never())
    const text = await readFile(followedLockFile(this.#config(path).state), 'utf8')
    return { text, fetches: this.upstream.counts.fetch, moves: this.#moves }
  }

  /** A follower of this file of the repository. */
  follower(path: string, clock = new FakeClock(), every = '1m'): LockFollower {
    const redactor = new Redactor()
    const environment = environmentOf({}, this.#folder)
    const config = this.#config(path, every)
    return new LockFollower({
      config,
      store: this.#store,
      clock,
      environment,
      redactor,
      log: createLog({
        level: 'error',
        stream: { write: () => true },
        format: 'json',
        journal: false,
        clock,
        redactor,
      }),
      readOnly: undefined,
      shared: undefined,
      replica: undefined,
      reader: READ_HERE,
      gate: undefined,
      open: (_, reach) => this.upstream.open(reach),
      snapshots: {},
      keyring: new Keyring({ environment, redactor, clock, names: undefined, fetchMs: 1_000 }),
      hosts: new HostBackoff(clock),
      lock: new KnownLock(config),
      onMoved: () => (this.#moves += 1),
    })
  }

  #config(path: string, every = '1m') {
    const git = 'https://git.example.com/team'
    const lock = `{ from: { git: ${git}/config.git, path: ${path} }, every: ${every} }`
    const text = `sources: [{ id: team, url: ${git}/a.git }]\nstate: state\nlock: ${lock}\n`
    const environment = environmentOf({}, this.#folder)
    const config = parseConfig(text, join(this.#folder, 'skillsyncd.yaml'), environment)
    if (!Array.isArray(config)) return config
    throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}
