import { hash } from 'node:crypto'
import { joinPath } from '../../../base/paths.ts'
import type { ObjectId } from '../../model/revision.ts'
import { isLfsPointer } from '../../skill/lfs.ts'
import type { ClaimedFile, ComparedClaims, Difference, NotCompared, ServedClaim } from './second-opinion.ts'

/** The objects of a repository as the second reader has them; `undefined` for one that is not there. */
export interface ComparedObjects {
  /** Returns the tree of a commit. */
  rootOf(commit: ObjectId): Promise<string | undefined>
  entriesOf(tree: string): Promise<readonly ComparedEntry[] | undefined>
  bytesOf(blob: string): Promise<Uint8Array | undefined>
}

/** An entry of a tree, with its mode as git writes it. */
export interface ComparedEntry {
  readonly name: string
  readonly mode: string
  readonly id: string
}

/** An object in a form that git takes and isomorphic-git does not, whose bytes have its id. */
export class UnreadableError extends Error {
  override readonly name = 'Unreadable'
}

/** Compares the claims about a commit with what the second reader has of it. */
export async function compareClaims(
  objects: ComparedObjects,
  commit: ObjectId,
  claims: readonly ServedClaim[],
  place: 'remote' | 'disk',
): Promise<ComparedClaims | NotCompared> {
  const root = await rootOrReason(objects, commit)
  if (root instanceof UnreadableError) return { kind: 'not-compared', why: root.message }
  if (root === undefined) {
    // A host without the commit refuses the request before this point.
    if (place === 'disk') return { kind: 'not-compared', why: `the repository no longer has ${commit}` }
    const message = `the host was asked for ${commit} and sent something else`
    return { kind: 'compared', files: 0, differences: [{ path: '', message }], more: 0 }
  }
  const files = new CommitFiles(objects, root)
  const comparison = new Comparison(files, place === 'disk' ? 'the repository' : 'what the host sent')
  for (const claim of claims) await comparison.add(claim)
  return comparison.opinion
}

async function rootOrReason(objects: ComparedObjects, commit: ObjectId): Promise<string | UnreadableError | undefined> {
  try {
    return await objects.rootOf(commit)
  } catch (error) {
    if (error instanceof UnreadableError) return error
    throw error
  }
}

class Comparison {
  readonly #commit: CommitFiles
  readonly #from: string
  readonly #differences: Difference[] = []
  readonly #unread = new Set<string>()
  #files = 0
  #more = 0

  constructor(commit: CommitFiles, from: string) {
    this.#commit = commit
    this.#from = from
  }

  get opinion(): ComparedClaims {
    const compared = { kind: 'compared', files: this.#files, differences: this.#differences, more: this.#more } as const
    return this.#unread.size === 0 ? compared : { ...compared, unread: [...this.#unread].slice(0, MOST_DIFFERENCES) }
  }

  async add({ skill, folder, files, lacksPointers }: ServedClaim): Promise<void> {
    const about = skill === undefined ? {} : { skill }
    const claimed = new Set<string>()
    for (const file of files) {
      claimed.add(file.path)
      const found = await this.#unlessLacking(() => this.#judge(joinPath(folder, file.path), file))
      if (found === UNREAD) continue
      this.#files += 1
      this.#note(found, file.path, about)
    }
    // Docs are only the Markdown files of a folder; a skill is every file in it.
    if (skill === undefined) return
    for (const path of await this.#allIn(folder)) {
      const isAccounted =
        claimed.has(path) || (lacksPointers === true && (await this.#isPointer(joinPath(folder, path))))
      if (!isAccounted) this.#note('the commit has this file in the skill, and it is not served', path, about)
    }
  }

  async #allIn(folder: string): Promise<readonly string[]> {
    const all = await this.#unlessLacking(() => this.#commit.filesBelow(folder))
    // A missing tree on the way is reported with the files above.
    return typeof all === 'object' ? all : []
  }

  async #isPointer(path: string): Promise<boolean> {
    const found = await this.#unlessLacking(async () => {
      const entry = await this.#commit.entryAt(path)
      return entry !== undefined && isFile(entry) && isLfsPointer(await this.#commit.bytesOf(entry.id))
    })
    return found === true
  }

