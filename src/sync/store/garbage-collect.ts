import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Generation } from '../model/generation.ts'
import type { SourceId } from '../model/source-id.ts'
import { removeAll } from './files/atomic.ts'
import { Contents, partPlace, placeOf, type Piece } from './snapshot-contents.ts'
import { cannot } from './files/disk-error.ts'
import type { GenerationStore } from './generations.ts'
import type { SkillStore } from './skills/skills.ts'
import type { SnapshotStore } from './snapshots.ts'
import type { Place } from './skills/stored-path.ts'
import type { UpstreamFiles } from './skills/upstream-files.ts'

/**
 * Which generations stay: the newest so many, and all that are younger, as long as they fit; the oldest go first. The one
 * that is served always stays.
 */
export interface Retention {
  readonly generations: number
  readonly youngerThanMs: number
  /** What all that is kept may come to on the disk. */
  readonly bytes: number
}

/** The defaults: 3 generations, 24 hours, 8 GiB. */
export const RETENTION: Retention = { generations: 3, youngerThanMs: 86_400_000, bytes: 2 ** 33 }

/** How much was removed, what that gave back, and what the rest comes to. */
export interface Collected {
  readonly generations: number
  readonly snapshots: number
  readonly skills: number
  readonly docs: number
  readonly bytes: number
  readonly left: number
}

interface Stores {
  readonly generations: GenerationStore
  readonly snapshots: SnapshotStore
  readonly skills: SkillStore
  readonly upstreams: UpstreamFiles
}

/**
 * Removes old generations, then the snapshots that none of the others names, then all that no snapshot names: skills, docs, and
 * files of other MCP servers. `keep` are snapshots that stay for another reason. What a pull asked for lately stays too.
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
  let bytes = taken.bytes
  const { parts } = taken
  for (const path of [...taken.generations, ...taken.snapshots, ...parts, ...taken.skills, ...taken.docs]) {
    bytes += await sizeOf(path).catch(cannot(`measure "${path}"`))
    await removeAll(path)
  }
  const { generations, snapshots, skills, docs, left } = taken
  const counts = { generations: generations.length, snapshots: snapshots.length }
  return { ...counts, skills: skills.length, docs: docs.length, bytes, left }
}

/** Where everything lies that was taken out. */
interface Taken {
  readonly generations: readonly string[]
  readonly snapshots: readonly string[]
  /** Of snapshots. */
  readonly parts: readonly string[]
  readonly skills: readonly string[]
  readonly docs: readonly string[]
  /** What is removed already: the files of other MCP servers. */
  readonly bytes: number
  /** Bytes of what stays. */
  readonly left: number
}

const NOTHING_TAKEN: Taken = { generations: [], snapshots: [], parts: [], skills: [], docs: [], bytes: 0, left: 0 }

