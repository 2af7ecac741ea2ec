import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { SessionJournal } from '../../../../src/serve/mcp/transports/session-journal.ts'
import type { KeptSession, SessionLimits } from '../../../../src/serve/mcp/transports/session-store.ts'
import type { Session } from '../../../../src/serve/mcp/transports/session.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { withLifecycles } from '../../../../src/sync/catalog/operator-lifecycle.ts'
import type { LifecycleRules } from '../../../../src/sync/catalog/operator-lifecycle.ts'
import type { GenerationEntry } from '../../../../src/sync/model/generation.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { changeDatabase } from '../../../support/damage.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import { openSessions } from '../../http/opened.ts'

const HOUR = 3_600_000
const IDLE_MS = 20 * HOUR

test('sessions go on after a restart with what they subscribed to, for as long as they may idle', async () => {
  await using scene = await openScene()
  const before = await scene.start()
  const old = before.sessions.open('somebody')!
  old.session.client = 'claude-code'
  old.session.keep()
  old.session.subscribe('skill://team/a%62', 'skill://team/ab')
  await scene.clock.advance(15 * HOUR)
  const young = before.sessions.open()!
  young.session.keep()
  young.session.subscribe('skill://team/a', 'skill://team/a')
  await before.kill()

  await scene.clock.advance(HOUR)
  const [first, second] = await scene.kept()
  const after = await scene.start()
  await scene.clock.advance(5 * HOUR)

  expect(first).toMatchObject({ principalId: 'somebody', client: 'claude-code', idleMs: 16 * HOUR })
  expect(second).toMatchObject({ idleMs: HOUR })
  expect([first, second].map((kept) => Array.from(kept!.subscriptions))).toEqual([
    [['skill://team/a%62', 'skill://team/ab']],
    [['skill://team/a', 'skill://team/a']],
  ])
  expect(after.hub.size).toBe(2)
  expect(after.sessions.find(old.id)).toBeUndefined()
  expect(after.sessions.find(young.id)).toBeDefined()
})

test('a restart keeps the shares: of too many sessions the holder of most loses its oldest, whoever came first', async () => {
  await using scene = await openScene()
  const before = await scene.start()
  const honest = [before.sessions.open('ada')!, before.sessions.open(undefined, '192.0.2.1')!]
  const hostile = Array.from({ length: 5 }, () => before.sessions.open(undefined, '192.0.2.2')!)
  for (const { session } of [...honest, ...hostile]) session.keep()
  await before.kill()

  const after = await scene.start({ sessions: 4 })
  const more = Array.from({ length: 3 }, () => after.sessions.open(undefined, '192.0.2.2')!)

  expect(after.sessions.find(honest[0]!.id, 'ada')).toBeDefined()
  expect(after.sessions.find(honest[1]!.id)).toBeDefined()
  expect([...hostile, ...more].filter(({ id }) => after.sessions.find(id) !== undefined)).toEqual(more.slice(-2))
})

test('a session that a lower limit or age ended stays so when that is raised again', async () => {
  await using scene = await openScene()
  const before = await scene.start()
  for (const session of [before.sessions.open()!.session, before.sessions.open()!.session]) session.keep()
  await before.kill()

  const fewer = await scene.start({ sessions: 1 })
  await fewer.kill()
  const left = await scene.kept()
  await scene.clock.advance(1)
  const younger = await scene.start({ idleMs: 0 })
  await younger.kill()

  expect([left.length, (await scene.kept()).length]).toEqual([1, 0])
})

test('cut at any byte by a kill, the journal is what it was after some step, and no step is lost that was waited for', async () => {
  const law = fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 30 }), async (steps) => {
    await using scene = await openScene()
    const { sessions, kill } = await scene.start()
    const open = new Map<number, Session>()
    const states: string[] = []
    const acknowledged: number[] = []
    for (const { kind, who, uri } of [{ kind: 'open', who: 0, uri: '' } as const, ...steps]) {
      const session = open.get(who)
      if (kind === 'open' && session === undefined) open.set(who, sessions.open()!.session)
      const current = session ?? open.get(who)
      if (current === undefined) continue
      if (kind === 'open' && session === undefined) current.keep()
      else if (kind === 'subscribe') current.subscribe(uri, uri)
      else if (kind === 'unsubscribe') current.unsubscribe(uri)
      else if (kind === 'end' && open.delete(who)) sessions.close(current)
      await current.written
      states.push(stateOf([...open.values()].map((one) => one.record(0) as unknown as KeptSession)))
      acknowledged.push((await readFile(scene.file)).length)
    }
    await kill()
    const bytes = await readFile(scene.file)

    for (let length = acknowledged[0]!; length <= bytes.length; length += 1 + (length % 7)) {
      await writeFile(scene.file, bytes.subarray(0, length))
      const known = acknowledged.findLastIndex((written) => written <= length)
      expect(states.slice(known)).toContain(stateOf(await scene.kept()))
    }
  })
  await fc.assert(law, { numRuns: 20 })
})

