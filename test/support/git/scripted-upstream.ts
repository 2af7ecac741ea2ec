import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { isObjectId, type ObjectId, type Revision } from '../../../src/sync/model/revision.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { TreeNotTakenError, type TakenBlob, type Tree, type TreeEntry } from '../../../src/sync/model/tree.ts'
import type { Reach } from '../../../src/sync/pull/open-upstream.ts'
import { hiddenInFile } from '../../../src/sync/skill/hidden-unicode.ts'
import { isLfsPointer } from '../../../src/sync/skill/lfs.ts'
import type { BlobStore } from '../../../src/sync/store/objects/blob-store.ts'
import { FETCH_LIMITS, type KnownTrees, type Relation, type TreeUpstream } from '../../../src/sync/upstream/upstream.ts'
import type { Content } from './repository.ts'

/** What a repository holds, by path from its root: what a `Repository` commits, and links whose text is none. */
export type Files = Readonly<Record<string, Content | { readonly link: Uint8Array }>>

/**
 * An upstream without git: its ref points at whatever `files` holds. Its ids are those that git would give, so equal folders
 * have equal ids and whatever was recorded of the one is true of the other.
 */
export class ScriptedUpstream {
  /** Replaced whole: each assignment is a commit, unless it is the same object again. */
  files: Files
  /** Thrown by whatever is asked next, until it is taken away. */
  failure: SyncError | undefined
  /** What the ref asked for came to; a tag object where it is an annotated tag. */
  pointer: Pick<Revision, 'ref' | 'tag'> = { ref: 'refs/heads/main' }
  /** While true, the ref stays at the commit that it last pointed at. */
  unchanged = false
  /** While true, nobody is given a commit that the ref does not point at. */
  isCollected = false
  /** Blobs that the repository names and does not have. */
  absent: ReadonlySet<ObjectId> = new Set()
  /** The take of this number never comes to an end, but where it is aborted. */
  endlessTake: number | undefined
  /** The take of this number reports the first of its blobs as stored, and ends no earlier than `until`. */
  heldTake: { readonly number: number; readonly until: Promise<void> } | undefined
  /** How each commit stands to the one before. */
  related: Relation = 'descends'
  readonly counts = { resolve: 0, fetch: 0, take: 0, relation: 0 }
  /** Every tree that was listed and every blob that was taken, in order, as often as it was asked for. */
  readonly listed: ObjectId[] = []
  readonly taken: ObjectId[] = []
  #commit: Commit | undefined
  /** Whatever the ref pointed at: a commit stays when the ref moves on. */
  readonly #commits = new Map<ObjectId, Commit>()

  constructor(files: Files = { 'pdf/SKILL.md': skillText('pdf') }) {
    this.files = files
  }

  /** The way to it, for one pull. */
  open(reach: Pick<Reach, 'blobs'> & Partial<Pick<Reach, 'limits'>>): TreeUpstream {
    return {
      kind: 'tree',
      resolve: async () => {
        this.counts.resolve += 1
        if (this.failure !== undefined) throw this.failure
        return { asked: 'main', ...this.pointer, commit: this.#moved().id }
      },
      fetch: async (revision, known) => {
        this.counts.fetch += 1
        if (this.failure !== undefined) throw this.failure
        return this.#tree(revision, known, reach.blobs, reach.limits ?? FETCH_LIMITS)
      },
      relation: async (from, to) => {
        this.counts.relation += 1
        return from === to ? 'descends' : this.related
      },
    }
  }

  #moved(): Commit {
    const stays = this.#commit !== undefined && (this.unchanged || this.#commit.files === this.files)
    if (stays && this.#commit !== undefined) return this.#commit
    const raw = Buffer.from(`commit ${this.#commits.size + 1}`)
    this.#commit = { files: this.files, id: idOf('commit', raw), raw }
    this.#commits.set(this.#commit.id, this.#commit)
    return this.#commit
  }

  #given({ commit }: Revision): Commit {
    const newest = this.#moved()
    if (!this.isCollected || commit === newest.id) return this.#commits.get(commit) ?? newest
    throw new SyncError('ref-not-found', `Cannot take commit ${commit}: it was collected`)
  }

  #tree(revision: Revision, known: KnownTrees, store: BlobStore, limits: { readonly blobBytes: number }): Tree {
    const { files, raw } = this.#given(revision)
    const objects = objectsOf(files)
    const reachable = objects.reachable(known)
    return {
      revision,
      root: objects.root,
      proof: { commit: raw },
      list: (tree) => {
        this.listed.push(tree)
        const entries = reachable.get(tree)
        if (entries === undefined) throw new TreeNotTakenError(`Cannot list tree ${tree}: it was not fetched`)
        return entries
      },
      take: async (blobs, signal, onStored) => {
        this.counts.take += 1
        const wanted = [...new Set(blobs)]
        this.taken.push(...wanted)
        if (this.counts.take === this.endlessTake) await aborted(signal)
        const batch = store.batch()
        const take = (id: ObjectId): readonly [ObjectId, TakenBlob] => {
          const bytes = this.absent.has(id) ? undefined : objects.blobs.get(id)
          if (bytes === undefined) return [id, { kind: 'refused', reason: 'absent' }]
          if (bytes.length > limits.blobBytes) return [id, { kind: 'refused', reason: 'too-large' }]
          const hidden = hiddenInFile(bytes)
          const known = { size: bytes.length, sha256: batch.add(bytes), isLfsPointer: isLfsPointer(bytes) }
          return [id, { kind: 'blob', ...known, ...(hidden !== undefined && { hidden }) }]
        }
        const taken = new Map(wanted.map(take))
        batch.flush()
        if (this.counts.take !== this.heldTake?.number) return taken
        onStored?.(new Map([...taken].slice(0, 1)))
        await this.heldTake.until
        return taken
      },
      bytesOf: ({ sha256 }) => store.read(sha256),
      [Symbol.asyncDispose]: async () => {},
    }
  }
}

