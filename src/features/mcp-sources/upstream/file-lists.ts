import { isMapping } from '../../../base/json-value.ts'
import { folderOf } from '../../../base/paths.ts'
import { isSize } from '../../../sync/model/declared-digest.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import { costsOnly, EntryUnanswered } from '../client/entry-requests.ts'
import { isAbsence } from '../client/rpc-errors.ts'
import { ListedFiles, pathOfUri, rootOf, saidIn } from './listed-files.ts'
import type { ListedFile } from './listed-files.ts'
import { allOf, enumerationRefusal } from './pages.ts'
import type { Enumerating } from './pages.ts'

/** The files of a skill, or why they cannot be listed. */
export type FileList =
  | {
      readonly ok: true
      readonly files: readonly ListedFile[]
      /** True if the folder itself was listed, so there are no other files. */
      readonly isWhole: boolean
      /** Children listed for a folder that are outside it. They are not read. */
      readonly strays: UnexpectedFiles
    }
  | { readonly ok: false; readonly why: string }

/** The first strays, formatted for messages, and the total count. */
export interface UnexpectedFiles {
  readonly first: readonly string[]
  readonly count: number
}

/** Lists the files of skills without an entry: from the folder if the server lists folders, else from all resources. */
export class FileLists {
  readonly #enumerating: Enumerating
  readonly #listsFolders: boolean
  readonly #folders: Enumerating
  #resources: Promise<ListedFiles> | undefined

  /** `folders`: the context for the folders of single skills. */
  constructor(enumerating: Enumerating, listsFolders: boolean, folders = enumerating) {
    this.#enumerating = enumerating
    this.#listsFolders = listsFolders
    this.#folders = folders
  }

  /** Lists the files of the skill whose SKILL.md has this URI. `most` limits only a walk through folders. */
  async of(uri: string, most: number): Promise<FileList> {
    const walked = this.#listsFolders ? await this.#walked(uri, most) : undefined
    if (walked !== undefined) return walked
    const skill = folderOfUri(uri)
    const files = (await this.resources()).below(skill ?? '')
    return { ok: true, files, isWhole: false, strays: { first: [], count: 0 } }
  }

  /** Returns everything in `resources/list`; empty if the server has no such list. Requested once. */
  async resources(firstMs?: number): Promise<ListedFiles> {
    this.#resources ??= this.#listResources(firstMs)
    return this.#resources
  }

  async #listResources(firstMs: number | undefined): Promise<ListedFiles> {
    const asked = { method: 'resources/list', key: 'resources', ...(firstMs !== undefined && { firstMs }) }
    const items = await allOf(asked, this.#enumerating)
    if (!('ok' in items)) return new ListedFiles(filesIn(items))
    // Otherwise a temporary server failure would look like skills of one file.
    if (!isAbsence(items)) throw enumerationRefusal(asked.method, items)
    return new ListedFiles([])
  }

  async #walked(uri: string, most: number): Promise<FileList | undefined> {
    try {
      return await costsOnly(uri, () => this.#walk(uri, most))
    } catch (error) {
      const cause = error instanceof EntryUnanswered ? error.cause : undefined
      if (!(cause instanceof SyncError)) throw error
      // The budgets are those of the whole listing.
      if (cause.code === 'limit-exceeded') throw cause
      if (cause.code !== 'content-refused') throw error
      return { ok: false, why: cause.message }
    }
  }

  /** `undefined` if the server does not list the folder after all. */
  async #walk(uri: string, most: number): Promise<FileList | undefined> {
    const walk = new Walk(most)
    const folders: Folder[] = [{ uri: rootOf(uri), path: folderOfUri(uri) ?? '', depth: 0 }]
    for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
      const asked = { method: 'resources/directory/read', key: 'resources', params: { uri: folder.uri } }
      const items = await allOf(asked, this.#folders)
      if ('ok' in items && !isAbsence(items)) throw enumerationRefusal(asked.method, items)
      if ('ok' in items) return folder.depth === 0 ? undefined : { ok: false, why: `"${folder.path}" is not listed` }
      folders.push(...walk.take(items, folder))
      if (walk.why !== undefined) return { ok: false, why: walk.why }
    }
    return { ok: true, files: walk.files, isWhole: true, strays: walk.strays }
  }
}

interface Folder {
  readonly uri: string
  readonly path: string
  readonly depth: number
}

/** The results of a walk through folders, each path once. */
class Walk {
  readonly files: ListedFile[] = []
  /** The reason to stop the walk; `undefined` while it can continue. */
  why: string | undefined
  readonly #most: number
  readonly #met = new Set<string>()
  readonly #firstStrays: string[] = []
  #strays = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Adds the direct children of a folder, and returns its subfolders. */
  take(items: readonly unknown[], { path: parent, depth }: Folder): Folder[] {
    const folders: Folder[] = []
    for (const item of items.filter(isMapping)) {
      const { uri, mimeType } = item
      const path = typeof uri === 'string' ? pathOfUri(uri) : undefined
      // A listing does not permit every URI in it. Only direct children are followed, so a walk never loops.
      if (typeof uri !== 'string' || path === undefined || folderOf(path) !== parent) this.#addStray(uri)
      else if (!this.#isNew(path)) continue
      else if (mimeType === FOLDER) folders.push({ uri, path, depth: depth + 1 })
      else this.files.push(...filesIn([item]))
    }
    if (depth >= DEPTH && folders.length > 0) this.why = `folders lie more than ${DEPTH} deep`
    if (this.files.length > this.#most) this.why = `it has more than ${this.#most} files`
    if (this.#met.size > NODES) this.why = `it has more than ${NODES} files and folders`
    return folders
  }

  get strays(): UnexpectedFiles {
    return { first: this.#firstStrays, count: this.#strays }
  }

  #addStray(uri: unknown): void {
    this.#strays += 1
    if (this.#strays <= MOST_NAMED) this.#firstStrays.push(shownValue(uri))
  }

  #isNew(path: string): boolean {
    const isNew = !this.#met.has(path)
    this.#met.add(path)
    return isNew
  }
}

const FOLDER = 'inode/directory'
const DEPTH = 32
const NODES = 10_000

/** The maximum number of strays in a message. */
const MOST_NAMED = 4

function filesIn(items: readonly unknown[]): ListedFile[] {
  return items.filter(isMapping).flatMap(({ uri, size, annotations }) => {
    if (typeof uri !== 'string') return []
    const { lastModified }: Readonly<Record<string, unknown>> = isMapping(annotations) ? annotations : {}
    return [{ uri, size: isSize(size) ? size : undefined, said: saidIn([size, lastModified]) }]
  })
}

function folderOfUri(uri: string): string | undefined {
  const path = pathOfUri(uri)
  return path === undefined ? undefined : folderOf(path)
}
