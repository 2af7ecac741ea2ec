import { readFile, readdir } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../../src/base/async/clock.ts'
import { createLog } from '../../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../../src/daemon/runtime/log/redactor.ts'
import type { SearchResult } from '../../../../../src/serve/mcp/core/finder.ts'
import type {
  SearchService as BuiltSearchService,
  SearchTimes,
} from '../../../../../src/serve/mcp/tools/search/search-service.ts'
import { Registry } from '../../../../../src/serve/registry.ts'
import { Store } from '../../../../../src/sync/store/store.ts'
import { catalogWith, plainFinder, saying } from '../../../../support/content/searchable-skills.ts'
import { damageObject } from '../../../../support/damage.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../../support/temporary.ts'
import { keepSamples, sourceId, type Sample } from '../../../../sync/store/samples.ts'

// Its thread is a file that only the build has.
const BUILT = new URL('../../../../../dist/serve/mcp/tools/search/search-service.js', import.meta.url).href
const { SearchService }: { readonly SearchService: typeof BuiltSearchService } = await import(/* @vite-ignore */ BUILT)

/** However busy the machine is, an index of a few skills is made within this. */
const PATIENT: SearchTimes = { keptMs: 30 * 60_000, waitMs: 300_000 }

const PDF = saying('pdf', { description: 'Fill in forms' }, '# Annotations\n')
const CHARTS = saying('charts', { description: 'Draw figures' })
const MAPS = saying('maps', { description: 'Draw countries' })

test('what is found is in the catalog that is served, headings of the store included', async () => {
  await using desk = await Desk.open(PDF, CHARTS)

  expect(idsIn(await desk.find('annotation'))).toEqual(['pdf'])
  expect(idsIn(await desk.find('drawing'))).toEqual(['charts'])
  expect(await desk.find('figures')).toMatchObject({ kind: 'found', catalog: desk.registry.catalog })
})

test('a new generation is searched as it is: what came, what went, what changed', async () => {
  await using desk = await Desk.open(PDF, CHARTS)
  const before = idsIn(await desk.find('draw'))

  desk.serve(saying('charts', { description: 'Paint figures' }), MAPS)

  expect(before).toEqual(['charts'])
  expect(idsIn(await desk.find('draw'))).toEqual(['maps'])
  expect(idsIn(await desk.find('paint'))).toEqual(['charts'])
  expect(idsIn(await desk.find('forms'))).toEqual([])
})

test('a skill that changed in nothing but its headings is found by those', async () => {
  await using desk = await Desk.open(PDF)
  const before = idsIn(await desk.find('stamps'))
  const stamped = saying('pdf', { description: 'Fill in forms' }, '# Stamps\n')
  await keepSamples(desk.store, stamped)

  desk.serve(stamped)

  expect(before).toEqual([])
  expect(idsIn(await desk.find('stamps'))).toEqual(['pdf'])
  expect(idsIn(await desk.find('annotations'))).toEqual([])
})

test('what another server says of a skill anew is searched, though its files are what they were', async () => {
  await using desk = await Desk.open(told('ink'))
  const before = idsIn(await desk.find('paper'))

  desk.serve(told('paper'))

  expect(before).toEqual([])
  expect(idsIn(await desk.find('paper'))).toEqual(['pdf'])
})

test('generations that follow each other while an index is made are searched too, the last of them', async () => {
  await using desk = await Desk.open(PDF)

  const answers = [desk.find('figures')]
  for (let round = 0; round < 20; round += 1) {
    desk.serve(PDF, ...(round % 2 === 0 ? [CHARTS] : [MAPS]))
    answers.push(desk.find('figures draw'))
  }
  await Promise.all(answers)

  expect(idsIn(await desk.find('draw'))).toEqual(['maps'])
})

test('each registry is searched for itself', async () => {
  await using desk = await Desk.open(PDF, CHARTS)
  const pack = new Registry()
  pack.publish(catalogWith({ team: [MAPS] }))

  const [whole, packed] = await Promise.all([desk.find('draw'), desk.find('draw', pack)])

  expect([idsIn(whole), idsIn(packed)]).toEqual([['charts'], ['maps']])
  expect(idsIn(await desk.find('forms', pack))).toEqual([])
})

