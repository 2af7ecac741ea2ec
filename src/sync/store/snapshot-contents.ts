import { inSlices } from '../../base/cooperative.ts'
import { isOfUpstream } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { undefinedIfDamaged } from '../model/sync-error.ts'
import type { ContentFolder } from './skills/stored-path.ts'
import type { SnapshotStore } from './snapshots.ts'

/** Caches the contents of snapshots. Each snapshot and each part is read once, even if several generations name it. */
export class SnapshotContents {
  readonly #snapshots: SnapshotStore
  readonly #read = new Map<string, Promise<Content | undefined>>()
  readonly #parts = new Map<string, Promise<SnapshotPiece>>()

  constructor(snapshots: SnapshotStore) {
    this.#snapshots = snapshots
  }

  /** `undefined` if the snapshot is damaged. */
  async of(digest: string): Promise<Content | undefined> {
    const known = this.#read.get(digest)
    if (known !== undefined) return known
    const content = this.#contentOf(digest).catch(undefinedIfDamaged)
    this.#read.set(digest, content)
    return content
  }

  /**
   * Returns the bytes of the snapshots, and of everything they name, that are not in `counted` yet; adds them to it.
   */
  async countNew(digests: Iterable<string>, counted: Set<string>): Promise<number> {
    let bytes = 0
    for (const digest of digests) {
      if (!counted.has(digest)) bytes += await this.#snapshots.bytes(digest)
      counted.add(digest)
      const pieces = (await this.of(digest))?.pieces ?? []
      await inSlices(pieces, (piece) => void (bytes += countPlaces(piece, counted)))
    }
    return bytes
  }

  async #contentOf(digest: string): Promise<Content> {
    const { snapshot, parts } = await this.#snapshots.outline(digest)
    const { source, skills, docs } = snapshot
    const pieces: SnapshotPiece[] = [pieceOf(skills, docs)]
    for (const part of parts) pieces.push(await this.#partOf(part))
    return { source, pieces }
  }

  async #partOf(digest: string): Promise<SnapshotPiece> {
    const known = this.#parts.get(digest)
    if (known !== undefined) return known
    const piece = this.#pieceOfPart(digest)
    this.#parts.set(digest, piece)
    return piece
  }

  async #pieceOfPart(digest: string): Promise<SnapshotPiece> {
    const skills = await this.#snapshots.part(digest)
    const { places, upstreamFiles } = pieceOf(skills, undefined)
    const bytes = await this.#snapshots.partBytes(digest)
    return { places: new Map(places).set(partPlace(digest), bytes), upstreamFiles }
  }
}

/** The contents of a snapshot. */
interface Content {
  readonly source: SourceId
  readonly pieces: readonly SnapshotPiece[]
}

/** The contents of one part of a snapshot, or of the skills and docs outside any part. */
export interface SnapshotPiece {
  /** The places of skills, docs and the part itself, with their bytes. */
  readonly places: ReadonlyMap<string, number>
  /** SHA-256 of the files that belong to another MCP server. */
  readonly upstreamFiles: ReadonlySet<string>
}

function pieceOf(skills: Snapshot['skills'], docs: Snapshot['docs']): SnapshotPiece {
  const places = new Map<string, number>()
  for (const { digest, size, upstream } of skills)
    if (digest !== undefined && upstream === undefined) places.set(contentPlaceOf('skills', digest), size)
  if (docs !== undefined) places.set(contentPlaceOf('docs', docs.digest), docs.size)
  const ofUpstream = skills.filter(isOfUpstream).flatMap(({ files }) => files.map(({ sha256 }) => sha256))
  return { places, upstreamFiles: new Set(ofUpstream) }
}

function countPlaces({ places }: SnapshotPiece, counted: Set<string>): number {
  let bytes = 0
  for (const [place, size] of places) {
    if (!counted.has(place)) bytes += size
    counted.add(place)
  }
  return bytes
}

/** Returns the key of a part in `SnapshotPiece.places`. */
export function partPlace(digest: string): string {
  return `parts/${digest}`
}

/** Returns the key of a skill or docs in `SnapshotPiece.places`. */
export function contentPlaceOf(place: ContentFolder, digest: string): string {
  return `${place}/${digest}`
}
