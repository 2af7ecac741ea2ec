import { inSlices } from '../../base/async/cooperative.ts'
import { foldersAbove } from '../../base/paths.ts'
import type { Marketplace } from '../model/marketplace.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { SyncError } from '../model/sync-error.ts'
import type { TakenBlob, Tree, TreeEntry } from '../model/tree.ts'
import { utf8 } from '../skill/frontmatter.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import { firstDiagnostics } from './cap-diagnostics.ts'
import { LinkPlaces, follow } from './link-places.ts'
import { LinkTexts } from './link-resolver.ts'
import { MARKETPLACE_LIMITS } from './marketplace/marketplace-limits.ts'
import type { FileText, OpenFiles, PluginFile, PluginTree, PluginTreeEntry } from './marketplace/plugin-tree.ts'
import { readMarketplace } from './marketplace/read-marketplace.ts'
import { MOST_TOLD } from './unreadable-parts.ts'

/** The tree in which a marketplace is searched, and what is known of it. */
export interface MarketplaceSearch {
  readonly tree: Tree
  /** The root of the source in the repository. A source of a part of a repository has no marketplace. */
  readonly root: string
  readonly earlier: Snapshot | undefined
  /** The tree ids of the folders in `tree`. */
  readonly folders: ReadonlyMap<string, ObjectId>
}

/** The marketplace of a tree, with the findings about it. */
export interface FoundMarketplace {
  readonly marketplace?: Marketplace
  readonly findings: readonly SkillDiagnostic[]
}

/** Reads the plugin marketplace of a tree, if it has one. Only the tree is read, whatever the files in it name. */
export async function findMarketplace(search: MarketplaceSearch, signal: AbortSignal): Promise<FoundMarketplace> {
  const { tree, root } = search
  if (root !== '') return { findings: [] }
  // Of a snapshot without a marketplace, not even the absence of a file is known.
  const earlier = search.earlier?.marketplace === undefined ? undefined : search.earlier
  if (earlier?.marketplace !== undefined && earlier.tree === tree.root)
    return { marketplace: earlier.marketplace, findings: earlier.findings.filter(isAboutMarketplace) }
  const searched = new SearchedTree({ ...search, earlier }, signal)
  const reading = { earlier: earlier?.marketplace, limits: MARKETPLACE_LIMITS }
  const read = await readMarketplace(searched, reading, signal).catch(messageIfTooMuch)
  if (typeof read === 'string') return { findings: [tooMuch(read)] }
  const findings = firstDiagnostics(read.findings, MOST_TOLD, (left, { path }) => {
    return { path, message: `${left} more findings about the marketplace are not listed` }
  })
  return { marketplace: read.marketplace, findings }
}

/** The message of an error about a limit: the skills fit, and a marketplace must not keep them from being served. */
function messageIfTooMuch(error: unknown): string {
  if (error instanceof SyncError && error.code === 'limit-exceeded') return error.message
  throw error
}

function tooMuch(why: string): SkillDiagnostic {
  return { rule: 'marketplace-unread', path: '', message: `The marketplace is not read: ${why}` }
}

/** True for a finding of `findMarketplace`. It is made again for each tree, so it is never kept with a folder. */
export function isAboutMarketplace({ rule }: SkillDiagnostic): boolean {
  return rule === 'marketplace-unread' || rule === 'marketplace-differs' || rule === 'plugin-refused'
}

class SearchedTree implements PluginTree {
  readonly #tree: Tree
  readonly #earlier: Snapshot | undefined
  readonly #folders: ReadonlyMap<string, ObjectId>
  readonly #places: LinkPlaces
  readonly #signal: AbortSignal
  /** Thousands of plugins may name one folder with thousands of files. */
  readonly #listed = new Map<ObjectId, readonly PluginTreeEntry[]>()

