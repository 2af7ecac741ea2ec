import { join } from 'node:path'
import type { Config } from '../src/daemon/config/config.ts'
import type { SyncEnd } from '../src/daemon/status/pull-result.ts'
import { temporaryFolder } from '../test/support/temporary.ts'
import { syncBy, writeSettings } from './daemon.ts'
import { median } from './figure.ts'
import type { Extent } from './figure.ts'
import { startSoaked } from './soak-daemon.ts'
import type { Held } from './soak-daemon.ts'
import { keepForProgram, serveOverHttp } from './soak-source.ts'
import type { SoakedSource } from './soak-source.ts'
import { columnsOf, extentOf, isStarted } from './table.ts'

/** What came of it, in words, and whether all bounds have held. */
interface Soaked {
  readonly lines: readonly string[]
  readonly isWithin: boolean
}

/**
 * Thousands of fetches that fail in all the ways that there are, and commits that come through in between: what the daemon
 * holds at rest must not grow, in memory, in the system or on the disk.
 */
async function soak({ quick }: Extent): Promise<Soaked> {
  const { sources, rounds, fails, heapKiB } = quick ? QUICK : FULL
  await using folder = await temporaryFolder()
  await using overHttp = await disposedTogether(manyOf(sources.http, (number) => serveOverHttp(number, SKILLS)))
  await using onDisk = await disposedTogether(
    manyOf(sources.program, (number) => keepForProgram(sources.http + number, SKILLS)),
  )
  const urls = [...overHttp.all, ...onDisk.all].map(({ id, url }) => [id, [`url: '${url}'`]] as const)
  const { file, config } = await writeSettings(folder.path, Object.fromEntries(urls), LIMITS)
  await using daemon = await startSoaked(file, join(folder.path, 'state'))
  // The first look at a source comes with the start, untroubled.
  await syncBy(config)
  const pulls = new Pulls(config)
  const held: Held[] = []
  const startMs = performance.now()
  const soFar = (): Soaked => {
    const minutes = ((performance.now() - startMs) / 60_000).toFixed(1)
    const judged = rowsFor(heapKiB).map((row) => judge(row, held))
    const table = columnsOf([HEAD, ...judged.map(({ cells }) => cells)])
    const lines = [`soak: ${pulls.summary}, in ${minutes} minutes`, ...pulls.byTrouble, table]
    return { lines, isWithin: judged.every(({ isWithin }) => isWithin) }
  }
  for (let round = 1; round <= rounds; round += 1) {
    await Promise.all([
      ...overHttp.all.map((source) => pulls.round(source, fails.http)),
      ...onDisk.all.map((source) => pulls.round(source, fails.program)),
    ])
    held.push(await daemon.held())
    if (round % TOLD_EVERY === 0 && round < rounds) console.log([`round ${round}`, ...soFar().lines].join('\n'))
  }
  return soFar()
}

/** In each round one commit of each source comes through, after so many pulls of it that failed. */
const FULL = { sources: { http: 9, program: 3 }, rounds: 84, fails: { http: 12, program: 4 }, heapKiB: 1024 }
/** In so short a run what is compiled still weighs on the heap. */
const QUICK = { sources: { http: 3, program: 1 }, rounds: 15, fails: { http: 6, program: 2 }, heapKiB: 4096 }
const SKILLS = 20
const TOLD_EVERY = 20

const DISK_MIB = 24
const GENERATIONS = 3

/** A hang takes its whole time. */
const LIMITS = [
  'limits:',
  '  fetch: { connect_timeout: 5s, idle_timeout: 5s, concurrency: 12 }',
  `  disk: { bytes: ${DISK_MIB}MiB }`,
  `retention: { generations: ${GENERATIONS}, younger_than: 1ms }`,
]

/** Counts what came of pulls. */
class Pulls {
  readonly #config: Config
  readonly #codes = new Map<string, Map<string, number>>()
  #failed = 0
  #updated = 0
  #spared = 0

  constructor(config: Config) {
    this.#config = config
  }

  /** So many pulls that fail, and then one that does not. */
  async round(source: SoakedSource, fails: number): Promise<void> {
    await source.commit()
    for (let failed = 0; failed < fails;) {
      const { outcome } = await this.#inTrouble(source)
      if (outcome === 'failed') failed += 1
      // The fault lay behind the end of the answer. There has to be something to fetch again.
      else await source.commit()
    }
    for (let tries = 1; ; tries += 1) {
      const end = await this.#pull(source)
      if (end.outcome === 'updated') return
      // Some other pull may have brought it.
      if (end.outcome === 'unchanged') await source.commit()
      if (tries === MOST_TRIES)
        throw new Error(`A pull that nothing troubles is ${end.outcome}: ${end.problem?.message}`)
    }
  }

