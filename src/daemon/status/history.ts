import { docsChange, skillChanges, skillsToLock } from '../../sync/model/decisions/lock.ts'
import type { LockedSkill, SkillChange } from '../../sync/model/decisions/lock.ts'
import type { GenerationCause, Generation } from '../../sync/model/generation.ts'
import type { ObjectId } from '../../sync/model/revision.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Store } from '../../sync/store/store.ts'

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
  readonly skills: { readonly added: number; readonly changed: number; readonly removed: number }
  /** The change of the docs, if any. */
  readonly docs?: SkillChange['change']
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
  const ids = new Set([...after.sources, ...before.sources].map(({ source }) => source))
  const moves: SourceMove[] = []
  for (const source of ids) {
    const [old, now] = [before, after].map(({ sources }) => sources.find((held) => held.source === source)?.snapshot)
    if (old === now) continue
    const [from, to] = [await contents.orNothing(old), await contents.orNothing(now)]
    if (from === undefined || to === undefined) return undefined
    const changes = skillChanges(from.skills, to.skills)
    const count = (kind: 'added' | 'changed' | 'removed'): number =>
      changes.filter(({ change }) => change === kind).length
    const skills = { added: count('added'), changed: count('changed'), removed: count('removed') }
    const docs = docsChange(from.docs, to.docs)
    moves.push({ source, from: from.commit, to: to.commit, skills, ...(docs !== undefined && { docs }) })
  }
  return moves
}

/** The parts of a snapshot that a history shows. */
interface Content {
  readonly commit: ObjectId | undefined
  readonly skills: ReadonlyMap<string, LockedSkill>
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
      skills: skillsToLock(snapshot),
      docs: snapshot.docs?.digest,
    }
    this.#read.set(digest, content)
    return content
  }

  async orNothing(digest: string | undefined): Promise<Content | undefined> {
    return digest === undefined ? { commit: undefined, skills: new Map(), docs: undefined } : this.of(digest)
  }
}
