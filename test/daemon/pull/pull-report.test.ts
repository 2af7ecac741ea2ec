import { mkdir, rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PullReport } from '../../../src/daemon/pull/pull-report.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { PullCounts } from '../../../src/daemon/runtime/pull-counts.ts'
import type { SkillChange } from '../../../src/sync/model/changes/skill-changes.ts'
import type { Outcome } from '../../../src/sync/model/outcome.ts'
import type { Source } from '../../../src/sync/model/source.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import type { SourceRecord } from '../../../src/sync/store/source-records.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { numbered, snapshotOf, sourceId } from '../../sync/store/samples.ts'
import { objectId } from '../../sync/upstream/reached.ts'

const NOON = '2026-06-15T12:00:00.000Z'
const SOON = '2026-06-15T12:59:59.000Z'
const LATER = '2026-06-15T13:00:00.000Z'

test('a source that was never pulled has an empty record', async () => {
  await using desk = await Desk.open()

  expect(desk.record()).toEqual({})
  expect(await desk.written()).toBeUndefined()
})

test('a success is remembered with its time and what it saw, also by the next process', async () => {
  await using desk = await Desk.open()

  expect(await desk.report.outcome(TEAM, updated(), 12.4)).toBe(true)

  const { url } = TEAM
  const record = { url, lastAttempt: NOON, lastSuccess: NOON, revision: updated().revision, followed: FOLLOWED }
  expect(desk.record()).toEqual(record)
  expect(plain(await desk.written())).toEqual(record)
  expect(plain((await desk.reopened()).recordOf(TEAM))).toEqual(record)
  expect(desk.lines()).toMatchObject([
    {
      event: 'source-updated',
      source: 'team',
      tookMs: 12,
      seen: 1,
      served: 1,
      changes: 'added a, b; renamed old to new; withheld c',
    },
    {
      level: 'warn',
      event: 'skill-withheld',
      source: 'team',
      skill: 'c',
      code: 'name-missing',
      message: 'It has no name',
    },
  ])
})

test('of what is served instead of the newest commit, the newest is remembered as what upstream has', async () => {
  await using desk = await Desk.open()
  const newest = { ...updated().revision, commit: objectId('9'.repeat(40)) }
  const drift = { error: { code: 'mass-deletion', message: 'Cannot follow' }, newest } as const

  await desk.report.outcome(TEAM, { ...updated(), drift }, 1)

  const problem = { code: 'mass-deletion', message: 'Cannot follow' }
  expect(desk.record()).toMatchObject({ problem, revision: newest, followed: FOLLOWED })
})

test('where it was followed to is remembered by the next poll, if a process was killed before it remembered it', async () => {
  await using desk = await Desk.open()

  await desk.report.outcome(TEAM, { ...unchanged(), followed: FOLLOWED }, 1)

  expect((await desk.reopened()).recordOf(TEAM)).toMatchObject({ followed: FOLLOWED })
})

test('of a source that is elsewhere by now, nothing is remembered but what it was followed to', async () => {
  await using desk = await Desk.open()
  await desk.report.outcome(TEAM, updated(), 1)
  const elsewhere = { ...TEAM, url: 'https://git.example.com/elsewhere.git' }

  const before = plain((await desk.reopened()).recordOf(elsewhere))
  await desk.report.outcome(elsewhere, failed('dns-failed'), 1)
  const after = desk.report.recordOf(elsewhere)

  expect(before).toEqual({ followed: FOLLOWED })
  expect(after).toMatchObject({ problem: { code: 'dns-failed' }, followed: FOLLOWED })
  expect(after.revision).toBeUndefined()
  expect(after.lastSuccess).toBeUndefined()
  expect(desk.record()).toEqual({ followed: FOLLOWED })
})

test('the address that a host redirects to is remembered with the next outcome, and is warned of once', async () => {
  await using desk = await Desk.open()
  const movedTo = 'https://git.example.com/new.git'
  await desk.report.outcome(TEAM, updated(), 1)

  for (let look = 0; look < 2; look += 1) {
    desk.report.found(TEAM, movedTo)
    await desk.report.outcome(TEAM, unchanged(), 1)
  }
  const next = await desk.reopened()
  next.found(TEAM, movedTo)

  expect(desk.record()).toMatchObject({ movedTo })
  expect(next.recordOf(TEAM)).toMatchObject({ movedTo })
  expect(desk.lines().filter(({ event }) => event === 'source-moved')).toMatchObject([
    { source: 'team', message: `Its host redirects to "${movedTo}"; write that address into the configuration` },
  ])
})

