import { hash } from 'node:crypto'
import { canonicalJson } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import type { GenerationEntry } from '../model/generation.ts'
import { isSourceId } from '../model/source-id.ts'
import { undefinedIfDamaged } from '../model/sync-error.ts'
import { textOf } from './objects/json-object.ts'
import { sha256Of } from './objects/object-rows.ts'
import type { Digest, ObjectStore } from './objects/object-store.ts'
import { isDigest } from './skills/stored-path.ts'

/**
 * The parts of generations with many sources. What two generations share is stored once, so that the publication of one
 * source of thousands writes one part.
 */
export class GenerationParts {
  readonly #objects: ObjectStore
  /** The parts that were read last: a poll reads the same generation as the one before. */
  #known: ReadonlyMap<Digest, readonly GenerationEntry[]> = new Map()

  constructor(objects: ObjectStore) {
    this.#objects = objects
  }

  /** Writes the parts that the store lacks, or that are damaged, and returns the digests of all. */
  async keep(sources: readonly GenerationEntry[]): Promise<readonly Digest[]> {
    const parts = new Map(cut(sources).map((part) => digested(part)))
    for (const [digest, bytes] of parts)
      if ((await this.#objects.get(digest).catch(undefinedIfDamaged)) === undefined) await this.#objects.put([bytes])
    return [...parts.keys()]
  }

  /** Returns the sources of all parts, in this order; `undefined` if a part is damaged or gone. */
  async read(digests: readonly Digest[]): Promise<readonly GenerationEntry[] | undefined> {
    const parts = new Map<Digest, readonly GenerationEntry[]>()
    for (const digest of digests) {
      const bytes = await this.#objects.get(digest).catch(undefinedIfDamaged)
      const part = bytes && (this.#known.get(digest) ?? heldListIn(bytes))
      if (part === undefined) return undefined
      parts.set(digest, part)
    }
    this.#known = parts
    return digests.flatMap((digest) => parts.get(digest) ?? [])
  }
}

function heldListIn(bytes: Uint8Array): readonly GenerationEntry[] | undefined {
  const value = parseJson(textOf(bytes))
  return isHeldList(value) ? value : undefined
}

/** True if the value is a list of sources with their snapshots, as a generation has them. */
export function isHeldList(value: unknown): value is readonly GenerationEntry[] {
  return Array.isArray(value) && value.every(isHeld)
}

/** True if a generation of these sources is stored in parts. */
export function isInParts(sources: readonly GenerationEntry[]): boolean {
  return sources.length > MOST_SOURCES
}

/** The source's own id decides if a part ends after it: an added or removed source changes one part or two. */
function cut(sources: readonly GenerationEntry[]): readonly (readonly GenerationEntry[])[] {
  const parts: GenerationEntry[][] = []
  let part: GenerationEntry[] = []
  for (const held of sources) {
    part.push(held)
    if (part.length < MOST_SOURCES && !(part.length >= LEAST_SOURCES && isCutAfter(held))) continue
    parts.push(part)
    part = []
  }
  return part.length === 0 ? parts : [...parts, part]
}

const LEAST_SOURCES = 16
const MOST_SOURCES = 128

/** True for one source in 32, by its id. */
function isCutAfter({ source }: GenerationEntry): boolean {
  return hash('sha256', source, 'buffer').readUInt8(0) < 8
}

function digested(part: readonly GenerationEntry[]): [Digest, Uint8Array] {
  const bytes = Buffer.from(canonicalJson(part))
  return [sha256Of(bytes), bytes]
}

function isHeld(value: unknown): value is GenerationEntry {
  if (!isObject(value)) return false
  const { source, snapshot } = value
  return typeof source === 'string' && isSourceId(source) && typeof snapshot === 'string' && isDigest(snapshot)
}
