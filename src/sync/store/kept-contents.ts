import { inSlices } from '../../base/async/cooperative.ts'
import { isOfUpstream } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { undefinedIfDamaged } from '../model/sync-error.ts'
import type { SnapshotStore } from './snapshot-store.ts'

/** All that a set of snapshots names. Each snapshot and each part is read once, whichever generations name it. */
export class KeptContents {
  /** The objects: snapshots, their parts, and files. */
  readonly live = new Set<string>()
  /** The content digests of skills and docs. */
  readonly digests = new Set<string>()
  /** SHA-256 of the files of other MCP servers, by source. */
  readonly upstreamFiles = new Map<SourceId, Set<string>>()
  /** The bytes of all files in `live`. */
  bytes = 0
  readonly #snapshots: SnapshotStore
  readonly #signal: AbortSignal

  constructor(snapshots: SnapshotStore, signal: AbortSignal) {
    this.#snapshots = snapshots
    this.#signal = signal
  }

  /** Adds what the snapshots name; nothing if one cannot be read, or if all would come to more than `mostBytes`. */
  async add(digests: Iterable<string>, mostBytes: number): Promise<'added' | 'damaged' | 'too-large'> {
    const named = new Named()
    for (const digest of new Set(digests)) {
      this.#signal.throwIfAborted()
      if (this.live.has(digest)) continue
      if (!(await this.#read(digest, named))) return 'damaged'
    }
    const bytes = [...named.files].reduce((sum, [sha256, size]) => sum + (this.live.has(sha256) ? 0 : size), 0)
    if (this.bytes + bytes > mostBytes) return 'too-large'
    this.bytes += bytes
    for (const object of [...named.objects, ...named.files.keys()]) this.live.add(object)
    for (const digest of named.digests) this.digests.add(digest)
    for (const [source, files] of named.upstreamFiles) this.#addUpstream(source, files)
    return 'added'
  }

  async #read(digest: string, named: Named): Promise<boolean> {
    const outline = await this.#snapshots.outline(digest).catch(undefinedIfDamaged)
    if (outline === undefined) return false
    const { snapshot, parts } = outline
    named.objects.add(digest)
    await named.addAll(snapshot.source, snapshot)
    for (const part of parts) {
      if (named.objects.has(part) || this.live.has(part)) continue
      const skills = await this.#snapshots.part(part).catch(undefinedIfDamaged)
      if (skills === undefined) return false
      named.objects.add(part)
      await named.addAll(snapshot.source, { skills })
    }
    return true
  }

  #addUpstream(source: SourceId, files: ReadonlySet<string>): void {
    const known = this.upstreamFiles.get(source) ?? new Set()
    this.upstreamFiles.set(source, known)
    for (const sha256 of files) known.add(sha256)
  }
}

/** Returns the objects of the files that a store keeps of the skills, and of the docs. */
export function fileObjectsOf({ skills, docs }: Partial<Pick<Snapshot, 'skills' | 'docs'>>): readonly string[] {
  const kept = (skills ?? []).filter((skill) => !isOfUpstream(skill) && skill.standing !== 'withheld')
  const contents = docs === undefined ? kept : [...kept, docs]
  return contents.flatMap(({ digest, files }) => (digest === undefined ? [] : files.map(({ sha256 }) => sha256)))
}

/** The contents of some snapshots. */
class Named {
  readonly objects = new Set<string>()
  /** The size of each file, by its SHA-256. */
  readonly files = new Map<string, number>()
  readonly digests = new Set<string>()
  readonly upstreamFiles = new Map<SourceId, Set<string>>()

  async addAll(source: SourceId, { skills, docs }: Pick<Snapshot, 'skills' | 'docs'>): Promise<void> {
    const ofSource = this.upstreamFiles.get(source) ?? new Set()
    this.upstreamFiles.set(source, ofSource)
    await inSlices(skills, (skill) => {
      if (isOfUpstream(skill)) this.#addFetched(skill, ofSource)
      // The files of a withheld one are served to no client.
      else if (skill.standing !== 'withheld') this.#add(skill)
    })
    if (docs !== undefined) this.#add(docs)
  }

  /** Its checkout is one of an agent's folder. */
  #addFetched({ digest, files }: Pick<Snapshot['skills'][number], 'digest' | 'files'>, ofSource: Set<string>): void {
    if (digest !== undefined) this.digests.add(digest)
    for (const { sha256 } of files) ofSource.add(sha256)
  }

  #add({ digest, files }: Pick<Snapshot['skills'][number], 'digest' | 'files'>): void {
    if (digest === undefined) return
    this.digests.add(digest)
    for (const { sha256, size } of files) this.files.set(sha256, size)
  }
}
