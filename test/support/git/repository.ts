import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { temporaryFolder } from '../temporary.ts'
import { commitLines, commitStream, PERSON, type CommitPlan } from './fast-import.ts'
import { commitOf, isId, LooseObjects, treeOf, writeRef, type Files, type ObjectType } from './loose-objects.ts'

/** What stands at a path of a commit: a file's bytes, or what else git can hold there. */
export type Content =
  | string
  | Uint8Array
  | { readonly executable: string | Uint8Array }
  | { readonly link: string }
  | { readonly submodule: string }

/** One entry of a tree as git stores it: nothing about the name is checked. */
export interface RawEntry {
  readonly mode: string
  readonly name: string | Uint8Array
  readonly id: string
}

interface RepositoryOptions {
  readonly branch?: string
  /** Where the bare repository is made; a temporary folder, removed on disposal, unless given. */
  readonly folder?: string
  /** Whether fetches may ask for `filter blob:none`; true unless given. */
  readonly filter?: boolean
  readonly objectFormat?: 'sha1' | 'sha256'
}

interface CommitOptions {
  readonly branch?: string
  readonly message?: string
  /** Makes a new root commit whose tree holds the given files alone. */
  readonly orphan?: boolean
}

/**
 * A bare git repository, the same ids on each machine. One change at a time: await each. What is small is written as
 * git writes it but without git, because tests make thousands of repositories and each process takes its time.
 */
export class Repository implements AsyncDisposable {
  readonly folder: string
  readonly #branch: string
  readonly #temporary: AsyncDisposable | undefined
  readonly #format: Format
  readonly #objects: LooseObjects
  /** The files of the commits that were written here. */
  readonly #snapshots = new Map<string, Snapshot>()
  #seconds = 1_750_000_000

  private constructor(folder: string, branch: string, format: Format, temporary: AsyncDisposable | undefined) {
    this.folder = folder
    this.#branch = branch
    this.#format = format
    this.#objects = new LooseObjects(folder, format)
    this.#temporary = temporary
  }

  /** Makes an empty repository whose HEAD points to the branch (`main`). */
  static async create(options: RepositoryOptions = {}): Promise<Repository> {
    const { branch = 'main', filter = true, objectFormat = 'sha1' } = options
    const temporary = options.folder === undefined ? await temporaryFolder() : undefined
    const folder = options.folder ?? temporary!.path
    await writeLayout(folder, await (layouts[objectFormat] ??= layoutOf(objectFormat)))
    await writeFile(join(folder, 'HEAD'), `ref: refs/heads/${branch}\n`)
    await writeFile(join(folder, 'config'), settingsOf(filter), { flag: 'a' })
    return new Repository(folder, branch, objectFormat, temporary)
  }