test('an address that no person would write down is not remembered', async () => {
  await using desk = await Desk.open()

  desk.report.found(TEAM, `https://git.example.com/${'x'.repeat(2_000)}`)
  await desk.report.outcome(TEAM, updated(), 1)

  expect(desk.record()).not.toHaveProperty('movedTo')
  expect(desk.lines().map(({ event }) => event)).toEqual(['source-updated', 'skill-withheld'])
})

test('a failure keeps the last success, and says what is wrong until the next one', async () => {
  await using desk = await Desk.open()
  await desk.report.outcome(TEAM, updated(), 1)
  await desk.clock.advance(3_600_000)

  await desk.report.outcome(TEAM, failed('dns-failed'), 1)
  const during = desk.record()
  await desk.report.outcome(TEAM, unchanged(), 1)

  expect(during).toMatchObject({ lastAttempt: LATER, lastSuccess: NOON, problem: { code: 'dns-failed' } })
  expect(desk.record()).toEqual({
    url: TEAM.url,
    lastAttempt: LATER,
    lastSuccess: LATER,
    revision: updated().revision,
    followed: FOLLOWED,
  })
  expect(plain(await desk.written())).toEqual(desk.record())
})

test('an unchanged poll writes nothing, and what is told of it is of this very poll', async () => {
  await using desk = await Desk.open()
  await desk.report.outcome(TEAM, updated(), 1)
  const written = await desk.written()
  await desk.clock.advance(3_599_000)

  await desk.report.outcome(TEAM, unchanged(), 1)

  expect(await desk.written()).toEqual(written)
  expect(desk.record()).toMatchObject({ lastAttempt: SOON, lastSuccess: SOON })
})

test('of unchanged polls one an hour is remembered, so that the next process knows how old the skills are', async () => {
  await using desk = await Desk.open()
  await desk.report.outcome(TEAM, updated(), 1)
  await desk.clock.advance(3_600_000)

  await desk.report.outcome(TEAM, unchanged(), 1)
  await desk.clock.advance(3_599_000)
  await desk.report.outcome(TEAM, unchanged(), 1)

  expect((await desk.reopened()).recordOf(TEAM)).toMatchObject({ lastAttempt: LATER, lastSuccess: LATER })
})

test('of failures that are alike one is logged, another kind is logged anew, and the recovery once', async () => {
  await using desk = await Desk.open()

  for (const code of ['dns-failed', 'dns-failed', 'dns-failed', 'tls-failed'] as const) {
    await desk.report.outcome(TEAM, failed(code), 1)
  }
  await desk.report.outcome(TEAM, unchanged(), 1)
  await desk.report.outcome(TEAM, unchanged(), 1)

  expect(desk.lines().map(({ event, code, repeated }) => [event, code, repeated])).toEqual([
    ['pull-failed', 'dns-failed', undefined],
    ['pull-failed', 'tls-failed', 2],
    ['recovered', 'tls-failed', undefined],
  ])
})

test('a record that cannot be written is told, and the outcome counts all the same', async () => {
  await using desk = await Desk.open()
  await rm(`${desk.store.folder.path}/sources`, { recursive: true })
  await writeFile(`${desk.store.folder.path}/sources`, '')

  const isRecorded = await desk.report.outcome(TEAM, updated(), 1)

  expect(isRecorded).toBe(false)
  expect(desk.record()).toMatchObject({ lastSuccess: NOON })
  expect(desk.lines().map(({ event }) => event)).toEqual(['source-updated', 'skill-withheld', 'record-not-written'])
})

test('a record that cannot be written is told once, and that it can be again', async () => {
  await using desk = await Desk.open()
  const folder = `${desk.store.folder.path}/sources`
  await rm(folder, { recursive: true })
  await writeFile(folder, '')
  for (let poll = 0; poll < 3; poll += 1) await desk.report.outcome(TEAM, failed('dns-failed'), 1)

  await rm(folder)
  await mkdir(folder)
  await desk.report.outcome(TEAM, failed('dns-failed'), 1)

  expect(desk.lines()).toMatchObject([
    { event: 'pull-failed' },
    { event: 'record-not-written', source: 'team', code: 'store-failed' },
    { event: 'recovered', from: 'record-not-written', repeated: 2 },
  ])
})