/** In this order, so that a kill in between leaves something unnamed and never a name without its thing. */
async function take(
  stores: Stores,
  now: Date,
  retention: Retention,
  keep: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Taken> {
  const contents = new Contents(stores.snapshots)
  const sorted = await sortGenerations(stores.generations, contents, now, retention)
  if (sorted === undefined) return NOTHING_TAKEN
  const generations = await takeEach(sorted.old, (number) => stores.generations.setAside(number), signal)
  const needed = new Set([...keep, ...namedBy(sorted.served)])
  const named = new Set([...needed, ...namedBy(sorted.kept)])
  const unnamed = (await stores.snapshots.digests()).filter((digest) => !named.has(digest))
  const snapshots = await takeEach(unnamed, (digest) => stores.snapshots.setAside(digest), signal)
  const unused = await unusedIn(stores, contents, needed, signal)
  const parts = await takeEach(unused.parts, (digest) => stores.snapshots.setPartAside(digest), signal)
  const skills = await takeEach(unused.skills, (digest) => stores.skills.setAside(digest), signal)
  const docs = await takeEach(unused.docs, (digest) => stores.skills.setAside(digest, 'docs'), signal)
  return {
    generations,
    snapshots,
    parts,
    skills,
    docs,
    // While nothing can be published, all that is served has its snapshot here: none of its files is taken for unused.
    bytes: unused.wanted === undefined ? 0 : await stores.upstreams.keepOnly(unused.wanted),
    left: await contents.countNew(await stores.snapshots.digests(), new Set()),
  }
}

/** Undefined where some were published and none is whole: what they named is not known, and a person may yet bring one back. */
async function sortGenerations(
  generations: GenerationStore,
  contents: Contents,
  now: Date,
  retention: Retention,
): Promise<Sorted | undefined> {
  const current = await generations.current()
  const numbers = await generations.numbers()
  if (current === undefined && (numbers.length > 0 || (await generations.isPointed()))) return undefined
  const kept: Generation[] = []
  const old: number[] = []
  const counted = new Set<string>()
  let bytes = current === undefined ? 0 : await contents.countNew(namedBy([current]), counted)
  for (const number of numbers) {
    const generation = await generations.read(number)
    const isServed = number === current?.number
    const isWanted = isServed || kept.length < retention.generations || isYoung(generation, now, retention)
    if (isWanted && generation !== undefined && bytes <= retention.bytes) {
      bytes += await contents.countNew(namedBy([generation]), counted)
    }
    // The first that does not fit ends it: what is older is not kept in its place.
    const isKept = isServed || (isWanted && bytes <= retention.bytes)
    if (generation !== undefined && isKept) kept.push(generation)
    else old.push(number)
  }
  return { served: current === undefined ? [] : [current], kept, old }
}

interface Sorted {
  /** The one that is served, also where the disk lost it meanwhile. */
  readonly served: readonly Generation[]
  readonly kept: readonly Generation[]
  readonly old: readonly number[]
}

function namedBy(generations: readonly Generation[]): ReadonlySet<string> {
  return new Set(generations.flatMap(({ sources }) => sources.map(({ snapshot }) => snapshot)))
}

function isYoung(generation: Generation | undefined, now: Date, retention: Retention): boolean {
  return generation !== undefined && now.getTime() - Date.parse(generation.createdAt) < retention.youngerThanMs
}

interface Unused {
  readonly parts: readonly string[]
  readonly skills: readonly string[]
  readonly docs: readonly string[]
  /** The files of other MCP servers that are in use, by source. */
  readonly wanted: ReadonlyMap<SourceId, ReadonlySet<string>> | undefined
}

/** Asks the snapshots that are left. While one of them, or one that is `needed`, cannot be read, everything may be its own. */
async function unusedIn(
  { snapshots, skills }: Stores,
  contents: Contents,
  needed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Unused> {
  const used = new Set<string>()
  const wanted = new Map<SourceId, Set<string>>()
  const seen = new Set<Piece>()
  // A folder that is removed meanwhile lists none, or a part of them.
  for (const digest of new Set([...needed, ...(await snapshots.digests())])) {
    signal.throwIfAborted()
    const content = await contents.of(digest)
    if (content === undefined) return { parts: [], skills: [], docs: [], wanted: undefined }
    const ofSource = wanted.get(content.source) ?? new Set()
    wanted.set(content.source, ofSource)
    for (const piece of content.pieces) {
      for (const sha256 of piece.upstreamFiles) ofSource.add(sha256)
      if (seen.has(piece)) continue
      seen.add(piece)
      for (const place of piece.places.keys()) used.add(place)
    }
  }
  const unusedAt = async (place: Place): Promise<string[]> =>
    (await skills.digests(place)).filter((digest) => !used.has(placeOf(place, digest)))
  const parts = (await snapshots.partDigests()).filter((digest) => !used.has(partPlace(digest)))
  return { parts, skills: await unusedAt('skills'), docs: await unusedAt('docs'), wanted }
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