  /** Makes another of the same objects and refs, in a temporary folder. */
  async copy(): Promise<Repository> {
    const temporary = await temporaryFolder()
    await cp(this.folder, temporary.path, { recursive: true })
    const copy = new Repository(temporary.path, this.#branch, this.#format, temporary)
    copy.#seconds = this.#seconds
    return copy
  }

  /**
   * Commits on a branch, on top of what it holds: the given paths are set, `null` removes a path with all below it.
   * Returns the commit id.
   */
  async commit(files: Readonly<Record<string, Content | null>>, options: CommitOptions = {}): Promise<string> {
    const { branch = this.#branch, message = 'change', orphan = false } = options
    const ref = `refs/heads/${branch}`
    const parent = orphan ? undefined : await this.#idOf(ref)
    const plan = { ref, parent, message, seconds: this.#tick(), files }
    const before = parent === undefined ? EMPTY : this.#snapshots.get(parent)
    if (before !== undefined && Object.keys(files).length <= FEW) return this.#write(plan, before)
    const stream = Buffer.concat(commitStream(plan))
    return (await this.#run(['fast-import', '--quiet', '--force', '--done'], stream)).toString().trim()
  }

  /** Commits that change no file, one for each message, on top of what the ref holds. Returns the last. Many are quick. */
  async commits(ref: string, messages: readonly string[]): Promise<string> {
    const parent = await this.#idOf(ref)
    const plans = messages.map((message) => ({ ref, message, seconds: this.#tick() }))
    const streams = plans.flatMap((plan, index) => commitLines(plan, index === 0 ? parent : ':1'))
    const stream = Buffer.concat([...streams, Buffer.from('get-mark :1\ndone\n')])
    return (await this.#run(['fast-import', '--quiet', '--force', '--done'], stream)).toString().trim()
  }

  /** Sets a tag, moving it if it exists. Returns the id of the tag object if annotated, else of the commit. */
  async tag(name: string, options: { commit?: string; annotated?: boolean } = {}): Promise<string> {
    const { commit = `refs/heads/${this.#branch}`, annotated = false } = options
    const ref = `refs/tags/${name}`
    this.#tick()
    if (annotated) await this.git('tag', '--force', '--annotate', '--message', name, name, commit)
    else await this.setRef(ref, (await this.#idOf(commit)) ?? commit)
    return (await this.#idOf(ref)) ?? ''
  }

  async setRef(ref: string, commit: string): Promise<void> {
    if (isId(commit) && ref.startsWith('refs/')) writeRef(this.folder, ref, commit)
    else await this.git('update-ref', ref, commit)
  }

  async deleteRef(ref: string): Promise<void> {
    await this.git('update-ref', '-d', ref)
  }

  /** Writes a tree of the entries as given, in the order given: for names that git itself would refuse. */
  async rawTree(entries: readonly RawEntry[]): Promise<string> {
    return this.object('tree', treeOf(entries))
  }

  /** Commits a tree object on top of the branch and moves the branch there. Returns the commit id. */
  async commitTree(tree: string, options: { branch?: string; message?: string } = {}): Promise<string> {
    const { branch = this.#branch, message = 'change' } = options
    const ref = `refs/heads/${branch}`
    const parent = await this.#idOf(ref)
    const commit = this.#objects.write('commit', commitOf(tree, parent, `${message}\n`, this.#tick()))
    await this.setRef(ref, commit)
    return commit
  }

  async blob(bytes: string | Uint8Array): Promise<string> {
    return this.object('blob', bytes)
  }

  /** Writes an object of the type with exactly these bytes, checked by nobody. Returns its id. */
  async object(type: ObjectType, bytes: string | Uint8Array): Promise<string> {
    return this.#objects.write(type, bytes)
  }

  /** Runs git on the repository. Returns what it printed, trimmed. */
  async git(...args: string[]): Promise<string> {
    return (await this.#run(args)).toString().trim()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#temporary?.[Symbol.asyncDispose]()
  }

  async #write({ ref, parent, message, seconds, files }: CommitPlan, before: Snapshot): Promise<string> {
    const after = { files: this.#objects.changed(before.files, files), trees: new Set(before.trees) }
    const tree = this.#objects.writeTrees(after.files, after.trees)
    const commit = this.#objects.write('commit', commitOf(tree, parent, message, seconds))
    this.#snapshots.set(commit, after)
    await this.setRef(ref, commit)
    return commit
  }

  async #idOf(ref: string): Promise<string | undefined> {
    if (isId(ref)) return ref
    const loose = await readFile(join(this.folder, ref), 'utf8').catch(() => undefined)
    if (loose !== undefined && isId(loose.trim())) return loose.trim()
    if (loose === undefined && !existsSync(join(this.folder, 'packed-refs'))) return undefined
    const id = await this.git('for-each-ref', '--format=%(objectname)', ref)
    return id === '' ? undefined : id
  }

  #run(args: readonly string[], input?: string | Uint8Array): Promise<Buffer> {
    return runGit(['--git-dir', this.folder, ...args], { seconds: this.#seconds, input })
  }

  /** Commits made one after another differ in their time, so that equal trees give different ids. */
  #tick(): number {
    this.#seconds += 60
    return this.#seconds
  }
}

/** The environment for a git that reads no configuration of the machine, asks nobody and writes as one fixed person. */
export function gitEnvironment(seconds = 1_750_000_000): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: PERSON.name,
    GIT_AUTHOR_EMAIL: PERSON.email,
    GIT_AUTHOR_DATE: `${seconds} +0000`,
    GIT_COMMITTER_NAME: PERSON.name,
    GIT_COMMITTER_EMAIL: PERSON.email,
    GIT_COMMITTER_DATE: `${seconds} +0000`,
  }
}

/** Runs git apart from the machine's configuration. Returns what it printed; throws what it complained about. */
export async function runGit(
  args: readonly string[],
  options: { readonly cwd?: string; readonly input?: string | Uint8Array | undefined; readonly seconds?: number } = {},
): Promise<Buffer> {
  const child = spawn('git', args, { cwd: options.cwd, env: gitEnvironment(options.seconds) })
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  // A git that ends before it has read its input tells why on stderr; the broken pipe is not the reason.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input)
  const [code, stdout, stderr] = await Promise.all([exit, buffer(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${stderr.trim()}`)
  return stdout
}

/** The files of a commit, and the ids of its trees and of those of commits before it. */
interface Snapshot {
  readonly files: Files
  readonly trees: ReadonlySet<string>
}

const EMPTY: Snapshot = { files: new Map(), trees: new Set() }

/** The most files that a commit is written with here. Of more, git makes one pack. */
const FEW = 50

type Format = 'sha1' | 'sha256'

/** The folders and files of an empty bare repository: git makes them once for each format. */
interface Layout {
  readonly folders: readonly string[]
  readonly files: ReadonlyMap<string, string>
}

const layouts: Partial<Record<Format, Promise<Layout>>> = {}

async function layoutOf(format: Format): Promise<Layout> {
  await using folder = await temporaryFolder()
  await runGit(['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, folder.path])
  const entries = await readdir(folder.path, { recursive: true, withFileTypes: true })
  const pathOf = (entry: (typeof entries)[number]) => join(entry.parentPath, entry.name)
  const files = entries.filter((entry) => entry.isFile()).map(pathOf)
  const inside = (path: string) => relative(folder.path, path)
  return {
    folders: entries.filter((entry) => entry.isDirectory()).map((entry) => inside(pathOf(entry))),
    files: new Map(files.map((path) => [inside(path), readFileSync(path, 'utf8')])),
  }
}

async function writeLayout(folder: string, { folders, files }: Layout): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const path of folders) await mkdir(join(folder, path), { recursive: true })
  for (const [path, text] of files) await writeFile(join(folder, path), text)
}

/** Packing in the background would outlive the test. */
function settingsOf(filter: boolean): string {
  const lines = ['[uploadpack]', `allowFilter = ${filter}`, 'allowAnySHA1InWant = true', '[http]', 'receivepack = true']
  return [...lines, '[gc]', 'auto = 0', ''].join('\n')
}
