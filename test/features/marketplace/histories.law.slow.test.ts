import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Marketplaces } from '../../../src/features/marketplace/marketplaces.ts'
import type { MarketplaceScope, ServedMarketplace } from '../../../src/features/marketplace/marketplaces.ts'
import type { Pack } from '../../../src/sync/catalog/pack.ts'
import { catalogOfWorld, documentOf, readWorld } from '../../support/content/contract-world.ts'
import type { SkillWorld, World } from '../../support/content/contract-world.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { blobId, fetched, packedObjects, reachableIn } from './served-objects.ts'

test('whatever a hub has been through, git gets all that is served now and no object of anything else', async () => {
  await using folder = await temporaryFolder()

  await fc.assert(
    fc.asyncProperty(HISTORIES, async (history) => {
      await using hub = new ModelHub(folder.path)
      const tips = new Map<string, string>()
      for (const state of history) {
        for (const pack of [undefined, ...IDS.filter((id) => state.packs[id] !== undefined)]) {
          const served = await hub.serve(state, pack)
          const { all } = reachableIn(served.revision)

          expect(skillFilesIn(served)).toEqual(blobsOf(state, pack))
          expect(new Set(served.revision.objects.keys())).toEqual(all)
          refusesAllBut(served, new Set([...EVERY_BLOB, ...tips.values()]))
        }
        // A commit that was fetched is known from then on, and must not open anything later for that.
        const served = await hub.serve(state)
        await using _ = await served.open()
        const { tip } = served.revision
        // What was there before has the commit that it had.
        expect(tip).toBe(tips.get(contentOf(state)) ?? tip)
        tips.set(contentOf(state), tip)
      }
    }),
    { numRuns: lawRuns(1_000, 1 / 10) },
  )
})

test('a client at any earlier commit is sent all that it lacks, in one whole pack, and nothing that is not served', async () => {
  await using folder = await temporaryFolder()

  await fc.assert(
    fc.asyncProperty(HISTORIES, fc.nat(), async (history, from) => {
      await using hub = new ModelHub(folder.path)
      const clients: { readonly tip: string; readonly objects: ReadonlySet<string> }[] = []
      for (const state of history) {
        const served = await hub.serve(state)
        const { tip } = served.revision
        clients.push({ tip, objects: await packedObjects(served, fetched(served, 2, tip)) })
      }
      const served = await hub.serve(history.at(-1)!)
      const { all } = reachableIn(served.revision)
      const client = clients[from % clients.length]!

      for (const version of [0, 2] as const) {
        const sent = await packedObjects(served, fetched(served, version, served.revision.tip, [client.tip]))

        expect([...sent].filter((id) => !all.has(id))).toEqual([])
        expect([...all].filter((id) => !sent.has(id) && !client.objects.has(id))).toEqual([])
      }
      expect(clients.at(-1)!.objects).toEqual(all)
    }),
    { numRuns: lawRuns(500, 1 / 10) },
  )
})

test('two hubs that came to the same skills and packs by other ways have the same commit', async () => {
  await using folder = await temporaryFolder()

  await fc.assert(
    fc.asyncProperty(HISTORIES, HISTORIES, fc.boolean(), async (history, others, isReversed) => {
      await using one = new ModelHub(folder.path)
      await using other = new ModelHub(folder.path, isReversed)
      const last = history.at(-1)!
      for (const state of history) await one.serve(state)
      for (const state of others) await other.serve(state)

      const [here, there] = [await one.serve(last), await other.serve(last)]

      expect(there.revision.tip).toBe(here.revision.tip)
    }),
    { numRuns: lawRuns(1_000, 1 / 20) },
  )
})

test('a token that names a pack before it exists opens nothing of it for another token', async () => {
  await using folder = await temporaryFolder()
  await using hub = new ModelHub(folder.path)
  const served = { mark: 0, standing: 'served', isDisabled: false } as const
  const skills = { 'one/a': served, 'one/b': { ...served, mark: 1 } }
  const before: HubState = { skills, packs: { alpha: ['one/a'] }, retired: [] }
  const after: HubState = { ...before, packs: { ...before.packs, beta: ['one/b'] } }

  await hub.serve(before, undefined, ['alpha', 'beta'])
  const narrow = await hub.serve(after, undefined, ['alpha'])
  const wide = await hub.serve(after, undefined, ['alpha', 'beta'])

  expect(skillFilesIn(narrow)).toEqual(blobsOf(after, 'alpha'))
  expect(skillFilesIn(wide)).toEqual(new Set([...blobsOf(after, 'alpha'), ...blobsOf(after, 'beta')]))
})

function skillFilesIn({ revision }: ServedMarketplace): ReadonlySet<string> {
  const { files } = reachableIn(revision)
  return new Set([...files].flatMap(([path, file]) => (IS_OF_SKILL.test(path) ? [file] : [])))
}