const TEAM: Source = {
  kind: 'git',
  backend: 'auto',
  id: sourceId('team'),
  url: 'https://git.example.com/skills.git',
  ref: 'main',
  update: 'auto',
  brakes: 'hold',
  schedule: { kind: 'every', periodMs: 300_000 },
  root: '',
  include: ['**'],
  exclude: [],
  unlisted: [],
  names: 'remap',
  nested: 'as-skills',
  onBroken: 'withhold',
  lfs: 'withhold',
  hiddenUnicode: 'note',
  contract: false,
  docs: undefined,
  marketplace: false,
}

const FOLLOWED = { ...updatedTo(), skills: 1 }

test('what came out of the store alone is no answer of upstream, and says nothing of where that is', async () => {
  await using desk = await Desk.open()
  await desk.report.outcome(TEAM, updated(), 1)
  const { seen: _seen, ...unseen } = updated()
  await desk.clock.advance(60_000)

  await desk.report.outcome(TEAM, { ...unseen, isFromStore: true }, 1)

  expect(desk.report.recordOf(TEAM)).toMatchObject({ lastSuccess: NOON, problem: undefined })
  expect(desk.report.recordOf(TEAM).revision).toBeUndefined()
})

function updatedTo() {
  const { url, revision } = updated().snapshot
  return { url, revision }
}

function updated(): Extract<Outcome, { kind: 'updated' }> {
  const snapshot = snapshotOf(numbered(1))
  const held = { source: TEAM.id, snapshot: '0'.repeat(64) }
  const version = (path: string) => ({ path, name: path, digest: '0'.repeat(64) })
  const changes: readonly SkillChange[] = [
    { path: 'a', change: 'added', to: version('a') },
    { path: 'b', change: 'added', to: version('b') },
    { path: 'c', change: 'withheld', from: version('c'), reason: { code: 'name-missing', message: 'It has no name' } },
    { path: 'new', change: 'renamed', from: version('old'), to: version('new') },
  ]
  const { revision } = snapshot
  return { kind: 'updated', revision, snapshot, held, from: undefined, changes, rewritten: false, seen: revision }
}

function unchanged(): Extract<Outcome, { kind: 'unchanged' }> {
  return { kind: 'unchanged', revision: updated().revision }
}

function failed(code: 'dns-failed' | 'tls-failed'): Outcome {
  return { kind: 'failed', error: new SyncError(code, 'Cannot reach "team"') }
}

/** A report with the store and the clock that it works with. */
class Desk implements AsyncDisposable {
  readonly clock: FakeClock
  readonly store: Store
  readonly report: PullReport
  readonly #folder: AsyncDisposable
  readonly #logged: string[]

  private constructor(parts: Parts) {
    this.clock = parts.clock
    this.store = parts.store
    this.report = parts.report
    this.#folder = parts.folder
    this.#logged = parts.logged
  }

  static async open(): Promise<Desk> {
    const folder = await temporaryFolder()
    const store = await Store.open(`${folder.path}/state`)
    const logged: string[] = []
    const clock = new FakeClock()
    const report = await openReport(store, clock, (text) => logged.push(text))
    return new Desk({ clock, store, report, folder, logged })
  }

  /** What the next process would start from. */
  async reopened(): Promise<PullReport> {
    return openReport(this.store, this.clock, (text) => this.#logged.push(text))
  }

  record(): object {
    return plain(this.report.recordOf(TEAM))
  }

  async written(): Promise<SourceRecord | undefined> {
    return this.store.records.read(TEAM.id)
  }

  lines(): Record<string, unknown>[] {
    return this.#logged.map((line) => JSON.parse(line))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}

interface Parts {
  readonly clock: FakeClock
  readonly store: Store
  readonly report: PullReport
  readonly folder: AsyncDisposable
  readonly logged: string[]
}

async function openReport(store: Store, clock: FakeClock, write: (text: string) => unknown): Promise<PullReport> {
  const redactor = new Redactor()
  const log = createLog({ level: 'info', stream: { write }, format: 'json', journal: false, clock, redactor })
  return PullReport.open(store.records, [TEAM.id], { clock, log, counts: new PullCounts() })
}

/** Without what is undefined. */
function plain(record: SourceRecord | undefined): object {
  return JSON.parse(JSON.stringify(record ?? {}))
}
