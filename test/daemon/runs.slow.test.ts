import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Composer } from 'yaml'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { isSourceId, type SourceId } from '../../src/sync/model/source-id.ts'
import { SyncError } from '../../src/sync/model/sync-error.ts'
import type { OpenUpstream, Reach } from '../../src/sync/pull/open-upstream.ts'
import { Store } from '../../src/sync/store/store.ts'
import type { TreeUpstream } from '../../src/sync/upstream/upstream.ts'
import { HEAVY_FRONTMATTERS, documentSaying } from '../support/content/heavy-frontmatters.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { ScriptedUpstream, skillText } from '../support/git/scripted-upstream.ts'
import { pullNow } from '../support/pull-now.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { surveyed } from '../sync/survey/surveyed.ts'

const HOUR = 3_600_000
const TEAM = idOf('team')
const MORE = idOf('more')

test('a secret that an upstream says back reaches no outcome, no status, no file and no line of the log', async () => {
  await using desk = await Desk.open({ team: 'https://git.example.com/team.git' })
  await using daemon = await desk.start()
  desk.redactor.add('hunter2hunter2')
  const cause = new Error('the server says hunter2hunter2 too')
  desk.upstream.failure = new SyncError('source-unreachable', 'Cannot pull: the server says hunter2hunter2', { cause })

  const outcomes = await pullNow(daemon)

  const record = await readFile(join(desk.state, 'sources', 'team.json'), 'utf8')
  expect(outcomes.get(TEAM)).toMatchObject({ error: { message: 'Cannot pull: the server says ***' } })
  for (const text of [desk.logged(), record, JSON.stringify(daemon.parts.status.status())]) {
    expect(text).toContain('the server says ***')
    expect(text).not.toContain('hunter2')
  }
})

test('a pause that a host asked for is kept by who asks by hand too, and by all sources of the host', async () => {
  await using desk = await Desk.open({
    team: 'https://git.example.com/team.git',
    more: 'https://git.example.com/more.git',
    far: 'https://elsewhere.example.com/far.git',
  })
  await using daemon = await desk.start()
  const asked = 'Cannot reach "team": the host answers 429 and requests a pause'
  desk.upstream.failure = new SyncError('rate-limited', asked, { retryAfterMs: HOUR })
  await pullNow(daemon, [TEAM])
  desk.upstream.failure = undefined
  const { lastAttempt } = daemon.parts.status.status().sources[0]!
  await desk.clock.advance(HOUR / 2)

  const during = await pullNow(daemon)
  const attempts = desk.opened.splice(0)
  await desk.clock.advance(HOUR / 2)
  const after = await pullNow(daemon)

  for (const id of [TEAM, MORE]) {
    expect(during.get(id)).toMatchObject({ error: { code: 'rate-limited', retryAfterMs: HOUR / 2 } })
    expect(after.get(id)).toMatchObject({ kind: 'updated' })
  }
  expect(during.get(idOf('far'))).toMatchObject({ kind: 'updated' })
  expect(attempts).toEqual([TEAM, 'far'])
  expect(lastAttempt).toBe('2026-06-15T12:00:00.000Z')
})

test('a source that waits for its place when its host requests a pause does not ask any more', async () => {
  const ids = ['team', 'one', 'two', 'more']
  const urls = ids.map((id) => [id, `https://git.example.com/${id}.git`])
  await using desk = await Desk.open(Object.fromEntries(urls), ['limits: { fetch: { concurrency_per_host: 1 } }'])
  await using daemon = await desk.start()
  desk.upstream.failure = new SyncError('rate-limited', 'Cannot reach "team"', { retryAfterMs: HOUR })

  const outcomes = await pullNow(daemon)

  // Two may look at once, and nobody says which comes first.
  expect(desk.opened.toSorted()).toEqual(['one', TEAM])
  for (const id of ids) expect(outcomes.get(idOf(id))).toMatchObject({ error: { code: 'rate-limited' } })
})