  async #judge(path: string, { executable, size, sha256 }: ClaimedFile): Promise<string | undefined> {
    const entry = await this.#commit.entryAt(path)
    if (entry === undefined || !isFile(entry)) return 'the commit has no such file'
    const bytes = await this.#commit.bytesOf(entry.id)
    const sum = hash('sha256', bytes)
    if (sum !== sha256 || bytes.length !== size)
      return `the commit has ${bytes.length} bytes with the SHA-256 ${sum}, and ${size} with ${sha256} are served`
    const isExecutable = entry.mode === EXECUTABLE
    if (isExecutable === executable) return undefined
    return `it is ${isExecutable ? '' : 'not '}executable in the commit, and ${executable ? '' : 'not '}as it is served`
  }

  async #unlessLacking<Found>(look: () => Promise<Found>): Promise<Found | string | typeof UNREAD> {
    try {
      return await look()
    } catch (error) {
      if (error instanceof Lacking) return `the commit names the object ${error.id}, and ${this.#from} does not have it`
      if (!(error instanceof UnreadableError)) throw error
      this.#unread.add(error.message)
      return UNREAD
    }
  }

  #note(message: string | undefined, path: string, about: { readonly skill?: string }): void {
    if (message === undefined) return
    if (this.#differences.length < MOST_DIFFERENCES) this.#differences.push({ ...about, path, message })
    else this.#more += 1
  }
}

/** The maximum that an operator will read. */
const MOST_DIFFERENCES = 100

const EXECUTABLE = '100755'
const LINK = '120000'
const FOLDER = '040000'

/** True for a file, and for a link, whose target is its content. */
function isFile({ mode }: ComparedEntry): boolean {
  return mode.startsWith('100') || mode === LINK
}

/** The result of a look at something that isomorphic-git cannot read. */
const UNREAD = Symbol('unread')

/** The commit names an object that does not exist. */
class Lacking extends Error {
  readonly id: string

  constructor(id: string) {
    super(`There is no object ${id}`)
    this.id = id
  }
}

/** The files of one commit by path, following links. */
class CommitFiles {
  readonly #objects: ComparedObjects
  readonly #root: string
  readonly #trees = new Map<string, ReadonlyMap<string, ComparedEntry>>()

  constructor(objects: ComparedObjects, root: string) {
    this.#objects = objects
    this.#root = root
  }

  /** `undefined` if nothing exists there, or if a link leads nowhere within the commit. */
  async entryAt(path: string, hops = MOST_HOPS): Promise<ComparedEntry | undefined> {
    let at: ComparedEntry = { mode: FOLDER, name: '', id: this.#root }
    const names = path === '' ? [] : path.split('/')
    for (const [index, name] of names.entries()) {
      const entry = at.mode === FOLDER ? (await this.#treeOf(at.id)).get(name) : undefined
      if (entry === undefined) return undefined
      if (entry.mode === LINK) return this.#throughLink(entry, names, index, hops)
      at = entry
    }
    return at
  }

  async #throughLink({ id }: ComparedEntry, names: readonly string[], index: number, hops: number) {
    if (hops === 0) return undefined
    const text = Buffer.from(await this.bytesOf(id)).toString('utf8')
    const target = targetOf(names.slice(0, index), text)
    return target && this.entryAt([...target, ...names.slice(index + 1)].join('/'), hops - 1)
  }

  /** Returns the paths of all real files in a folder: a link is only another name of a file. */
  async filesBelow(folder: string): Promise<readonly string[]> {
    const at = await this.entryAt(folder)
    return at?.mode === FOLDER ? this.#filesIn(at.id, '') : []
  }

  async #filesIn(tree: string, above: string): Promise<string[]> {
    const files: string[] = []
    for (const [name, entry] of await this.#treeOf(tree)) {
      const path = joinPath(above, name)
      if (entry.mode === FOLDER) files.push(...(await this.#filesIn(entry.id, path)))
      else if (isFile(entry) && entry.mode !== LINK) files.push(path)
    }
    return files
  }

  async bytesOf(id: string): Promise<Uint8Array> {
    return had(id, await this.#objects.bytesOf(id))
  }

  async #treeOf(id: string): Promise<ReadonlyMap<string, ComparedEntry>> {
    const known = this.#trees.get(id)
    if (known !== undefined) return known
    const entries = had(id, await this.#objects.entriesOf(id))
    const byName = new Map(entries.map((entry) => [entry.name, entry]))
    this.#trees.set(id, byName)
    return byName
  }
}

function had<Found>(id: string, found: Found | undefined): Found {
  if (found === undefined) throw new Lacking(id)
  return found
}

/** More than git itself follows. */
const MOST_HOPS = 40

/** Returns the target of a link as names from the root; `undefined` if it leads outside. */
function targetOf(folder: readonly string[], text: string): readonly string[] | undefined {
  if (text.startsWith('/')) return undefined
  const names = [...folder]
  for (const name of text.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return undefined
  }
  return names
}