test('a skill whose SKILL.md is damaged or gone is found by what its frontmatter said', async () => {
  await using desk = await Desk.open(PDF)
  const [document] = PDF.stored.files
  damageObject(desk.store, document!.sha256)

  expect(idsIn(await desk.find('forms'))).toEqual(['pdf'])
  expect(idsIn(await desk.find('lies'))).toEqual([])
})

test('where nobody has written a state folder yet, what is served is searched without headings', async () => {
  await using desk = await Desk.open(PDF)
  await using folder = await temporaryFolder()
  await using elsewhere = desk.searching({ state: `${folder.path}/none` })

  expect(idsIn(await elsewhere.find(desk.registry, { text: 'forms', limit: 5 }))).toEqual(['pdf'])
  expect(idsIn(await elsewhere.find(desk.registry, { text: 'annotations', limit: 5 }))).toEqual([])
})

test('a caller waits no longer for an index than was agreed, and the next one has it', async () => {
  await using desk = await Desk.open(PDF)
  const times = { ...PATIENT, waitMs: 0 }
  await using searching = desk.searching({ times })

  const first = await searching.find(desk.registry, { text: 'forms', limit: 5 })
  times.waitMs = PATIENT.waitMs
  const found = await searching.find(desk.registry, { text: 'forms', limit: 5 })

  expect(first).toEqual({ kind: 'late' })
  expect(idsIn(found)).toEqual(['pdf'])
})

test('what nobody searches is let go, listens to nothing any more, and is made anew for who asks', async () => {
  await using desk = await Desk.open(PDF)
  const clock = new FakeClock()
  await using searching = desk.searching({ clock, times: { ...PATIENT, keptMs: 20 } })
  const listened = countWatchers(desk.registry)
  await searching.find(desk.registry, { text: 'forms', limit: 5 })
  const during = listened.count

  await clock.advance(1_000)
  await listened.left

  expect([during, listened.count]).toEqual([1, 0])
  expect(idsIn(await searching.find(desk.registry, { text: 'forms', limit: 5 }))).toEqual(['pdf'])
})

test('one holder that searches seventy times at once keeps none of the searches of another from being answered', async () => {
  await using desk = await Desk.open(PDF)

  const hostile = Array.from({ length: 70 }, () => desk.find('form', desk.registry, 'mallory'))
  const honest = await Promise.all(Array.from({ length: 8 }, () => desk.find('form', desk.registry, 'ada')))
  const kinds = (await Promise.all(hostile)).map(({ kind }) => kind)

  expect(honest.map(({ kind }) => kind)).toEqual(Array.from({ length: 8 }, () => 'found'))
  expect(kinds.filter((kind) => kind === 'found')).toHaveLength(56)
  expect(kinds.filter((kind) => kind === 'crowded')).toHaveLength(14)
})

test('more searches at once than there is room for are refused, and the rest answered', async () => {
  await using desk = await Desk.open(PDF)

  const found = await Promise.all(Array.from({ length: 200 }, () => desk.find('forms')))

  const kinds = found.map(({ kind }) => kind)
  expect(kinds.slice(0, 64)).toEqual(Array.from({ length: 64 }, () => 'found'))
  expect(kinds.slice(64)).toEqual(Array.from({ length: 136 }, () => 'crowded'))
  expect((await desk.find('forms')).kind).toBe('found')
})

test('once ended it finds nothing, and whoever waits is told', async () => {
  await using desk = await Desk.open(PDF)
  const searching = desk.searching({})
  const waiting = searching.find(desk.registry, { text: 'forms', limit: 5 })

  await searching[Symbol.asyncDispose]()

  expect(await waiting).toEqual({ kind: 'failed' })
  expect(await searching.find(desk.registry, { text: 'forms', limit: 5 })).toEqual({ kind: 'failed' })
})

test.runIf(process.platform === 'linux')('the thread that searches has the priority of all others', async () => {
  await using desk = await Desk.open(PDF)
  const threads = (await readdir('/proc/self/task')).length

  await desk.find('forms')

  expect((await readdir('/proc/self/task')).length).toBeGreaterThan(threads)
  expect(new Set(await nicenessOfThreads())).toEqual(new Set([getPriority()]))
})