interface Commit {
  readonly files: Files
  readonly id: ObjectId
  readonly raw: Buffer
}

/** The text of a SKILL.md with this name; `more` are further lines of its frontmatter. */
export function skillText(name: string, more = '', body = ''): string {
  return `---\nname: ${name}\ndescription: What ${name} does\n${more}---\n# ${name}\n${body}`
}

/** The id that git gives a blob of these bytes. */
export function blobId(bytes: string | Uint8Array): ObjectId {
  return idOf('blob', Buffer.from(bytes))
}

/** The id of the tree at a path of these files; the root is the empty path. */
export function treeId(files: Files, path = ''): ObjectId {
  const below = Object.entries(files).flatMap(([file, content]) => {
    if (path === '') return [[file, content] as const]
    return file.startsWith(`${path}/`) ? [[file.slice(path.length + 1), content] as const] : []
  })
  return objectsOf(Object.fromEntries(below)).root
}

interface Objects {
  readonly root: ObjectId
  readonly blobs: ReadonlyMap<ObjectId, Buffer>
  /** The trees below the root, but those known and what is reached through them alone. */
  reachable(known: KnownTrees): ReadonlyMap<ObjectId, readonly TreeEntry[]>
}

type Folder = Map<string, Folder | Files[string]>

function objectsOf(files: Files): Objects {
  const blobs = new Map<ObjectId, Buffer>()
  const trees = new Map<ObjectId, readonly TreeEntry[]>()
  const root = write(folderOf(files), blobs, trees)
  const reachable = (known: KnownTrees): ReadonlyMap<ObjectId, readonly TreeEntry[]> => {
    const found = new Map<ObjectId, readonly TreeEntry[]>()
    const visit = (id: ObjectId, path: string): void => {
      const entries = trees.get(id)
      if (entries === undefined || known.byPath.get(path) === id) return
      found.set(id, entries)
      for (const entry of entries) {
        if (entry.kind === 'folder') visit(entry.id, path === '' ? entry.name : `${path}/${entry.name}`)
      }
    }
    visit(root, '')
    return found
  }
  return { root, blobs, reachable }
}

function folderOf(files: Files): Folder {
  const root: Folder = new Map()
  for (const [path, content] of Object.entries(files)) {
    const names = path.split('/')
    const last = names.pop() ?? ''
    let folder = root
    for (const name of names) {
      const next = folder.get(name) ?? new Map()
      if (!(next instanceof Map)) throw new Error(`"${path}" lies below a file`)
      folder.set(name, next)
      folder = next
    }
    if (folder.has(last)) throw new Error(`"${path}" is a folder`)
    folder.set(last, content)
  }
  return root
}

function write(folder: Folder, blobs: Map<ObjectId, Buffer>, trees: Map<ObjectId, readonly TreeEntry[]>): ObjectId {
  const entries = [...folder].map(([name, content]): TreeEntry => {
    if (content instanceof Map) return { name, kind: 'folder', id: write(content, blobs, trees) }
    if (typeof content === 'object' && 'submodule' in content) {
      return { name, kind: 'submodule', id: objectId(content.submodule) }
    }
    const { kind, bytes } = fileOf(content)
    const id = idOf('blob', bytes)
    blobs.set(id, bytes)
    return { name, kind, id }
  })
  // Git orders a folder as if its name ended in a slash.
  const key = ({ name, kind }: TreeEntry): Buffer => Buffer.from(kind === 'folder' ? `${name}/` : name)
  const sorted = entries.toSorted((a, b) => Buffer.compare(key(a), key(b)))
  const lines = sorted.flatMap(({ name, kind, id }) => [
    Buffer.from(`${MODES[kind]} ${name}\0`),
    Buffer.from(id, 'hex'),
  ])
  const id = idOf('tree', Buffer.concat(lines))
  trees.set(id, sorted)
  return id
}

const MODES = {
  file: '100644',
  executable: '100755',
  link: '120000',
  folder: '40000',
  submodule: '160000',
  'unusable-file': '100644',
  'unusable-folder': '40000',
  unread: '40000',
} as const

function fileOf(content: Exclude<Files[string], { readonly submodule: string }>): {
  readonly kind: 'file' | 'executable' | 'link'
  readonly bytes: Buffer
} {
  if (typeof content === 'string' || content instanceof Uint8Array) return { kind: 'file', bytes: Buffer.from(content) }
  if ('executable' in content) return { kind: 'executable', bytes: Buffer.from(content.executable) }
  return { kind: 'link', bytes: Buffer.from(content.link) }
}

function idOf(type: string, bytes: Uint8Array): ObjectId {
  return objectId(createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex'))
}

function objectId(text: string): ObjectId {
  if (!isObjectId(text)) throw new Error(`"${text}" is no object id`)
  return text
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}
