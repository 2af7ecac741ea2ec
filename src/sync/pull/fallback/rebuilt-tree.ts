import { createHash } from 'node:crypto'
import { joinPath } from '../../../base/paths.ts'
import { comparePaths } from '../../model/digest.ts'
import { isObjectId } from '../../model/revision.ts'
import type { ObjectId, Revision } from '../../model/revision.ts'
import type { SkillFile } from '../../model/skill.ts'
import { takeEach, TreeNotTakenError } from '../../model/tree.ts'
import type { Blob, Proof, TakenBlob, Tree, TreeEntry } from '../../model/tree.ts'
import { hiddenInFile } from '../../skill/hidden-unicode.ts'
import { isLfsPointer } from '../../skill/lfs.ts'
import type { BlobBatch, BlobStore } from '../../store/objects/blob-store.ts'
import type { Fallback, FoundSkill } from './fallback-source.ts'

/** The identity of a rebuilt tree, and the origin of its files. */
export interface Rebuilding {
  readonly revision: Revision
  /** The id of the tree that it stands for. */
  readonly root: ObjectId
  readonly fallback: Fallback
  /** Keeps the fetched files. */
  readonly blobs: BlobStore
}

/**
 * The skills of a commit that is no longer available, in their places, and nothing else of it. The ids inside differ
 * from the original ones: the id of a blob is its SHA-256, and that of a folder is derived from its path.
 */
export class RebuiltTree implements Tree {
  readonly revision: Revision
  readonly root: ObjectId
  readonly proof: Proof = { commit: new Uint8Array() }
  readonly #rebuilding: Rebuilding
  readonly #folders = new Map<ObjectId, Map<string, TreeEntry>>()
  readonly #files = new Map<ObjectId, { readonly found: FoundSkill; readonly file: SkillFile }>()

  /** `skills`: by their paths from the root of the repository. */
  constructor(rebuilding: Rebuilding, skills: ReadonlyMap<string, FoundSkill>) {
    this.#rebuilding = rebuilding
    this.revision = rebuilding.revision
    this.root = rebuilding.root
    this.#folders.set(this.root, new Map())
    for (const [path, found] of skills)
      for (const file of found.files) this.#add(joinPath(path, file.path), found, file)
  }

  list(tree: ObjectId): readonly TreeEntry[] {
    const entries = this.#folders.get(tree)
    if (entries === undefined)
      throw new TreeNotTakenError(`Cannot list tree ${tree}: it is not a tree of the rebuilt commit`)
    return [...entries.values()].toSorted((a, b) => comparePaths(sortedAs(a), sortedAs(b)))
  }

  async take(blobs: Iterable<ObjectId>, signal: AbortSignal): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
    const batch = this.#rebuilding.blobs.batch()
    const taken = await takeEach(blobs, async (id) => this.#take(id, batch), signal)
    batch.flush()
    return taken
  }

  bytesOf({ sha256 }: Blob): Uint8Array {
    return this.#rebuilding.blobs.read(sha256)
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** A file of a nested skill is a file of the outer skill too. If the two differ, the digest of one skill fails. */
  #add(path: string, found: FoundSkill, file: SkillFile): void {
    const segments = path.split('/')
    const name = segments.pop() ?? ''
    let folder = this.#entriesOf(this.root)
    for (const [depth, segment] of segments.entries()) {
      const id = idOfFolder(segments.slice(0, depth + 1).join('/'))
      if (!folder.has(segment)) folder.set(segment, { name: segment, kind: 'folder', id })
      folder = this.#entriesOf(id)
    }
    folder.set(name, { name, kind: file.executable ? 'executable' : 'file', id: file.blob })
    this.#files.set(file.blob, { found, file })
  }

  #entriesOf(id: ObjectId): Map<string, TreeEntry> {
    const entries = this.#folders.get(id) ?? new Map<string, TreeEntry>()
    this.#folders.set(id, entries)
    return entries
  }

  async #take(id: ObjectId, batch: BlobBatch): Promise<TakenBlob> {
    const wanted = this.#files.get(id)
    if (wanted === undefined) return { kind: 'refused', reason: 'absent' }
    const { found, file } = wanted
    const bytes = await this.#rebuilding.fallback.read(found.skill, file)
    const hidden = hiddenInFile(bytes)
    return {
      kind: 'blob',
      size: bytes.byteLength,
      sha256: batch.add(bytes),
      isLfsPointer: isLfsPointer(bytes),
      ...(hidden !== undefined && { hidden }),
    }
  }
}

/** The name as git sorts it: a folder as if its name ended with a slash. */
function sortedAs({ name, kind }: TreeEntry): string {
  return kind === 'folder' ? `${name}/` : name
}

function idOfFolder(path: string): ObjectId {
  const id = createHash('sha256').update(`rebuilt folder\0${path}`).digest('hex')
  if (!isObjectId(id)) throw new TypeError('A SHA-256 has 64 hex digits')
  return id
}