test('on the disk, five thousand sessions that are over leave nothing', async () => {
  await using scene = await openScene()
  const { sessions, kill } = await scene.start()
  const opened = Array.from({ length: 5_000 }, () => sessions.open()!.session)
  for (const session of opened) {
    session.keep()
    session.subscribe('skill://team/a', 'skill://team/a')
  }
  await opened.at(-1)!.written
  const { length: most } = await readFile(scene.file)
  const lived = await scene.kept()

  await scene.clock.advance(IDLE_MS + 1)
  sessions.sweep()
  const { session } = sessions.open()!
  session.keep()
  await session.written
  await kill()

  expect(lived).toHaveLength(5_000)
  expect(await scene.kept()).toHaveLength(1)
  // Nothing of what it says of the others is needed: the first session after a restart has it written anew.
  const again = await scene.start()
  const next = again.sessions.open()!.session
  next.keep()
  await next.written
  await again.kill()
  expect((await readFile(scene.file)).length).toBeLessThan(1_000)
  expect(most).toBeGreaterThan(500_000)
})

test('while the disk refuses, sessions go on and the log says so once; when it takes them again, all of them are there', async () => {
  await using scene = await openScene()
  await mkdir(scene.file)
  const { sessions, kill } = await scene.start()
  const first = sessions.open()!.session
  first.keep()
  await first.written
  first.subscribe('skill://team/a', 'skill://team/a')
  await first.written
  await scene.clock.advance(61_000)
  first.subscribe('skill://team/b', 'skill://team/b')
  await first.written
  const refused = scene.logged()

  await rm(scene.file, { recursive: true })
  await scene.clock.advance(61_000)
  const second = sessions.open()!.session
  second.keep()
  await second.written
  await kill()

  expect(refused.match(/"sessions-not-read"/g)).toHaveLength(1)
  expect(refused.match(/"sessions-not-kept"/g)).toHaveLength(1)
  expect(scene.logged()).toMatch(/"recovered".*"sessions-not-kept"/)
  expect((await scene.kept()).map(({ subscriptions }) => Array.from(subscriptions.keys()))).toEqual([
    ['skill://team/a', 'skill://team/b'],
    [],
  ])
})

test.each([
  ['of another form', 'sessions!\n'],
  ['with a record that is unknown', `${checked('{"kind":"opened"}')}\n`],
])('a journal %s costs sessions, and the log says so', async (_, text) => {
  await using scene = await openScene()
  await writeFile(scene.file, text)

  expect(await scene.kept()).toEqual([])
  expect(scene.logged()).toContain('"sessions-not-read"')
})

test('the catalog that was served once is found by its mark, until its generation is gone', async () => {
  await using scene = await openScene()
  const first = await scene.publish('one')
  const second = await scene.publish('two')
  const journal = new SessionJournal(scene)

  const found = await journal.catalogOf(first)
  const other = await journal.catalogOf({ generation: first.generation, digest: second.digest })
  changeDatabase(scene.store, `DELETE FROM head WHERE sequence = ${first.generation}`)

  expect(urisOf(found!)).toEqual(urisOf(first))
  expect(other).toBeUndefined()
  expect(await journal.catalogOf(first)).toBeUndefined()
  expect(await journal.catalogOf({ generation: 99, digest: first.digest })).toBeUndefined()
})

