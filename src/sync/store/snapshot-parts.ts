import { inSlices } from '../../base/async/cooperative.ts'
import { WIDTH, inParallel } from '../../base/async/parallel.ts'
import { canonicalJson } from '../../base/canonical-json.ts'
import type { Skill, SkillFile } from '../model/skill.ts'
import { Damaged } from '../model/sync-error.ts'
import { textOf } from './objects/json-object.ts'
import type { ObjectStore } from './objects/object-store.ts'

/**
 * Cuts the skills of a snapshot, which are sorted by path, into parts. A skill's own path decides if a part ends there,
 * between a minimum and a maximum size. So a changed skill changes only its own part, and an added or removed one
 * changes only a few. A very small number of skills is one part. A part of skills with long metadata ends earlier, because
 * a part is written, hashed and read in one turn of the event loop.
 */
export async function splitIntoParts(
  skills: readonly Skill[],
  signal: AbortSignal,
): Promise<readonly (readonly Skill[])[]> {
  const parts: Skill[][] = []
  let part: Skill[] = []
  let characters = 0
  const add = (skill: Skill): void => {
    part.push(skill)
    characters += charactersOf(skill)
    const isWhole = part.length >= LEAST_SKILLS && skills.length > FEW_SKILLS && isCutAfter(skill)
    if (!isWhole && part.length < MOST_SKILLS && characters < MOST_CHARACTERS) return
    parts.push(part)
    part = []
    characters = 0
  }
  await inSlices(skills, add, signal)
  return part.length === 0 && parts.length > 0 ? parts : [...parts, part]
}

/** Returns the length of the skill's JSON. The result is cached, because most skills are in many snapshots. */
function charactersOf(skill: Skill): number {
  const known = CHARACTERS.get(skill)
  if (known !== undefined) return known
  const characters = JSON.stringify(skill).length
  CHARACTERS.set(skill, characters)
  return characters
}

const CHARACTERS = new WeakMap<Skill, number>()

const FEW_SKILLS = 16

/**
 * A dozen skills on average, some 25 KB: with each commit, the part of the changed skill and the list of all parts are
 * stored again, and larger parts would make the one larger, smaller parts the other. An author who chooses the names can
 * force parts of any size between these limits.
 */
const MOST_SKILLS = 64
const LEAST_SKILLS = 4
const MOST_CHARACTERS = 2 ** 20

/** True for one skill in 8, by its path. The FNV-1a hash is mixed so that a last digit affects all bits. */
function isCutAfter({ path }: Skill): boolean {
  let hash = 0x811c9dc5
  for (let at = 0; at < path.length; at += 1) hash = Math.imul(hash ^ path.charCodeAt(at), 0x01000193)
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 29 === 0
}

/**
 * The parts of snapshots. What two snapshots share is stored once, and is one set of values for a caller that reads
 * both.
 */
export class SnapshotParts {
  readonly #objects: ObjectStore
  /** The parts that were written or read, by their first skill. An entry lives as long as that skill is referenced. */
  readonly #known = new WeakMap<Skill, Part>()
  readonly #byDigest = new Map<string, WeakRef<Part>>()
  /** The number of cached parts after the last cleanup of dead references. */
  #leastKnown = LEAST_KNOWN

  constructor(objects: ObjectStore) {
    this.#objects = objects
  }

  /** Writes the parts that the store lacks, and returns the digests of all. */
  async keep(parts: readonly (readonly Skill[])[], signal: AbortSignal): Promise<readonly string[]> {
    const digests = await this.#stored(parts)
    const lacking = parts.filter((skills) => !digests.has(skills))
    const put = await this.#objects.put(jsonOfEach(lacking, signal))
    for (const [index, skills] of lacking.entries()) {
      const digest = put[index]
      if (digest === undefined) throw new TypeError('A put returns a digest for each object')
      digests.set(skills, digest)
      this.#remember({ digest, skills })
    }
    return parts.flatMap((skills) => digests.get(skills) ?? [])
  }

