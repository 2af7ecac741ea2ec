import { hash } from 'node:crypto'
import { Errors, readBlob, readCommit, readObject, readTree, type FsClient, type TreeEntry } from 'isomorphic-git'
import { joinPath } from '../../../../base/paths.ts'
import type { ObjectId } from '../../../model/revision.ts'
import { isLfsPointer } from '../../../skill-md/lfs.ts'
import type { ServedClaim, ClaimedFile, Difference, SecondOpinion } from './second-opinion.ts'

/** The repository that isomorphic-git reads. */
export interface ComparedRepository {
  readonly fs: FsClient
  readonly gitdir: string
  readonly cache: object
}

/** Compares the claims about a commit with what isomorphic-git reads. None of our own git code takes part. */
export async function compareClaims(
  objects: ComparedRepository,
  commit: ObjectId,
  claims: readonly ServedClaim[],
  place: 'remote' | 'disk',
): Promise<SecondOpinion> {
  const files = new CommitFiles(objects, commit)
  const unread = await files.unreadCommit()
  if (unread instanceof Unreadable) return { kind: 'not-compared', why: unread.message }
  if (unread !== undefined) {
    // A host without the commit refuses the request before this point.
    if (place === 'disk') return { kind: 'not-compared', why: `the repository no longer has ${commit}` }
    const message = `the host was asked for ${commit} and sent something else`
    return { kind: 'compared', files: 0, differences: [{ path: '', message }], more: 0 }
  }
  const comparison = new Comparison(files, place === 'disk' ? 'the repository' : 'what the host sent')
  for (const claim of claims) await comparison.add(claim)
  return comparison.opinion
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

  get opinion(): SecondOpinion {
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
      return entry?.type === 'blob' && isLfsPointer(await this.#commit.bytesOf(entry.oid))
    })
    return found === true
  }

  async #judge(path: string, { executable, size, sha256 }: ClaimedFile): Promise<string | undefined> {
    const entry = await this.#commit.entryAt(path)
    if (entry?.type !== 'blob') return 'the commit has no such file'
    const bytes = await this.#commit.bytesOf(entry.oid)
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
      if (!(error instanceof Unreadable)) throw error
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

/** The result of a look at something that isomorphic-git cannot read. */
const UNREAD = Symbol('unread')

/** An object in a form that git takes and isomorphic-git does not, whose bytes have its id. */
class Unreadable extends Error {}

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
  readonly #objects: ComparedRepository
  readonly #commit: ObjectId
  readonly #trees = new Map<string, ReadonlyMap<string, TreeEntry>>()

  constructor(objects: ComparedRepository, commit: ObjectId) {
    this.#objects = objects
    this.#commit = commit
  }

  /** Returns why the commit cannot be compared; `undefined` if it can. */
  async unreadCommit(): Promise<Lacking | Unreadable | undefined> {
    try {
      await this.#had(this.#commit, () => readCommit({ ...this.#objects, oid: this.#commit }))
      return undefined
    } catch (error) {
      if (error instanceof Lacking || error instanceof Unreadable) return error
      throw error
    }
  }

  /** `undefined` if nothing exists there, or if a link leads nowhere within the commit. */
  async entryAt(path: string, hops = MOST_HOPS): Promise<TreeEntry | undefined> {
    let at: TreeEntry = { mode: '040000', path: '', oid: this.#commit, type: 'tree' }
    const names = path === '' ? [] : path.split('/')
    for (const [index, name] of names.entries()) {
      const entry = at.type === 'tree' ? (await this.#treeOf(at.oid)).get(name) : undefined
      if (entry === undefined) return undefined
      if (entry.mode === LINK) return this.#throughLink(entry, names, index, hops)
      at = entry
    }
    return at
  }

  async #throughLink({ oid }: TreeEntry, names: readonly string[], index: number, hops: number) {
    if (hops === 0) return undefined
    const text = Buffer.from(await this.bytesOf(oid)).toString('utf8')
    const target = targetOf(names.slice(0, index), text)
    return target && this.entryAt([...target, ...names.slice(index + 1)].join('/'), hops - 1)
  }

  /** Returns the paths of all real files in a folder: a link is only another name of a file. */
  async filesBelow(folder: string): Promise<readonly string[]> {
    const at = await this.entryAt(folder)
    return at === undefined || at.type !== 'tree' ? [] : this.#filesIn(at.oid, '')
  }

  async #filesIn(tree: string, above: string): Promise<string[]> {
    const files: string[] = []
    for (const [name, { mode, oid, type }] of await this.#treeOf(tree)) {
      const path = joinPath(above, name)
      if (type === 'tree') files.push(...(await this.#filesIn(oid, path)))
      else if (type === 'blob' && mode !== LINK) files.push(path)
    }
    return files
  }

  async bytesOf(oid: string): Promise<Uint8Array> {
    return (await this.#had(oid, () => readBlob({ ...this.#objects, oid }))).blob
  }

  async #treeOf(oid: string): Promise<ReadonlyMap<string, TreeEntry>> {
    const known = this.#trees.get(oid)
    if (known !== undefined) return known
    const { tree } = await this.#had(oid, () => readTree({ ...this.#objects, oid }))
    const byName = new Map(tree.map((entry) => [entry.path, entry]))
    this.#trees.set(oid, byName)
    return byName
  }

  async #had<Found>(oid: string, read: () => Promise<Found>): Promise<Found> {
    return read().catch(async (error: unknown) => {
      if (error instanceof Errors.NotFoundError) throw new Lacking(oid)
      throw (await this.#isWhole(oid)) ? new Unreadable(`the second reader cannot read the object ${oid}`) : error
    })
  }

  /** True if the object that could not be read has the bytes of its id: then its form is odd, and nothing is damaged. */
  async #isWhole(oid: string): Promise<boolean> {
    const read = await readObject({ ...this.#objects, oid, format: 'content' }).catch(() => undefined)
    if (read?.format !== 'content') return false
    const header = Buffer.from(`${read.type} ${read.object.length}\0`)
    return hash('sha1', Buffer.concat([header, read.object])) === oid
  }
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
