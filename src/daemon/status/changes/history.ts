import { shellWord } from '../../../base/text/shell-word.ts'
import { changeGroups, docsChange, skillChanges, skillStatesOf } from '../../../sync/model/changes/skill-changes.ts'
import type { ChangeGroup, SkillChange, SkillStates } from '../../../sync/model/changes/skill-changes.ts'
import type { GenerationCause, Generation } from '../../../sync/model/generation.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { NO_WAYS } from '../../../sync/model/verdict/verdict.ts'
import type { SkillProblem, Until, Verdict } from '../../../sync/model/verdict/verdict.ts'
import { Store } from '../../../sync/store/store.ts'

/** One generation in the store, as plain data. */
export interface StoredGeneration {
  readonly generation: number
  readonly createdAt: string | undefined
  readonly isServed: boolean
  readonly cause: GenerationCause | undefined
  /** The damage for which it cannot be served completely. */
  readonly damage: readonly string[]
  /** The changes since the previous generation. `undefined` if that one is absent or incomplete. */
  readonly moves: readonly SourceMove[] | undefined
}

/** The change of one source from one generation to the next. */
export interface SourceMove {
  readonly source: SourceId
  /** `undefined` if the source had no content before. */
  readonly from: ObjectId | undefined
  /** `undefined` if the source has no content any more. */
  readonly to: ObjectId | undefined
  readonly skills: readonly ChangeGroup[]
  /** The change of the docs, if any. */
  readonly docs?: ReturnType<typeof docsChange>
}

/** The latest generations of the store, at most so many, newest first. */
export async function historyOf(store: Store, most: number): Promise<StoredGeneration[]> {
  const contents = new Contents(store)
  const served = (await store.generations.current())?.number
  const numbers = await store.generations.numbers()
  const moments: StoredGeneration[] = []
  for (const [index, number] of numbers.slice(0, most).entries()) {
    const generation = await store.generations.read(number)
    const before = number === 1 ? NOTHING : await readWhole(store, numbers[index + 1])
    moments.push({
      generation: number,
      createdAt: generation?.createdAt,
      isServed: number === served,
      cause: generation?.cause,
      damage: generation === undefined ? ['it is damaged or missing'] : await damageOf(generation, contents),
      moves: generation && before && (await movesBetween(before, generation, contents)),
    })
  }
  return moments
}

/** Before the first generation there is an empty one. */
const NOTHING: Pick<Generation, 'sources'> = { sources: [] }

async function readWhole(store: Store, number: number | undefined): Promise<Generation | undefined> {
  return number === undefined ? undefined : store.generations.read(number)
}

async function damageOf({ sources }: Generation, contents: Contents): Promise<string[]> {
  const damage: string[] = []
  for (const { source, snapshot } of sources) {
    if ((await contents.of(snapshot)) === undefined) damage.push(`the snapshot ${snapshot} of "${source}" is damaged`)
  }
  return damage
}

/** `undefined` if a required snapshot cannot be read. */
async function movesBetween(
  before: Pick<Generation, 'sources'>,
  after: Generation,
  contents: Contents,
): Promise<SourceMove[] | undefined> {
  const moves: SourceMove[] = []
  for (const { source, from, to } of await sidesOf(before, after, contents)) {
    if (from === undefined || to === undefined) return undefined
    const skills = changeGroups(skillChanges(from.skills, to.skills))
    const docs = docsChange(from.docs, to.docs)
    moves.push({ source, from: from.commit, to: to.commit, skills, ...(docs !== undefined && { docs }) })
  }
  return moves
}

/** The sources that differ, with what both generations have of each; `undefined` where that cannot be read. */
async function sidesOf(
  before: Pick<Generation, 'sources'>,
  after: Generation,
  contents: Contents,
): Promise<readonly Sides[]> {
  const ids = new Set([...after.sources, ...before.sources].map(({ source }) => source))
  const sides: Sides[] = []
  for (const source of ids) {
    const [old, now] = [before, after].map(({ sources }) => sources.find((held) => held.source === source)?.snapshot)
    if (old === now) continue
    sides.push({ source, from: await contents.orNothing(old), to: await contents.orNothing(now) })
  }
  return sides
}

interface Sides {
  readonly source: SourceId
  readonly from: Content | undefined
  readonly to: Content | undefined
}