const IS_OF_SKILL = /^plugins\/[^/]+\/skills\//

const SOURCES = ['one', 'two']
/** One skill within another, and names that both sources have. */
const PATHS = ['a', 'b', 'c', 'c/inner', 'deep/a']
const PLACES = SOURCES.flatMap((source) => PATHS.map((path) => `${source}/${path}`))
const IDS = ['alpha', 'beta']
const MARKS = [0, 1, 2]

/** A skill of the model. Skills of an equal name and mark have equal files. */
interface SkillState {
  readonly mark: number
  readonly standing: NonNullable<SkillWorld['standing']>
  readonly isDisabled: boolean
}

/** All that the marketplace of a hub follows from. */
interface HubState {
  readonly skills: Readonly<Record<string, SkillState>>
  /** The places of the skills that each pack names. */
  readonly packs: Readonly<Record<string, readonly string[]>>
  readonly retired: readonly string[]
}

const NOTHING: HubState = { skills: {}, packs: {}, retired: [] }

type Step =
  | { readonly kind: 'write'; readonly place: string; readonly mark: number }
  | { readonly kind: 'remove'; readonly place: string }
  | { readonly kind: 'stand'; readonly place: string; readonly standing: SkillState['standing'] }
  | { readonly kind: 'disable'; readonly place: string; readonly isDisabled: boolean }
  | { readonly kind: 'pack'; readonly id: string; readonly places: readonly string[] }
  | { readonly kind: 'unpack'; readonly id: string; readonly isRetired: boolean }
  | { readonly kind: 'roll-back'; readonly to: number }

const place = fc.constantFrom(...PLACES)
const id = fc.constantFrom(...IDS)
const standing = fc.constantFrom('served', 'served', 'tools', 'unlisted', 'withheld')
const WRITE: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('write' as const),
  place,
  mark: fc.constantFrom(...MARKS),
})
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: WRITE },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), place }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stand' as const), place, standing }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('disable' as const), place, isDisabled: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('pack' as const), id, places: fc.subarray(PLACES, { minLength: 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unpack' as const), id, isRetired: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('roll-back' as const), to: fc.nat(20) }) },
)

/** The states of a hub, one after another: some skills, and then anything. */
const HISTORIES: fc.Arbitrary<readonly HubState[]> = fc
  .tuple(fc.array(WRITE, { minLength: 1, maxLength: 4 }), fc.array(STEP, { minLength: 1, maxLength: 8 }))
  .map(([writes, steps]) => {
    const states = [NOTHING]
    for (const step of writes.concat(steps)) states.push(after(states, step))
    return states
  })

/** The state after a step on the last of these. A skill that is not there is not changed. */
function after(past: readonly HubState[], step: Step): HubState {
  const state = past.at(-1)!
  const { skills, packs, retired } = state
  switch (step.kind) {
    case 'write': {
      const before = skills[step.place] ?? { standing: 'served' as const, isDisabled: false }
      return { ...state, skills: { ...skills, [step.place]: { ...before, mark: step.mark } } }
    }
    case 'remove':
      return { ...state, skills: without(skills, step.place) }
    case 'stand':
    case 'disable': {
      const before = skills[step.place]
      if (before === undefined) return state
      const change = step.kind === 'stand' ? { standing: step.standing } : { isDisabled: step.isDisabled }
      return { ...state, skills: { ...skills, [step.place]: { ...before, ...change } } }
    }
    case 'pack':
      return {
        ...state,
        packs: { ...packs, [step.id]: step.places },
        retired: retired.filter((one) => one !== step.id),
      }
    case 'unpack': {
      const others = retired.filter((one) => one !== step.id)
      return { ...state, packs: without(packs, step.id), retired: step.isRetired ? [...others, step.id] : others }
    }
    case 'roll-back':
      return { ...state, skills: past[step.to % past.length]!.skills }
  }
}

function without<Value>(record: Readonly<Record<string, Value>>, key: string): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key))
}

/** The text of a state, the same for states of equal content. */
function contentOf({ skills, packs, retired }: HubState): string {
  const present = Object.entries(skills).filter(([, skill]) => isPresent(skill))
  const seen = present.map(([at, { mark, standing }]) => JSON.stringify([at, mark, standing, filesAt(at, skills)]))
  return JSON.stringify([seen, Object.entries(packs), retired].map((of) => of.map(String).toSorted()))
}

/** The files of the skill at a place by their paths, those of a skill within it included. */
function filesAt(place: string, skills: HubState['skills']): Readonly<Record<string, string>> {
  const { mark = 0 } = skills[place] ?? {}
  const own = { 'more.md': `more of ${mark}\n` }
  const inner = skills[`${place}/inner`]
  return inner === undefined ? own : { ...own, 'inner/SKILL.md': documentOf(skillAt(`${place}/inner`, skills)) }
}