test('a webhook has its source pulled at once, or after the pause that its host asked for', async () => {
  await using desk = await Desk.open({
    team: 'https://git.example.com/team.git\n    webhook: { provider: github, secret: { env: S } }',
    more: 'https://git.example.com/more.git',
    far: 'https://elsewhere.example.com/far.git\n    webhook: { provider: github, secret: { env: S } }',
  })
  await using daemon = await desk.start()
  desk.upstream.failure = new SyncError('rate-limited', 'Cannot reach "more"', { retryAfterMs: HOUR })
  await pullNow(daemon, [MORE])
  desk.upstream.failure = undefined

  for (const webhook of daemon.parts.webhooks.values()) webhook.look()
  await desk.clock.advance(HOUR - 1)
  const during = desk.opened.splice(0)
  await desk.clock.advance(1)

  expect([...daemon.parts.webhooks.keys()]).toEqual([TEAM, 'far'])
  expect(during).toEqual([MORE, 'far'])
  expect(desk.opened).toEqual([TEAM])
})

test('what the log says of webhooks does not grow with what is sent to them', async () => {
  await using desk = await Desk.open({
    team: 'https://git.example.com/team.git\n    webhook: { provider: github, secret: { env: MISSING } }',
  })
  await using daemon = await desk.start()
  const webhook = daemon.parts.webhooks.get(TEAM)!

  for (let number = 0; number < 100; number += 1) expect(await webhook.secret()).toBeUndefined()
  const unreadable = desk.lines()
  for (let number = 0; number < 100; number += 1) webhook.refused()
  webhook.look()
  await desk.clock.advance(0)

  const refusal = { event: 'webhook-refused', source: 'team' }
  expect(unreadable).toMatchObject([{ ...refusal, code: 'credentials-rejected' }])
  expect(desk.lines().slice(1, 3)).toMatchObject([
    { ...refusal, code: 'signature-wrong', repeated: 99 },
    { event: 'recovered', from: 'webhook-refused', repeated: 99 },
  ])
})

test('the next poll of each source of a host that requested a pause is after it', async () => {
  await using desk = await Desk.open({ team: 'https://git.example.com/team.git' })
  await using daemon = await desk.start()
  desk.upstream.failure = new SyncError('rate-limited', 'Cannot reach "team"', { retryAfterMs: HOUR })
  await pullNow(daemon)
  daemon.poll()

  await desk.clock.advance(HOUR - 1)

  expect(desk.opened).toEqual([TEAM])
  // A little after it, lest all of them come at once.
  expect(daemon.parts.status.status().sources[0]?.nextPoll).toMatch(/^2026-06-15T13:00:[0-2]/)
})

test('repositories on this disk that hang delay no other one on it', async () => {
  await using desk = await Desk.open({ one: 'file:///one', two: 'file:///two', team: 'file:///team' })
  await using daemon = await desk.start()
  for (const id of ['one', 'two']) desk.hung.add(idOf(id))
  const hung = pullNow(daemon, [idOf('one'), idOf('two')]).catch((error: unknown) => error)

  const outcomes = await pullNow(daemon, [TEAM])

  expect(outcomes.get(TEAM)?.kind).toBe('updated')
  await daemon[Symbol.asyncDispose]()
  expect(await hung).toMatchObject({ name: 'AbortError' })
})

test('a pull that does not end is one failure, however many waited for it', async () => {
  await using desk = await Desk.open({ team: 'https://git.example.com/team.git' }, [
    'limits: { fetch: { total_timeout: 1h } }',
  ])
  await using daemon = await desk.start()
  desk.hung.add(TEAM)
  const ends = Promise.all([pullNow(daemon), pullNow(daemon), pullNow(daemon)])

  await desk.clock.advance(2 * HOUR)
  await desk.clock.advance(2 * HOUR)
  const codes = (await ends).map((outcomes) => outcomes.get(TEAM))
  desk.hung.clear()
  await pullNow(daemon)

  expect(codes).toMatchObject(Array.from({ length: 3 }, () => ({ error: { code: 'source-unreachable' } })))
  expect(desk.lines().map(({ event, repeated }) => [event, repeated])).toEqual([
    ['pull-failed', undefined],
    ['recovered', undefined],
    ['source-updated', undefined],
  ])
})

