import { spawn } from 'node:child_process'
import { buffer, text } from 'node:stream/consumers'
import { temporaryFolder } from './temporary.ts'

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

/** A bare git repository made by plumbing, the same ids on each machine. One change at a time: await each. */
export class Repository implements AsyncDisposable {
  readonly folder: string
  readonly #branch: string
  readonly #temporary: AsyncDisposable | undefined
  #seconds = 1_750_000_000

  private constructor(folder: string, branch: string, temporary: AsyncDisposable | undefined) {
    this.folder = folder
    this.#branch = branch
    this.#temporary = temporary
  }

  /** Makes an empty repository whose HEAD points to the branch (`main`). */
  static async create(options: RepositoryOptions = {}): Promise<Repository> {
    const { branch = 'main', filter = true, objectFormat = 'sha1' } = options
    const temporary = options.folder === undefined ? await temporaryFolder() : undefined
    const folder = options.folder ?? temporary!.path
    const init = ['init', '--quiet', '--bare', '--template=', `--object-format=${objectFormat}`]
    await runGit([...init, `--initial-branch=${branch}`, folder])
    const repository = new Repository(folder, branch, temporary)
    await repository.git('config', 'uploadpack.allowFilter', String(filter))
    await repository.git('config', 'uploadpack.allowAnySHA1InWant', 'true')
    await repository.git('config', 'http.receivepack', 'true')
    // Packing in the background would outlive the test.
    await repository.git('config', 'gc.auto', '0')
    return repository
  }

  /**
   * Commits on a branch, on top of what it holds: the given paths are set, `null` removes a path with all below it.
   * Returns the commit id.
   */
  async commit(files: Readonly<Record<string, Content | null>>, options: CommitOptions = {}): Promise<string> {
    const { branch = this.#branch, message = 'change', orphan = false } = options
    const ref = `refs/heads/${branch}`
    const parent = orphan ? undefined : await this.#idOf(ref)
    const stream = Buffer.concat(commitStream({ ref, parent, message, seconds: this.#tick(), files }))
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
    this.#tick()
    await this.git('tag', '--force', ...(annotated ? ['--annotate', '--message', name] : []), name, commit)
    return this.git('rev-parse', '--verify', `refs/tags/${name}`)
  }

  async setRef(ref: string, commit: string): Promise<void> {
    await this.git('update-ref', ref, commit)
  }

  async deleteRef(ref: string): Promise<void> {
    await this.git('update-ref', '-d', ref)
  }

  /** Writes a tree of the entries as given, in the order given: for names that git itself would refuse. */
  async rawTree(entries: readonly RawEntry[]): Promise<string> {
    return this.object('tree', Buffer.concat(entries.flatMap(entryBytes)))
  }

  /** Commits a tree object on top of the branch and moves the branch there. Returns the commit id. */
  async commitTree(tree: string, options: { branch?: string; message?: string } = {}): Promise<string> {
    const { branch = this.#branch, message = 'change' } = options
    const ref = `refs/heads/${branch}`
    const parent = await this.#idOf(ref)
    this.#tick()
    const commit = await this.git('commit-tree', ...(parent === undefined ? [] : ['-p', parent]), '-m', message, tree)
    await this.setRef(ref, commit)
    return commit
  }

  async blob(bytes: string | Uint8Array): Promise<string> {
    return this.object('blob', bytes)
  }

  /** Writes an object of the type with exactly these bytes, checked by nobody. Returns its id. */
  async object(type: 'blob' | 'tree' | 'commit' | 'tag', bytes: string | Uint8Array): Promise<string> {
    const id = await this.#run(['hash-object', '-t', type, '-w', '--stdin', '--literally'], bytes)
    return id.toString().trim()
  }

  /** Runs git on the repository. Returns what it printed, trimmed. */
  async git(...args: string[]): Promise<string> {
    return (await this.#run(args)).toString().trim()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#temporary?.[Symbol.asyncDispose]()
  }

  async #idOf(ref: string): Promise<string | undefined> {
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

const PERSON = { name: 'Ada Author', email: 'ada@example.com' }

interface CommitPlan {
  readonly ref: string
  readonly parent: string | undefined
  readonly message: string
  readonly seconds: number
  readonly files: Readonly<Record<string, Content | null>>
}

/** The whole commit in the language of `git fast-import`, which then prints the commit's id. */
function commitStream(plan: CommitPlan): Uint8Array[] {
  const files = Object.entries(plan.files)
  return [
    ...commitLines(plan, plan.parent),
    // Removed first, so that one commit can put a file where a folder was.
    ...files.flatMap(([path, content]) => (content === null ? [Buffer.from(`D ${quoted(path)}\n`)] : [])),
    ...files.flatMap(([path, content]) => (content === null ? [] : change(path, content))),
    Buffer.from('\nget-mark :1\ndone\n'),
  ]
}

function commitLines(
  { ref, message, seconds }: Pick<CommitPlan, 'ref' | 'message' | 'seconds'>,
  parent: string | undefined,
): Uint8Array[] {
  const person = `${PERSON.name} <${PERSON.email}> ${seconds} +0000`
  return [
    Buffer.from(`commit ${ref}\nmark :1\nauthor ${person}\ncommitter ${person}\n`),
    ...data(message),
    Buffer.from(parent === undefined ? '' : `from ${parent}\n`),
  ]
}

function change(path: string, content: Content): Uint8Array[] {
  if (typeof content === 'string' || content instanceof Uint8Array) return file('100644', path, content)
  if ('executable' in content) return file('100755', path, content.executable)
  if ('link' in content) return file('120000', path, content.link)
  return [Buffer.from(`M 160000 ${content.submodule} ${quoted(path)}\n`)]
}

function file(mode: string, path: string, bytes: string | Uint8Array): Uint8Array[] {
  return [Buffer.from(`M ${mode} inline ${quoted(path)}\n`), ...data(bytes)]
}

function data(bytes: string | Uint8Array): Uint8Array[] {
  return [Buffer.from(`data ${Buffer.byteLength(bytes)}\n`), Buffer.from(bytes), Buffer.from('\n')]
}

/** A path in C-style quotes, as fast-import reads them. */
function quoted(path: string): string {
  const escapes: Record<string, string> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }
  return `"${path.replaceAll(/[\\"\n]/g, (letter) => escapes[letter] ?? letter)}"`
}

function entryBytes(entry: RawEntry): Uint8Array[] {
  return [Buffer.from(`${entry.mode} `), Buffer.from(entry.name), Buffer.from([0]), Buffer.from(entry.id, 'hex')]
}