  constructor({ tree, earlier, folders }: MarketplaceSearch, signal: AbortSignal) {
    this.#tree = tree
    this.#earlier = earlier
    this.#folders = folders
    this.#places = new LinkPlaces(tree)
    this.#signal = signal
  }

  isUnchanged(path: string): boolean {
    const before = this.#earlier?.folders
    if (before === undefined) return false
    return [path, ...foldersAbove(path)].some((folder) => {
      const id = this.#folders.get(folder)
      return id !== undefined && before[folder] === id
    })
  }

  list(folder: string): readonly PluginTreeEntry[] | undefined {
    const place = this.#places.entryAt(folder)
    if (place?.kind !== 'folder') return undefined
    const entries = this.#listed.get(place.id) ?? this.#tree.list(place.id).flatMap(shownEntry)
    this.#listed.set(place.id, entries)
    return entries
  }

  isFile(path: string): boolean {
    const entry = this.#places.entryAt(path)
    return entry !== undefined && typeof blobOf(entry) === 'string'
  }

  async open(files: readonly PluginFile[], bytes: number): Promise<OpenFiles> {
    const blobs = await this.#blobsOf(files)
    const ids = [...blobs.values()].filter((blob) => typeof blob === 'string')
    const taken = ids.length === 0 ? new Map<ObjectId, TakenBlob>() : await this.#tree.take(ids, this.#signal)
    return (file) => {
      const blob = blobs.get(keyOf(file))
      if (blob === undefined) return undefined
      return typeof blob === 'string' ? this.#textOf(taken.get(blob), bytes) : { ok: false, why: blob.why }
    }
  }

  /** The blobs of those files that exist, or the reasons why they are refused. */
  async #blobsOf(files: readonly PluginFile[]): Promise<ReadonlyMap<string, BlobPlace>> {
    const texts = new LinkTexts()
    for (;;) {
      const found = new Map<string, BlobPlace>()
      const find = (file: PluginFile): void => {
        const place = this.#blobOf(file, texts)
        if (place !== undefined) found.set(keyOf(file), place)
      }
      await inSlices(files, find, this.#signal)
      if (!(await texts.takeMissing(this.#tree, this.#signal))) return found
    }
  }

  #blobOf({ path, within }: PluginFile, texts: LinkTexts): BlobPlace | undefined {
    const entry = this.#places.entryAt(path)
    if (entry === undefined) return undefined
    if (entry.kind !== 'link') return blobOf(entry)
    const bounds = within === '' ? undefined : { folder: within, called: 'the plugin' }
    const target = follow(this.#places, (link) => texts.textOf(link), { path, id: entry.id }, bounds)
    return target.kind === 'refused' ? { why: `it is a link, and ${target.why}` } : blobOf(target.entry)
  }

  #textOf(taken: TakenBlob | undefined, mostBytes: number): FileText {
    if (taken?.kind === 'refused' && taken.reason === 'too-large') return { ok: false, why: 'it is too large' }
    if (taken?.kind !== 'blob') return { ok: false, why: 'its content is not available' }
    if (taken.size > mostBytes)
      return { ok: false, why: `it has ${taken.size} bytes, and at most ${mostBytes} are read` }
    const text = utf8(this.#tree.bytesOf(taken))
    return text === undefined ? { ok: false, why: 'it is not UTF-8' } : { ok: true, text }
  }
}

function shownEntry({ name, kind }: TreeEntry): readonly PluginTreeEntry[] {
  if (kind === 'folder') return [{ name, kind }]
  return kind === 'file' || kind === 'executable' ? [{ name, kind: 'file' }] : []
}

/** One file may be a part of two plugins, and a link that leaves only one of them. */
function keyOf({ path, within }: PluginFile): string {
  return JSON.stringify([within, path])
}

type BlobPlace = ObjectId | { readonly why: string }

function blobOf({ kind, id }: { readonly kind: string; readonly id: ObjectId }): BlobPlace {
  return kind === 'file' || kind === 'executable' ? id : { why: 'it is not a file' }
}