function skillAt(place: string, skills: HubState['skills']): SkillWorld {
  const { mark = 0, standing = 'served' } = skills[place] ?? {}
  const path = place.slice(place.indexOf('/') + 1)
  const name = path.slice(path.lastIndexOf('/') + 1)
  return { path, id: name, body: `# ${name} ${mark}\n`, standing, files: filesAt(place, skills) }
}

/** The ids of the files that a caller may have: of all, or of one pack. */
function blobsOf({ skills, packs }: HubState, pack: string | undefined): ReadonlySet<string> {
  const named = pack === undefined ? undefined : (packs[pack] ?? [])
  const isIn = (at: string): boolean => named?.some((one) => at === one || at.startsWith(`${one}/`)) !== false
  return new Set(
    Object.entries(skills).flatMap(([at, skill]) => {
      // A pack that names a skill has what is within it too, but only where there is such a skill around it.
      const around = at.endsWith('/inner') && skills[at.slice(0, -'/inner'.length)] !== undefined
      const isNamed = isIn(at) && (around || named?.includes(at) !== false)
      return isNamed && isPresent(skill) ? idsAt(at, skills) : []
    }),
  )
}

function isPresent({ standing, isDisabled }: SkillState): boolean {
  return !isDisabled && (standing === 'served' || standing === 'tools')
}

function idsAt(at: string, skills: HubState['skills']): readonly string[] {
  return [documentOf(skillAt(at, skills)), ...Object.values(filesAt(at, skills))].map(blobId)
}

/** The ids of all files that there can be. */
const EVERY_BLOB: ReadonlySet<string> = new Set(
  PLACES.flatMap((at) => MARKS.flatMap((mark) => idsAt(at, { [at]: { mark, standing: 'served', isDisabled: false } }))),
)

/** No id but the tip opens anything, in any version: not even that of a file that is served. */
function refusesAllBut(served: ServedMarketplace, ids: ReadonlySet<string>): void {
  for (const version of [0, 2] as const) {
    for (const want of ids) {
      if (want === served.revision.tip) continue
      const { head, send } = fetched(served, version, want)
      expect([want, send, String(head)]).toEqual([want, undefined, expect.stringContaining(`not our ref ${want}`)])
    }
  }
}

/** The marketplace of a hub whose states are published one after another. */
class ModelHub implements AsyncDisposable {
  readonly #marketplaces = new Marketplaces()
  readonly #scratch: string
  readonly #isReversed: boolean

  /** `isReversed`: its sources, skills and packs are configured in the other order. */
  constructor(scratch: string, isReversed = false) {
    this.#scratch = scratch
    this.#isReversed = isReversed
  }

  /** Publishes a state. Returns its marketplace: that of all, of one pack, or of a token with these packs. */
  async serve(state: HubState, pack?: string, token?: readonly string[]): Promise<ServedMarketplace> {
    const catalog = catalogOfWorld(this.#world(state))
    const packs = this.#ordered(Object.entries(state.packs)).map(([of, places]) => packOf(of, places))
    const config = { ...CONFIG, retired: this.#ordered(state.retired) }
    const parts = { catalogIn: () => catalog, packs: () => packs, config, read: readWorld, now: () => 0 }
    this.#marketplaces.use({ ...parts, openScratch: async () => this.#open(), onLeftOut: () => {} })
    const ids = pack === undefined ? token : [pack]
    const seen = ids && new Set(ids)
    const scope: MarketplaceScope = { pack, packs: seen, ring: undefined }
    return this.#marketplaces.serve(scope)
  }

  #world({ skills }: HubState): World {
    const places = this.#ordered(Object.keys(skills).toSorted())
    const ofSource = (source: string) => places.filter((at) => at.startsWith(`${source}/`))
    const entries = this.#ordered(SOURCES).map((source) => {
      const worlds = ofSource(source).map((at) => skillAt(at, skills))
      const disabled = ofSource(source).filter((at) => skills[at]?.isDisabled === true)
      return [source, { skills: worlds, disabled: disabled.map((at) => at.slice(source.length + 1)) }] as const
    })
    return Object.fromEntries(entries)
  }

  #ordered<Item>(items: readonly Item[]): readonly Item[] {
    return this.#isReversed ? items.toReversed() : items
  }

  async #open() {
    const path = join(this.#scratch, 'pack')
    const file = await open(path, 'wx+')
    await rm(path)
    return file
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#marketplaces[Symbol.asyncDispose]()
  }
}

const CONFIG = { name: 'law', owner: 'Law', description: 'Skills of the law', plugin: 'skills', renames: {} }

function packOf(id: string, places: readonly string[]): Pack {
  const include = places.map((at) => ({ source: at.slice(0, at.indexOf('/')), path: at.slice(at.indexOf('/') + 1) }))
  return { id, description: undefined, include, exclude: [] }
}