/** The parts of a snapshot that a history shows. */
interface Content {
  readonly commit: ObjectId | undefined
  readonly skills: SkillStates
  readonly docs: string | undefined
}

/** Reads each snapshot once, however many generations refer to it. */
class Contents {
  readonly #store: Store
  readonly #read = new Map<string, Content | undefined>()

  constructor(store: Store) {
    this.#store = store
  }

  /** `undefined` if it is damaged or missing. */
  async of(digest: string): Promise<Content | undefined> {
    if (this.#read.has(digest)) return this.#read.get(digest)
    const snapshot = await this.#store.snapshots.readWhole(digest)
    const content = snapshot && {
      commit: snapshot.revision.commit,
      skills: skillStatesOf(snapshot),
      docs: snapshot.docs?.digest,
    }
    this.#read.set(digest, content)
    return content
  }

  async orNothing(digest: string | undefined): Promise<Content | undefined> {
    return digest === undefined ? { commit: undefined, skills: new Map(), docs: undefined } : this.of(digest)
  }
}

/** A skill that was served once, with the verdict about it. */
export interface LeftSkill {
  readonly source: SourceId
  readonly path: string
  readonly name: string
  readonly verdict: Verdict & { readonly reasons: readonly [SkillProblem]; readonly until: Until }
}

/** The skill that a text named when it was served last, of all generations in this state folder. */
export async function leftSkillIn(state: string, asked: string): Promise<LeftSkill | undefined> {
  using store = await Store.openExisting(state)
  return store && (await leftSkill(store, asked))
}

async function leftSkill(store: Store, asked: string): Promise<LeftSkill | undefined> {
  const contents = new Contents(store)
  const numbers = await store.generations.numbers()
  for (const [index, number] of numbers.entries()) {
    const [after, before] = [await store.generations.read(number), await readWhole(store, numbers[index + 1])]
    if (after === undefined || before === undefined) continue
    for (const { source, from, to } of await sidesOf(before, after, contents)) {
      if (from === undefined || to === undefined) continue
      const left = skillChanges(from.skills, to.skills).find(
        (change) => hasLeft(change) && isNamed(change, source, asked),
      )
      if (left?.from === undefined) continue
      const next = { number, createdAt: after.createdAt, commit: to.commit }
      return leftAs(source, { ...left, from: left.from }, { until: before.number, next })
    }
  }
  return undefined
}

function hasLeft({ change }: SkillChange): boolean {
  return change === 'removed' || change === 'renamed' || change === 'withheld'
}

function isNamed({ from }: SkillChange, source: SourceId, asked: string): boolean {
  if (from === undefined) return false
  const names = [from.path, from.name].flatMap((name) => [
    name,
    `${source}/${name}`,
    `skill://${source}/${name}/SKILL.md`,
  ])
  return names.includes(asked)
}

interface Leaving {
  readonly until: number
  readonly next: Pick<Generation, 'number' | 'createdAt'> & Pick<Content, 'commit'>
}

function leftAs(
  source: SourceId,
  { change, from, to, reason }: SkillChange & Pick<Required<SkillChange>, 'from'>,
  { until: generation, next: { number, createdAt, commit } }: Leaving,
): LeftSkill {
  const { path, name } = from
  const successor = to && (to.path === path ? to.name : to.path)
  const became = change === 'renamed' ? `renamed it to ${successor}` : change === 'withheld' ? 'broke it' : 'removed it'
  const by = commit === undefined ? 'the source is gone' : `commit ${commit.slice(0, 12)} ${became}`
  const why = change !== 'withheld' || reason === undefined ? '' : `: ${reason.message}`
  const message = `served until generation ${generation}; in generation ${number} of ${createdAt} ${by}${why}`
  const place = `${source}/${path}`
  const fix = `skillsyncd ${change === 'renamed' ? `why ${shellWord(`${source}/${successor}`)}` : `diff ${generation} ${number}`}`
  const code = change === 'renamed' ? 'skill-renamed' : (reason?.rule ?? 'skill-removed')
  const found = { ...(commit !== undefined && { commit }), ...(successor !== undefined && { successor }) }
  const until = { generation, next: number, at: createdAt, ...found }
  const verdict = { state: 'withheld', ways: NO_WAYS, reasons: [{ code, place, message, fix }], until } as const
  return { source, path, name, verdict }
}