  get summary(): string {
    return `${this.#failed} failed, ${this.#updated} came through (${this.#spared} of them in spite of a fault)`
  }

  /** What each trouble was told as. */
  get byTrouble(): readonly string[] {
    return [...this.#codes]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([trouble, codes]) => {
        return `  ${trouble}: ${[...codes].map(([code, count]) => `${count} ${code}`).join(', ')}`
      })
  }

  async #inTrouble(source: SoakedSource): Promise<SyncEnd> {
    const trouble = source.nextTrouble()
    await using _made = await trouble.make()
    const end = await this.#pull(source)
    if (end.outcome !== 'failed') this.#spared += 1
    const codes = this.#codes.get(trouble.name) ?? new Map<string, number>()
    const code = end.problem?.code ?? end.outcome
    this.#codes.set(trouble.name, codes.set(code, (codes.get(code) ?? 0) + 1))
    return end
  }

  async #pull({ id }: SoakedSource): Promise<SyncEnd> {
    const [end] = await syncBy(this.#config, [id])
    if (end === undefined) throw new Error(`The daemon does not report the result of the pull of "${id}" ended`)
    if (end.outcome === 'failed') this.#failed += 1
    if (end.outcome === 'updated') this.#updated += 1
    return end
  }
}

/** On a busy machine one may take longer than a hang is given. */
const MOST_TRIES = 20

interface Row {
  readonly what: string
  readonly of: (held: Held) => number
  readonly unit?: string
  /** What the last tenth may be over the first one, at the median. */
  readonly growth?: number
  /** What it may be at any time. */
  readonly most?: number
}

const rowsFor = (growth: number): readonly Row[] => [
  { what: 'heap after a collection', of: ({ heapKiB }) => heapKiB, unit: 'KiB', growth },
  { what: 'resident memory', of: ({ residentKiB }) => residentKiB / 1024, unit: 'MiB' },
  { what: 'open descriptors', of: ({ descriptors }) => descriptors, growth: 0 },
  { what: 'threads', of: ({ threads }) => threads, growth: 0 },
  { what: 'child processes', of: ({ children }) => children, most: 0 },
  { what: 'scratch folders', of: ({ scratch }) => scratch, most: 0 },
  { what: 'generations', of: ({ generations }) => generations, most: GENERATIONS },
  { what: 'state folder', of: ({ diskKiB }) => diskKiB / 1024, unit: 'MiB', most: DISK_MIB },
]

const HEAD = ['held at rest', 'first tenth', 'last tenth', 'most', 'bound', '']

/** The first rounds do not count: they load and compile what is used from then on. */
function judge({ what, of, unit = '', growth, most }: Row, held: readonly Held[]) {
  const tenth = Math.ceil(held.length / 10)
  const values = held.slice(tenth).map(of)
  const first = median(values.slice(0, tenth))
  const last = median(values.slice(-tenth))
  const highest = Math.max(...values)
  const bound = growth === undefined ? most : first + growth
  const isWithin = bound === undefined || (growth === undefined ? highest : last) <= bound
  const shown = (value: number): string => `${value.toFixed(unit === '' ? 0 : 1)} ${unit}`.trim()
  const verdict = bound === undefined ? '' : isWithin ? 'kept' : 'BROKEN'
  const told = bound === undefined ? '-' : growth === undefined ? `<= ${shown(bound)}` : `+ ${shown(growth)}`
  return { cells: [what, shown(first), shown(last), shown(highest), told, verdict], isWithin }
}

function manyOf<Each>(count: number, make: (number: number) => Promise<Each>): Promise<Each>[] {
  return Array.from({ length: count }, (_, index) => make(index + 1))
}

async function disposedTogether<Each extends AsyncDisposable>(
  making: readonly Promise<Each>[],
): Promise<{ readonly all: readonly Each[] } & AsyncDisposable> {
  const all = await Promise.all(making)
  return {
    all,
    [Symbol.asyncDispose]: async () => void (await Promise.all(all.map((one) => one[Symbol.asyncDispose]()))),
  }
}

if (isStarted(import.meta.url)) {
  const { lines, isWithin } = await soak(extentOf(process.argv))
  console.log(lines.join('\n'))
  if (!isWithin) process.exitCode = 1
}