test('what waits beside what had to be judged anew is told, and can be approved', async () => {
  await using desk = await Desk.open({ team: 'https://git.example.com/team.git' })
  const names = ['s0', 's1', 's2', 's3', 's4', 's5', 's6', 's7']
  desk.upstream.files = Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillText(name)]))
  {
    await using before = await desk.start()
    await pullNow(before)
  }
  desk.upstream.files = { 's0/SKILL.md': skillText('s0') }
  await using daemon = await desk.start(['    exclude: [s7]'])

  const judged = (await pullNow(daemon)).get(TEAM)
  const { served, upstream, problem } = daemon.parts.status.status().sources[0]!
  await daemon.parts.decisions.decide(TEAM, 'approve', { commit: upstream?.commit })
  await pullNow(daemon)

  expect(judged).toMatchObject({ kind: 'updated', drift: { newest: { commit: upstream?.commit } } })
  expect(problem?.code).toBe('mass-deletion')
  expect(upstream?.commit).not.toBe(served?.commit)
  expect(daemon.parts.status.status().sources[0]).toMatchObject({
    served: { commit: upstream?.commit },
    problem: undefined,
  })
})

test('no frontmatter that is heavy to read is composed on the thread that serves, and what is served is the same', async () => {
  await using desk = await Desk.open({ team: 'https://git.example.com/team.git' })
  const heavy = Object.entries(HEAVY_FRONTMATTERS).map(([name, lines]) => [`${name}/SKILL.md`, documentSaying(lines)])
  const files = { ...Object.fromEntries(heavy), 'pdf/SKILL.md': skillText('pdf') }
  desk.upstream.files = files
  await using daemon = await desk.start()
  const composing = vi.spyOn(Composer.prototype, 'next')
  onTestFinished(() => composing.mockRestore())

  await pullNow(daemon)

  const composed = composing.mock.calls.length
  composing.mockRestore()
  const { skills } = daemon.registry.catalog.snapshots[0]!
  expect(composed).toBeLessThan(heavy.length)
  expect(skills).toEqual((await surveyed(files, { hiddenUnicode: 'deceptive' })).skills)
})

/** A state folder, and a scripted upstream that all sources of the daemon lead to. */
class Desk implements AsyncDisposable {
  readonly clock = new FakeClock()
  readonly redactor = new Redactor()
  readonly upstream = new ScriptedUpstream()
  /** Sources that hang until they are stopped. */
  readonly hung = new Set<SourceId>()
  /** Which sources were reached, in order. */
  readonly opened: SourceId[] = []
  readonly state: string
  readonly #yaml: string
  readonly #folder: AsyncDisposable
  #logged = ''

  private constructor(yaml: string, folder: AsyncDisposable & { readonly path: string }) {
    this.#yaml = yaml
    this.#folder = folder
    this.state = join(folder.path, 'state')
  }

  static async open(urls: Readonly<Record<string, string>>, lines: readonly string[] = []): Promise<Desk> {
    const sources = Object.entries(urls).flatMap(([id, url]) => [`  - id: ${id}`, `    url: ${url}`])
    return new Desk(['sources:', ...sources, ...lines].join('\n'), await temporaryFolder())
  }

  /** `lines`: more of the last source. */
  async start(lines: readonly string[] = []): Promise<Daemon> {
    const { clock, redactor, state } = this
    const environment = environmentOf({}, state)
    const config = parseConfig([this.#yaml, ...lines].join('\n'), 'skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const stream = { write: (text: string) => (this.#logged += text) }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor })
    const open: OpenUpstream = ({ id }, reach) => this.#open(id, reach)
    return Daemon.start(config, { store: await Store.open(state), clock, log, environment, redactor, open })
  }

  logged(): string {
    return this.#logged
  }

  lines(): Record<string, unknown>[] {
    return this.#logged
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }

  #open(id: SourceId, reach: Reach): TreeUpstream {
    this.opened.push(id)
    const upstream = this.upstream.open(reach)
    return this.hung.has(id) ? { ...upstream, resolve: aborted } : upstream
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

function idOf(text: string): SourceId {
  if (!isSourceId(text)) throw new Error(`"${text}" is no source id`)
  return text
}
