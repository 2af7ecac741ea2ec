import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/async/clock.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { sourcesNamed } from '../../../src/daemon/config/named-sources.ts'
import type { WholeConfig } from '../../../src/daemon/configuration.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { helloRequest } from '../../../src/daemon/control/process-requests.ts'
import { lookRequest } from '../../../src/daemon/control/request-refresh.ts'
import { agreeWithDaemon, askRunning } from '../../../src/daemon/control/running-daemon.ts'
import { statusRequest } from '../../../src/daemon/control/status-request.ts'
import { syncRequest } from '../../../src/daemon/control/sync-request.ts'
import { Daemon } from '../../../src/daemon/daemon.ts'
import { loadRequests } from '../../../src/daemon/requests.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { SYNC_END, syncEndOf } from '../../../src/daemon/status/pull-result.ts'
import { Writer } from '../../../src/daemon/writer.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { UNDECIDED_SKILLS } from '../../../src/sync/model/verdict/skill-states.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const STEADY = new AbortController().signal

test('where nobody runs, there is nobody to ask and nobody to disagree with', async () => {
  await using desk = await Desk.open()

  expect(await askRunning(desk.config(), statusRequest, {}, { signal: STEADY })).toBeUndefined()
  await expect(agreeWithDaemon(desk.config(), STEADY)).resolves.toBeUndefined()
})

test('a daemon answers who has its configuration, and tells all others which one it has', async () => {
  await using desk = await Desk.open()
  await using _writer = await desk.write()
  const other = desk.config(['    root: elsewhere'])

  const mode = { locked: false, offline: false }
  await expect(agreeWithDaemon(desk.config(), STEADY)).resolves.toEqual(mode)
  for (const request of [helloRequest, statusRequest, syncRequest]) {
    await expect(askRunning<object, unknown, unknown>(other, request, {}, { signal: STEADY })).rejects.toMatchObject({
      code: 'other-config',
      message: expect.stringContaining('/etc/skillsyncd.yaml'),
    })
  }
})

test('who reads the state folder for a client is answered whatever its configuration was when it started', async () => {
  await using desk = await Desk.open()
  await using writer = await desk.write()
  const other = desk.config(['    root: elsewhere'])

  await askRunning(other, lookRequest, { sources: ['team'] }, { signal: STEADY })

  // A look waits two seconds at most for the pull that it began.
  await expect.poll(() => writer.daemon.registry.catalog.listed).toMatchObject([{ name: 'alpha' }])
  await expect(
    askRunning({ ...other, mode: { locked: false, offline: true } }, lookRequest, {}, { signal: STEADY }),
  ).rejects.toMatchObject({ code: 'other-config' })
})

test('each pull is reported while it fetches and as it ends, in a form that its reader knows', async () => {
  await using desk = await Desk.open()
  await using _writer = await desk.write()
  const events: unknown[] = []

  const answer = await askRunning(
    desk.config(),
    syncRequest,
    {},
    { signal: STEADY, onEvent: (event) => events.push(event) },
  )

  expect(answer).toEqual({ answer: { problems: [] } })
  const ends = events.slice(-1)
  expect(events.slice(0, -1)).toEqual([{ fetching: { source: 'team', files: 1, bytes: 0 } }])
  expect(ends.map((end) => SYNC_END.parse(end))).toEqual(ends)
  expect(ends).toMatchObject([{ source: 'team', outcome: 'updated', tally: { seen: 1, served: 1 } }])
})

test('a source that is not configured is refused by its name, and nothing is pulled', async () => {
  await using desk = await Desk.open()
  await using _writer = await desk.write()

  const asked = askRunning(desk.config(), syncRequest, { sources: ['team', 'absent'] }, { signal: STEADY })

  await expect(asked).rejects.toMatchObject({ code: 'unknown-source', message: expect.stringContaining('"absent"') })
  expect(desk.git.requests).toEqual([])
})

