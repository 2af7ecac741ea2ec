import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Generation } from '../model/generation.ts'
import type { SourceId } from '../model/source-id.ts'
import { removeAll } from './files/atomic.ts'
import { cannot } from './files/disk-error.ts'
import type { GenerationStore } from './generations.ts'
import type { SkillStore } from './skills/skills.ts'
import type { ContentFolder } from './skills/stored-path.ts'
import type { UpstreamFiles } from './skills/upstream-files.ts'
import { SnapshotContents, partPlace, contentPlaceOf, type SnapshotPiece } from './snapshot-contents.ts'
import type { SnapshotStore } from './snapshots.ts'

/**
 * The retention policy. It keeps the newest `generations` and all younger than `youngerThanMs`, if they fit into
 * `bytes`; the oldest go first. The served generation always stays.
 */
export interface Retention {
  readonly generations: number
  readonly youngerThanMs: number
  /** Maximum disk usage of everything that is kept. */
  readonly bytes: number
}

/** The defaults: 3 generations, 24 hours, 8 GiB. */
export const RETENTION: Retention = { generations: 3, youngerThanMs: 86_400_000, bytes: 2 ** 33 }

/** The number of removed items per kind, the bytes that were freed, and the bytes that are left. */
export interface Collected {
  readonly generations: number
  readonly snapshots: number
  readonly skills: number
  readonly docs: number
  readonly bytes: number
  readonly left: number
}

/** The time of a garbage collection, and what it leaves. */
export interface Collection {
  readonly now: Date
  readonly retention: Retention
  /** The snapshots that stay although no generation names them. */
  readonly keep: ReadonlySet<string>
}

interface Stores {
  readonly generations: GenerationStore
  readonly snapshots: SnapshotStore
  readonly skills: SkillStore
  readonly upstreams: UpstreamFiles
}

/**
 * Removes old generations, then the snapshots that no remaining generation names, then everything that no snapshot
 * names: skills, docs, and files of other MCP servers. Content that a pull claimed recently stays too.
 */
export async function collect(stores: Stores, collection: Collection, signal: AbortSignal): Promise<Collected> {
  // Setting aside is one rename per item. Only these renames block a publish, not the removal that follows.
  const taken = await stores.generations.exclusively(() => setAside(stores, collection, signal))
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

/** The paths of everything that was set aside. */
interface Taken {
  readonly generations: readonly string[]
  readonly snapshots: readonly string[]
  /** The parts of snapshots. */
  readonly parts: readonly string[]
  readonly skills: readonly string[]
  readonly docs: readonly string[]
  /** The bytes of the files of other MCP servers, which are removed already. */
  readonly bytes: number
  /** The bytes of what stays. */
  readonly left: number
}

const NOTHING_TAKEN: Taken = { generations: [], snapshots: [], parts: [], skills: [], docs: [], bytes: 0, left: 0 }

/** The order matters: a kill in between leaves something that no file names, and never a name without its content. */
async function setAside(stores: Stores, { now, retention, keep }: Collection, signal: AbortSignal): Promise<Taken> {
  const contents = new SnapshotContents(stores.snapshots)
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
    // No publish runs meanwhile, so everything served has its snapshot in the store, and none of its files counts as
    // unused.
    bytes: unused.wanted === undefined ? 0 : await stores.upstreams.keepOnly(unused.wanted),
    left: await contents.countNew(await stores.snapshots.digests(), new Set()),
  }
}

/**
 * `undefined` if generations were published and none is intact: what they named is unknown, and the operator may still
 * restore one.
 */
async function sortGenerations(
  generations: GenerationStore,
  contents: SnapshotContents,
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
    // The first generation that does not fit ends the list: no older one is kept instead.
    const isKept = isServed || (isWanted && bytes <= retention.bytes)
    if (generation !== undefined && isKept) kept.push(generation)
    else old.push(number)
  }
  return { served: current === undefined ? [] : [current], kept, old }
}

interface Sorted {
  /** The served generation, even if the disk has lost it meanwhile. */
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

/**
 * Reads the remaining snapshots. If one of these or one of `needed` is unreadable, nothing counts as unused: it may use
 * anything.
 */
async function unusedIn(
  { snapshots, skills }: Stores,
  contents: SnapshotContents,
  needed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Unused> {
  const used = new Set<string>()
  const wanted = new Map<SourceId, Set<string>>()
  const seen = new Set<SnapshotPiece>()
  // `digests` returns none, or only some, if the folder is removed meanwhile. `needed` covers that.
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
  const unusedAt = async (place: ContentFolder): Promise<string[]> =>
    (await skills.digests(place)).filter((digest) => !used.has(contentPlaceOf(place, digest)))
  const parts = (await snapshots.partDigests()).filter((digest) => !used.has(partPlace(digest)))
  return { parts, skills: await unusedAt('skills'), docs: await unusedAt('docs'), wanted }
}

/** Returns the paths of the items that could be set aside, in the order of the names. */
async function takeEach<Name extends string | number>(
  names: readonly Name[],
  setAside: (name: Name) => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<string[]> {
  const places: string[] = []
  // A disk lists what was written side by side in any order, and two runs must make the same calls.
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    signal.throwIfAborted()
    const place = await setAside(name)
    if (place !== undefined) places.push(place)
  }
  return places
}

/** Returns the bytes of all files at a path. */
async function sizeOf(path: string): Promise<number> {
  const found = await lstat(path)
  if (!found.isDirectory()) return found.size
  let size = 0
  for (const name of await readdir(path)) size += await sizeOf(join(path, name))
  return size
}