test('the catalog of a mark has the sources and disabled skills of then, whatever there is now', async () => {
  await using scene = await openScene()
  const held: GenerationEntry[] = []
  const snapshots: Snapshot[] = []
  for (const id of ['one', 'two', 'three']) {
    const skill = sample(id, { 'SKILL.md': id })
    await keepSamples(scene.store, skill)
    const snapshot = { ...snapshotOf(skill), source: sourceId(id) }
    snapshots.push(snapshot)
    held.push({ source: snapshot.source, snapshot: await scene.store.snapshots.keep(snapshot) })
  }
  const generation = await scene.store.generations.publish(held, scene.clock.now())
  const configured = { ...generation, sources: [held[2]!, held[0]!] }
  const disabled = new Map([[sourceId('three'), new Set(['three'])]])
  const then = buildCatalog(configured, [snapshots[2]!, snapshots[0]!], disabled)
  const mark = { generation: then.generation, digest: then.digest, forms: 'f', sources: then.sources }
  const before = await scene.start()
  const { session } = before.sessions.open()!
  session.keep()
  before.sessions.told(mark, mark)
  session.updated('skill://one', '')
  before.sessions.told(mark, { generation: 99, digest: 'later', forms: 'f' })
  await session.written
  await before.kill()

  const [kept] = await scene.kept()
  const found = await new SessionJournal(scene).catalogOf(kept!.told)

  expect(kept!.told).toEqual(mark)
  expect(urisOf(found!)).toEqual(urisOf(then))
  expect((await readFile(scene.file, 'utf8')).match(/"sources":\[\["three"/g)).toHaveLength(1)
})

test('the catalog of a mark has what the operator says about its skills now, after a reload too', async () => {
  await using scene = await openScene()
  const { generation, snapshots } = await scene.publish('one')
  let rules: LifecycleRules = new Map()
  const stated: LifecycleRules = new Map([[sourceId('team'), [{ include: ['one'], edit: { deprecated: 'Use two' } }]]])
  const next = buildCatalog((await scene.store.generations.read(generation))!, [withLifecycles(snapshots[0]!, stated)])
  const journal = new SessionJournal({ ...scene, lifecycles: () => rules })

  const before = await journal.catalogOf(next)
  rules = stated

  expect(before).toBeUndefined()
  expect((await journal.catalogOf(next))?.digest).toBe(next.digest)
})

const STEP = fc.record({
  kind: fc.constantFrom('open', 'subscribe', 'subscribe', 'unsubscribe', 'end'),
  who: fc.nat(3),
  uri: fc.constantFrom('skill://team/a', 'skill://team/b', 'skill://team/ü"\\'),
})

/** Which sessions there are, and what each subscribed to. */
function stateOf(sessions: readonly Pick<KeptSession, 'key' | 'subscriptions'>[]): string {
  const lines = sessions.map(({ key, subscriptions }) => [key, ...[...subscriptions.keys()].toSorted()].join(' '))
  return lines.toSorted().join('\n')
}

async function openScene() {
  const folder = await temporaryFolder()
  const store = await Store.open(join(folder.path, 'state'))
  const clock = new FakeClock()
  let logged = ''
  const stream = { write: (text: string) => (logged += text) }
  const log = createLog({ level: 'debug', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  const file = join(store.folder.path, 'sessions.journal')
  return {
    store,
    clock,
    log,
    file,
    logged: () => logged,
    /** Sessions that are remembered here. A kill leaves the file as it is. */
    async start(lowered: Partial<SessionLimits> = {}) {
      const journal = new SessionJournal({ store, clock, log })
      const limits = { sessions: 10_000, idleMs: IDLE_MS, ...lowered }
      const opened = await openSessions({ limits, now: () => clock.monotonicMs(), log: journal })
      return { ...opened, kill: () => journal[Symbol.asyncDispose]() }
    },
    /** What the next process would go on with. */
    async kept(): Promise<readonly KeptSession[]> {
      return new SessionJournal({ store, clock, log }).load(() => [])
    },
    async publish(name: string): Promise<Catalog> {
      const one = sample(name, { 'SKILL.md': name })
      await keepSamples(store, one)
      const source = sourceId('team')
      const snapshot = { ...snapshotOf(one), source }
      const held = { source, snapshot: await store.snapshots.keep(snapshot) }
      return buildCatalog(await store.generations.publish([held], clock.now()), [snapshot])
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

function checked(line: string): string {
  return `${crc32(line).toString(16).padStart(8, '0')} ${line}`
}

function urisOf({ files }: Catalog): string[] {
  return [...files.values()].map(({ uri }) => uri)
}
