import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFailed, test } from 'vitest'
import { isTemporary } from '../../../src/sync/store/files/atomic.ts'
import { RETENTION } from '../../../src/sync/store/garbage-collect.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { Dice } from '../../fuzz/dice.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never, numbered, verifyCurrent } from './samples.ts'

const CHILD = fileURLToPath(new URL('crash-child.ts', import.meta.url))
const BUILT = new URL('../../../dist/sync/store/store.js', import.meta.url).href
const STRIPPING = ['--experimental-strip-types', '--no-warnings']

/** More calls than one round of the child makes, from its start to the end of its first collection. */
const CALLS = 200

/** So long may a thread spin before it kills: some 2 ms, longer than a commit takes. */
const SPINS = 400_000

/** Of the calls that are chosen; `CRASH_SEED` chooses those of an earlier run. */
const SEED = Number(process.env['CRASH_SEED'] ?? randomInt(2 ** 31))

type Moment = 'before' | 'in' | 'during'

interface Kill {
  readonly call: number
  readonly moment: Moment
  readonly spins: number
}

interface Ended {
  readonly signal: NodeJS.Signals | null
  readonly lines: readonly string[]
}

async function runChild(state: string, first: number, { call, moment, spins }: Kill): Promise<Ended> {
  const args = [...STRIPPING, CHILD, BUILT, state, `${first}`, `${call}`, moment, `${spins}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'close')
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr)])
  const signal: NodeJS.Signals | null = (await closed)[1]

  expect(complained).toBe('')
  return { signal, lines: said.split('\n').filter((line) => line !== '') }
}

/** The round of the child that is served, by what it published; 0 before the first. Throws unless all of it is whole. */
async function roundServed(store: Store): Promise<number> {
  await verifyCurrent(store)
  const [held] = (await store.generations.current())?.sources ?? []
  if (held === undefined) return 0
  const [skill] = (await store.snapshots.read(held.snapshot)).skills
  return Number(skill?.name?.slice('skill-'.length))
}

/** The numbers of all records that can be read, newest first. */
async function recordedIn({ generations: { records } }: Store): Promise<number[]> {
  const read = await Promise.all((await records.numbers()).map(async (number) => records.read(number)))
  return read.flatMap((record) => record?.number ?? [])
}

/** The numbers from that of the head down to 1. */
async function publishedIn(store: Store): Promise<number[]> {
  const last = (await store.objects.head())?.sequence ?? 0
  return Array.from({ length: last }, (_, at) => last - at)
}

async function litterIn(store: Store): Promise<string[]> {
  const folders = [store.folder.path, store.folder.at('checkouts'), store.folder.at('links')]
  const names = await Promise.all(folders.map((folder) => readdir(folder)))
  return [...names.flat().filter(isTemporary), ...(await readdir(store.folder.at('tmp')))]
}

/** The damage in those checkouts of the first rounds that are there. */
async function damageInCheckouts(store: Store, rounds: number): Promise<unknown[]> {
  const damage: unknown[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const { stored } = numbered(round)
    if (await store.checkouts.has(stored)) damage.push(...(await store.checkouts.damageIn(stored)))
  }
  return damage
}

function integrityOf(store: Store): unknown {
  using database = new DatabaseSync(store.folder.database)
  return database.prepare('PRAGMA integrity_check').all()
}

describe.each(['before', 'in', 'during'] as const)('a process that is killed %s a call', (moment) => {
  test('comes back to the old generation or the new one, whole, many times in a row', async () => {
    await using folder = await temporaryFolder()
    let published = 0
    const dice = new Dice(SEED, 0)
    onTestFailed(() => void process.stderr.write(`It was with CRASH_SEED=${SEED}\n`))

    for (let kill = 0; kill < lawRuns(40, 1 / 2); kill += 1) {
      const [call, spins] = [1 + dice.below(CALLS), dice.below(SPINS)]
      const { signal, lines } = await runChild(folder.path, published + 1, { call, moment, spins })
      const acknowledged = Number(lines.at(-1) ?? published)
      using store = await Store.open(folder.path)
      const found = await roundServed(store)
      const damage = await damageInCheckouts(store, found + 1)
      await store.sweep()

      expect(signal).toBe('SIGKILL')
      expect([acknowledged, acknowledged + 1], `killed ${moment} call ${call}`).toContain(found)
      expect(damage, `killed ${moment} call ${call}`).toEqual([])
      expect(integrityOf(store)).toEqual([{ integrity_check: 'ok' }])
      expect(await litterIn(store)).toEqual([])
      expect(await roundServed(store)).toBe(found)
      expect(await recordedIn(store)).toEqual(await publishedIn(store))
      published = found
    }

    expect(published).toBeGreaterThan(0)
    expect(await objectsAfterCollection(folder.path)).toBe(PER_GENERATION)
  })
})

/** The generation, its snapshot, three files of each of two skills and one that they share, and two pages of docs. */
const PER_GENERATION = 1 + 1 + 2 * 3 + 1 + 2

/** The number of objects that a collection leaves, so that pulls that were killed cost no space for long. */
async function objectsAfterCollection(path: string): Promise<number> {
  using store = await Store.open(path)
  const retention = { ...RETENTION, generations: 1, youngerThanMs: -1 }
  await store.collect({ now: new Date(), retention, keep: new Set() }, never())
  return (await store.objects.collect({ heads: new Set(), live: new Set() })).objects
}

test('the head moves after all that it names is committed, and a checkout gets its name after its files are written', async () => {
  await using folder = await temporaryFolder()

  const { lines } = await runChild(folder.path, 1, { call: 0, moment: 'in', spins: 0 })

  const steps = lines.map((line) => shortened(line, folder.path))
  const settings = steps.findIndex((step) => step.startsWith('exec') && step.includes('PRAGMA synchronous = FULL'))
  const moved = steps.findIndex((step) => step.startsWith('run INSERT INTO head'))
  const puts = steps.flatMap((step, at) => (/^run\s+INSERT INTO object/.test(step) ? [at] : []))
  const named = steps.findIndex((step) => step.startsWith('rename checkouts/*'))
  expect(settings).toBeGreaterThan(-1)
  expect(puts.length).toBeGreaterThanOrEqual(PER_GENERATION)
  expect(puts[0]).toBeGreaterThan(settings)
  expect(puts.at(-1)).toBeLessThan(moved)
  expect(steps.slice(puts.at(-1), moved)).toContain('exec COMMIT')
  expect(steps.slice(moved)).toContain('exec COMMIT')
  expect(steps.slice(moved, named).filter((step) => step.startsWith('open checkouts/*/skill-1/'))).toHaveLength(2 * 4)
  expect(steps.slice(named - 3, named + 1)).toEqual([
    expect.stringMatching(/^open .* wx$/),
    'writeFile',
    'chmod',
    'rename checkouts/* checkouts/*',
  ])
  expect(steps.indexOf('symlink ../checkouts/*/skill-1 links/*')).toBeGreaterThan(named)
})

test('no statement of a publish reads all records', async () => {
  await using folder = await temporaryFolder()
  const { lines } = await runChild(folder.path, 1, { call: 0, moment: 'in', spins: 0 })

  const calls = lines.map((line): string[] => JSON.parse(line))
  const statements = new Set(
    calls.flatMap(([, sql = '']) => (/\brecord\b/.test(sql) && !/CREATE/.test(sql) ? [sql] : [])),
  )
  using database = new DatabaseSync(join(folder.path, 'store.db'))
  const plans = [...statements].map((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())

  expect(statements.size).toBeGreaterThan(2)
  for (const { detail } of plans.flat()) expect(detail).not.toMatch(/SCAN record|TEMP B-TREE|total>/)
})

test('the round that the child counts to is shorter than the calls that are chosen', async () => {
  await using folder = await temporaryFolder()

  const { lines } = await runChild(folder.path, 1, { call: 0, moment: 'in', spins: 0 })

  expect(lines.length).toBeLessThan(CALLS)
  expect(await readFile(join(folder.path, 'links', 'served', 'SKILL.md'), 'utf8')).toContain('skill-1')
})

/** The call of the child, with paths from the state folder and a `*` for all that differs from run to run. */
function shortened(line: string, state: string): string {
  const words: string[] = JSON.parse(line)
  const short = words.map((word) => word.replace(`${state}/`, '').replaceAll(/\.tmp-\w+|[0-9a-f]{64}/g, '*'))
  return short.join(' ')
}