test.each([undefined, null, 7, {}, { config: 7 }, { config: 'x', sources: 'team' }])(
  'params %j are a bad request, whatever is asked for',
  async (params) => {
    await using desk = await Desk.open()
    await using daemon = await desk.daemon()
    const parts = { ...daemon.parts, followHub: async () => ({ sources: [], gone: [] }) }

    for (const request of (await loadRequests()).values()) {
      const answer = request.answerFrom(parts, params, { send: () => {}, signal: STEADY })
      await expect(answer, request.name).rejects.toMatchObject({ code: 'bad-request' })
    }
  },
)

test('no name means all sources, in the order of the configuration', async () => {
  await using desk = await Desk.open()
  const config = desk.config(['  - id: more', '    url: https://git.example.com/more.git'])

  expect(sourcesNamed(undefined, config)).toEqual(['team', 'more'])
  expect(sourcesNamed([], config)).toEqual(['team', 'more'])
  expect(sourcesNamed(['more'], config)).toEqual(['more'])
  expect(() => sourcesNamed(['more', 'no such'], config)).toThrow('No source is called "no such"; there are team, more')
})

test('a failure is told with its code, what is the case and what to try', () => {
  const error = new SyncError('rate-limited', 'Cannot reach "team": the host requested a pause')

  const beside = { decided: UNDECIDED_SKILLS, served: undefined, lock: { state: 'missing' } } as const

  expect(syncEndOf('team', { kind: 'failed', error }, beside)).toEqual({
    source: 'team',
    outcome: 'failed',
    lock: { state: 'missing' },
    problem: {
      code: 'rate-limited',
      message: error.message,
      fix: expect.stringContaining('Wait as long as the host requests'),
    },
  })
})

test('a pull that fails over a limit names the key in its line', async () => {
  const error = new SyncError('limit-exceeded', 'Cannot fetch', { place: 'limits.disk.bytes' })

  const beside = { decided: UNDECIDED_SKILLS, served: undefined, lock: { state: 'missing' } } as const

  expect(SYNC_END.parse(syncEndOf('team', { kind: 'failed', error }, beside))).toMatchObject({
    problem: { fix: 'Raise `limits.disk.bytes`, or serve less of the source', place: 'limits.disk.bytes' },
  })
})

/** A repository of one skill, and a state folder for the daemon that pulls it. */
class Desk implements AsyncDisposable {
  readonly git: GitServer
  readonly #repository: Repository
  readonly #folder: AsyncDisposable & { readonly path: string }

  private constructor(git: GitServer, repository: Repository, folder: AsyncDisposable & { readonly path: string }) {
    this.git = git
    this.#repository = repository
    this.#folder = folder
  }

  static async open(): Promise<Desk> {
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': '---\nname: alpha\ndescription: The first\n---\n' })
    return new Desk(await GitServer.start(), repository, await temporaryFolder())
  }

  /** The configuration, with further lines after its one source. */
  config(more: readonly string[] = []): WholeConfig {
    const url = this.git.serve('team', this.#repository)
    const lines = ['sources:', '  - id: team', `    url: ${url}`, ...more, `state: ${this.#folder.path}/state`]
    const config = parseConfig(lines.join('\n'), '/etc/skillsyncd.yaml', environmentOf({}, this.#folder.path))
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    return config
  }

  async daemon(): Promise<Daemon> {
    const config = this.config()
    return Daemon.start(config, { ...this.#parts(), store: await Store.open(config.state), clock: systemClock })
  }

  async write(): Promise<Writer> {
    const writer = await Writer.open({ ...this.#parts(), config: this.config(), command: 'start' }, STEADY)
    if ('heldBy' in writer) throw new Error('Somebody else writes')
    return writer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.git[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
  }

  #parts() {
    const redactor = new Redactor()
    const log = createLog({
      level: 'error',
      stream: { write: () => {} },
      format: 'json',
      journal: false,
      clock: systemClock,
      redactor,
    })
    const environment = environmentOf({ XDG_RUNTIME_DIR: join(this.#folder.path, 'run') }, this.#folder.path)
    return { environment, log, redactor }
  }
}