  /** Returns the digests of those parts that are known and in the store. */
  async #stored(parts: readonly (readonly Skill[])[]): Promise<Map<readonly Skill[], string>> {
    const known = new Map<readonly Skill[], string>()
    for (const skills of parts) {
      const digest = this.#digestOf(skills)
      if (digest !== undefined) known.set(skills, digest)
    }
    const missing = new Set(await this.#objects.missing(known.values()))
    return new Map([...known].filter(([, digest]) => !missing.has(digest)))
  }

  /** Returns the skills of all parts, in this order. Throws `Damaged` if a part is damaged or gone. */
  async read(digests: readonly string[]): Promise<readonly Skill[]> {
    const read = new Map<string, readonly Skill[]>()
    const paths = new Map<string, string>()
    const readOne = async (digest: string): Promise<void> => void read.set(digest, await this.one(digest, paths))
    await inParallel(new Set(digests), WIDTH, readOne, NEVER)
    return digests.flatMap((digest) => read.get(digest) ?? [])
  }

  /**
   * Returns the skills of one part. Throws `Damaged` if it is damaged or gone. `paths`: the paths of files in the parts
   * that were read with it, which share their texts.
   */
  async one(digest: string, paths = new Map<string, string>()): Promise<readonly Skill[]> {
    const known = this.#byDigest.get(digest)?.deref()
    if (known !== undefined && (await this.#objects.missing([digest])).length === 0) return known.skills
    const bytes = await this.#objects.get(digest)
    if (bytes === undefined) throw new Damaged(`Cannot read the part of a snapshot "${digest}": it is not in the store`)
    const skills = skillsIn(bytes, paths)
    if (skills === undefined) throw new Damaged(`Cannot read the part of a snapshot "${digest}": it is none`)
    this.#remember({ digest, skills })
    return skills
  }

  #digestOf(skills: readonly Skill[]): string | undefined {
    const [first] = skills
    const known = first && this.#known.get(first)
    const isSame =
      known?.skills.length === skills.length && skills.every((skill, index) => skill === known.skills[index])
    return isSame ? known.digest : undefined
  }

  #remember(part: Part): void {
    const [first] = part.skills
    if (first === undefined) return
    this.#known.set(first, part)
    this.#byDigest.set(part.digest, new WeakRef(part))
    if (this.#byDigest.size < 2 * this.#leastKnown) return
    for (const [digest, known] of this.#byDigest) if (known.deref() === undefined) this.#byDigest.delete(digest)
    this.#leastKnown = Math.max(LEAST_KNOWN, this.#byDigest.size)
  }
}

const LEAST_KNOWN = 256

interface Part {
  readonly digest: string
  readonly skills: readonly Skill[]
}

/**
 * Parses a part so that equal texts are one text in memory, as they are not after `JSON.parse`: a frontmatter repeats the
 * name and the description, and many skills have files at the same paths. That is a sixth of what thousands of skills
 * take.
 */
function skillsIn(bytes: Uint8Array, paths: Map<string, string>): readonly Skill[] | undefined {
  const skills = storedSkillsIn(bytes)
  if (skills === undefined) return undefined
  for (const skill of skills) {
    const { path, files, frontmatter: { name, description } = {} } = skill
    if (skill.servedPath === path) skill.servedPath = path
    if (skill.name === name) skill.name = name
    if (skill.description === description) skill.description = description
    for (const file of files) {
      const known = paths.get(file.path)
      if (known === undefined) paths.set(file.path, file.path)
      else file.path = known
    }
  }
  return skills
}

/** `undefined` if the bytes are no array of skills with files. */
function storedSkillsIn(bytes: Uint8Array): StoredSkill[] | undefined {
  try {
    const skills: StoredSkill[] = JSON.parse(textOf(bytes))
    return Array.isArray(skills) && skills.every((skill) => Array.isArray(skill?.files)) ? skills : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** A skill as it was parsed, not given to anyone yet. */
type StoredSkill = Writable<Omit<Skill, 'files'>> & { readonly files: readonly Writable<SkillFile>[] }
type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

function* jsonOfEach(parts: readonly (readonly Skill[])[], signal: AbortSignal): Generator<Uint8Array> {
  for (const skills of parts) {
    signal.throwIfAborted()
    yield Buffer.from(canonicalJson(skills))
  }
}

const NEVER = new AbortController().signal
