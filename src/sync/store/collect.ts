import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Generation } from '../model/generation.ts'
import { SyncError } from '../model/sync-error.ts'
import { removeAll } from './atomic.ts'
import { cannot } from './disk-error.ts'
import type { GenerationStore } from './generations.ts'
import type { SkillStore } from './skills.ts'
import type { SnapshotStore } from './snapshots.ts'

/** Which generations stay: the newest so many, and all that are younger. The one that is served always does. */
export interface Retention {
  readonly generations: number
  readonly youngerThanMs: number
}

/** The defaults of `design` section 3: 3 generations, 24 hours. */
export const RETENTION: Retention = { generations: 3, youngerThanMs: 86_400_000 }

/** How much was removed, and what that gave back. */
export interface Collected {
  readonly generations: number
  readonly snapshots: number
  readonly skills: number
  readonly bytes: number
}

interface Stores {
  readonly generations: GenerationStore
  readonly snapshots: SnapshotStore
  readonly skills: SkillStore
}

/**
 * Removes old generations, then the snapshots that none of the others names, then the skills that no snapshot names.
 * `keep` are snapshots that stay for another reason. What a pull asked for lately stays too.
 */
export async function collect(
  stores: Stores,
  now: Date,
  retention: Retention,
  keep: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Collected> {
  // Taking out is one rename each. Only that has publishes wait, not the removing of what was taken.
  const taken = await stores.generations.exclusively(() => take(stores, now, retention, keep, signal))
  let bytes = 0
  for (const path of [...taken.generations, ...taken.snapshots, ...taken.skills]) {
    bytes += await sizeOf(path).catch(cannot(`measure "${path}"`))
    await removeAll(path)
  }
  const { generations, snapshots, skills } = taken
  return { generations: generations.length, snapshots: snapshots.length, skills: skills.length, bytes }
}

/** Where everything lies that was taken out. */
interface Taken {
  readonly generations: readonly string[]
  readonly snapshots: readonly string[]
  readonly skills: readonly string[]
}

/** In this order, so that a kill in between leaves something unnamed and never a name without its thing. */
async function take(
  stores: Stores,
  now: Date,
  retention: Retention,
  keep: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Taken> {
  const sorted = await sortGenerations(stores.generations, now, retention)
  if (sorted === undefined) return { generations: [], snapshots: [], skills: [] }
  const generations = await takeEach(sorted.old, (number) => stores.generations.setAside(number), signal)
  const named = new Set([...keep, ...sorted.kept.flatMap(({ sources }) => sources.map(({ snapshot }) => snapshot))])
  const unnamed = (await stores.snapshots.digests()).filter((digest) => !named.has(digest))
  const snapshots = await takeEach(unnamed, (digest) => stores.snapshots.setAside(digest), signal)
  const unused = await unusedSkills(stores, signal)
  return { generations, snapshots, skills: await takeEach(unused, (digest) => stores.skills.setAside(digest), signal) }
}

/** Undefined where there are some and none is whole: what they named is not known, and a person may yet bring one back. */
async function sortGenerations(
  generations: GenerationStore,
  now: Date,
  retention: Retention,
): Promise<{ readonly kept: readonly Generation[]; readonly old: readonly number[] } | undefined> {
  const current = await generations.current()
  const numbers = await generations.numbers()
  if (current === undefined && numbers.length > 0) return undefined
  const kept: Generation[] = []
  const old: number[] = []
  for (const number of numbers) {
    const generation = await generations.read(number)
    const isServed = number === current?.number
    if (
      generation !== undefined &&
      (isServed || kept.length < retention.generations || isYoung(generation, now, retention))
    ) {
      kept.push(generation)
    } else old.push(number)
  }
  return { kept, old }
}

function isYoung(generation: Generation, now: Date, retention: Retention): boolean {
  return now.getTime() - Date.parse(generation.createdAt) < retention.youngerThanMs
}

/** Asks the snapshots that are left. While one of them cannot be read, every skill may be one of its own. */
async function unusedSkills({ snapshots, skills }: Stores, signal: AbortSignal): Promise<string[]> {
  const used = new Set<string | undefined>()
  for (const digest of await snapshots.digests()) {
    signal.throwIfAborted()
    const snapshot = await snapshots.read(digest).catch(undefinedIfDamaged)
    if (snapshot === undefined) return []
    for (const skill of snapshot.skills) used.add(skill.digest)
  }
  return (await skills.digests()).filter((digest) => !used.has(digest))
}

function undefinedIfDamaged(error: unknown): undefined {
  if (error instanceof SyncError && error.code === 'store-failed') return undefined
  throw error
}

/** Gives the places where those lie that could be taken out. */
async function takeEach<Name>(
  names: readonly Name[],
  setAside: (name: Name) => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<string[]> {
  const places: string[] = []
  for (const name of names) {
    signal.throwIfAborted()
    const place = await setAside(name)
    if (place !== undefined) places.push(place)
  }
  return places
}

/** Bytes of the files at a path. */
async function sizeOf(path: string): Promise<number> {
  const found = await lstat(path)
  if (!found.isDirectory()) return found.size
  let size = 0
  for (const name of await readdir(path)) size += await sizeOf(join(path, name))
  return size
}