test('a search of many words, in steps, finds what one at one go does', async () => {
  const samples = Array.from({ length: 30 }, (_, index) =>
    saying(`skill-${index}`, { description: `word${index} word${index + 1} word${index + 2} forms` }),
  )
  await using desk = await Desk.open(...samples)
  const text = Array.from({ length: 20 }, (_, index) => `word${index + 3}`).join(' ')

  const found = await desk.find(text)

  const plain = await plainFinder(...samples).find(desk.registry, { text, limit: 5 })
  expect(idsIn(found)).toHaveLength(5)
  expect(idsIn(found)).toEqual(idsIn(plain))
})

test('searches that are in the middle when the catalog changes are answered from one catalog each, the last from the new one', async () => {
  await using desk = await Desk.open(PDF)
  const text = ['forms', ...Array.from({ length: 20 }, (_, index) => `word${index}`)].join(' ')
  await desk.find('forms')
  const before = desk.registry.catalog

  const searches = Array.from({ length: 20 }, () => desk.find(text))
  await searches[0]
  desk.serve(saying('papers', { description: 'Fill in forms' }))
  const found = await Promise.all(searches)

  const isBefore = found.map((one) => one.kind === 'found' && one.catalog === before)
  expect([isBefore[0], isBefore.at(-1)]).toEqual([true, false])
  expect(found.map(idsIn)).toEqual(isBefore.map((is) => [is ? 'pdf' : 'papers']))
})

/** Of this process. */
async function nicenessOfThreads(): Promise<number[]> {
  const threads = await readdir('/proc/self/task')
  const lines = threads.map(async (thread) => readFile(`/proc/self/task/${thread}/stat`, 'utf8').catch(() => ''))
  // The name of a thread, in brackets, may hold anything.
  return (await Promise.all(lines)).map((line) => Number(line.replace(/^.*\)/s, '').split(' ')[17]))
}

/** A skill of another server, which gives it this tag. */
function told(tag: string): Sample {
  const upstream = { source: sourceId('hub'), uri: 'skill://hub/pdf/SKILL.md' }
  return {
    ...PDF,
    skill: { ...PDF.skill, upstream, frontmatter: { name: 'pdf', description: 'Fill in forms', tags: [tag] } },
  }
}

/** A store with skills, served, and a search over them. */
class Desk implements AsyncDisposable {
  readonly registry = new Registry()
  readonly store: Store
  readonly #folder: Awaited<ReturnType<typeof temporaryFolder>>
  readonly #searching: InstanceType<typeof SearchService>

  private constructor(store: Store, folder: Awaited<ReturnType<typeof temporaryFolder>>) {
    this.store = store
    this.#folder = folder
    this.#searching = this.searching({})
  }

  static async open(...samples: readonly Sample[]): Promise<Desk> {
    const folder = await temporaryFolder()
    const store = await Store.open(`${folder.path}/state`)
    await keepSamples(store, ...samples)
    const desk = new Desk(store, folder)
    desk.serve(...samples)
    return desk
  }

  serve(...samples: readonly Sample[]): void {
    this.registry.publish(catalogWith({ team: samples }))
  }

  searching(other: Partial<ConstructorParameters<typeof SearchService>[0]>): InstanceType<typeof SearchService> {
    const redactor = new Redactor()
    const log = createLog({
      level: 'error',
      stream: { write: () => true },
      format: 'json',
      journal: false,
      clock: systemClock,
      redactor,
    })
    return new SearchService({ state: `${this.#folder.path}/state`, log, clock: systemClock, times: PATIENT, ...other })
  }

  async find(text: string, registry = this.registry, holder?: string): Promise<SearchResult> {
    return this.#searching.find(registry, { text, limit: 5 }, holder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#searching[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

/** How many watch the registry from now on, and when the first of them has left. */
function countWatchers(registry: Registry): { count: number; readonly left: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const counted = { count: 0, left: promise }
  const watch = registry.watch.bind(registry)
  registry.watch = (watcher) => {
    counted.count += 1
    const watching = watch(watcher)
    return {
      [Symbol.dispose]() {
        counted.count -= 1
        watching[Symbol.dispose]()
        resolve()
      },
    }
  }
  return counted
}

function idsIn(found: SearchResult): string[] {
  if (found.kind !== 'found') throw new Error(`Nothing was searched: ${found.kind}`)
  return found.skills.map(({ id }) => id)
}
