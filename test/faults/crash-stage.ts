import { cp, lstat, readFile, readdir, readlink, rm, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { skill } from '../e2e/world.ts'
import { faultsIn } from '../support/checks.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import type { Content } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { servedFiles } from './served-files.ts'

/** What somebody finds who comes after a crash, by what is asked of it. */
export interface Found {
  /** Every byte of every skill and document, by path, with what is listed. */
  readonly served: string
  /** What an agent reads through its folder, by skill. */
  readonly linked: Readonly<Record<string, string>>
  readonly lock: string | undefined
}

/** A home that can be brought back to what it was, and a git server to pull from. */
export class Stage implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly repository: Repository
  readonly #aside: { readonly path: string } & AsyncDisposable
  readonly #servers = new AsyncDisposableStack()

  private constructor(home: Home, git: GitServer, repository: Repository, aside: { path: string } & AsyncDisposable) {
    this.home = home
    this.git = git
    this.repository = repository
    this.#aside = aside
  }

  /** With the first commit at the source `team`. `source`: more lines of it; `rest`: lines of the top level. */
  static async set(source: readonly string[] = [], rest: readonly string[] = []): Promise<Stage> {
    const aside = await temporaryFolder()
    const stage = new Stage(await Home.create(), await GitServer.start(), await Repository.create(), aside)
    await stage.repository.commit(FIRST)
    const url = stage.git.serve('team', stage.repository)
    await stage.home.configure({ team: [`url: ${url}`, 'every: 1h', 'docs: docs', ...source] }, rest)
    return stage
  }

  /** The source `au` besides, another MCP server. */
  async addServer(server: { readonly url: string } & AsyncDisposable, source: readonly string[]): Promise<void> {
    this.#servers.use(server)
    const team = `url: ${this.git.serve('team', this.repository)}`
    await this.home.configure({ team: [team, 'every: 1h'], au: [`mcp: ${server.url}`, ...source] })
  }

  /** Where strace writes. */
  get log(): string {
    return join(this.#aside.path, 'calls')
  }

  /** What the home is now is what `restore` brings back. */
  async keep(): Promise<void> {
    await cp(this.home.path, join(this.#aside.path, 'home'), COPIED)
  }

  async restore(): Promise<void> {
    for (const name of await readdir(this.home.path)) await rm(join(this.home.path, name), { recursive: true })
    await cp(join(this.#aside.path, 'home'), this.home.path, COPIED)
  }

  /** Runs commands that have to succeed, in this process. */
  async run(...lines: readonly (readonly string[])[]): Promise<void> {
    for (const line of lines) {
      const { status, stdout, stderr } = await this.home.command(...line)
      if (status !== 0) throw new Error(`"${line.join(' ')}" ended with ${status}: ${stdout}${stderr}`)
    }
  }

  /** Reads everything there is to be read, and writes nothing. Throws where something is not whole. */
  async found(): Promise<Found> {
    const { home } = this
    const listing = await home.command('list', '--json')
    const verified = await home.command('verify', '--json')
    // A lock that was written is what the next pull follows; until then another commit is served, and verify says so.
    const isBehindTheLock = verified.status === 3 && codesIn(verified.stdout).every((code) => code === 'lock-differs')
    if (verified.status !== 0 && !isBehindTheLock) throw new Error(`verify: ${verified.stdout}${verified.stderr}`)
    const served = JSON.stringify([listedIn(listing.stdout), ...(await servedFiles(home.state))], undefined, 1)
    const folder = join(home.path, AGENT_FOLDER)
    const names = await readdir(folder).catch(() => [])
    const texts = names.map(async (name) => [name, await textAt(join(folder, name, 'SKILL.md'))])
    return { served, linked: Object.fromEntries(await Promise.all(texts)), lock: await textAt(this.lock) }
  }

  get lock(): string {
    return join(this.home.configFile, '..', 'skills.lock')
  }

  /** Everything in the home, but times and the numbers of generations. */
  async picture(): Promise<readonly string[]> {
    const entries = (await readdir(this.home.path, { recursive: true })).filter((name) => !IS_OF_SQLITE.test(name))
    const lines = entries.map(async (name) => `${name} ${await described(join(this.home.path, name))}`)
    return [...new Set(await Promise.all(lines))].toSorted()
  }

  /** A turn that a killed process has left is waited for, ten seconds by the clock on the wall. */
  async age(): Promise<void> {
    await utimes(`${this.lock}.new`, 0, 0).catch(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers.disposeAsync()
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
    await this.#aside[Symbol.asyncDispose]()
  }
}

export const AGENT_FOLDER = '.claude/skills'

const COPIED = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, filter: isNoSocket }

/** What is at the first commit of the source. */
export const FIRST = {
  'changed/SKILL.md': skill('changed', 'first'),
  'changed/references/more.md': 'the same in both\n',
  'removed/SKILL.md': skill('removed', 'first'),
  'still/SKILL.md': skill('still', 'always the same'),
  'still/run.sh': { executable: 'echo still\n' },
  'docs/index.md': 'first\n',
  'docs/deep/page.md': 'the same in both\n',
} satisfies Record<string, Content>

/** What the second one does to it: one skill is changed, one is new, one is gone, and the docs are others. */
export const SECOND = {
  'changed/SKILL.md': skill('changed', 'second'),
  removed: null,
  'added/SKILL.md': skill('added', 'second'),
  'added/references/deep/more.md': 'new\n',
  'docs/index.md': 'second\n',
} satisfies Record<string, Content | null>

async function isNoSocket(path: string): Promise<boolean> {
  return !(await lstat(path)).isSocket()
}

async function textAt(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

async function described(path: string): Promise<string> {
  const found = await lstat(path)
  const mode = (found.mode & 0o7777).toString(8)
  if (found.isSymbolicLink()) return `link ${await readlink(path)}`
  if (!found.isFile()) return `${found.isDirectory() ? 'folder' : 'other'} ${mode}`
  if (basename(path) === 'store.db') return `database ${mode} ${objectsIn(path)}`
  return `file ${mode} ${timeless(await readFile(path, 'utf8'), path)}`
}

/** The log of what is written ahead and its index: the database is read with them. */
const IS_OF_SQLITE = /\/store\.db-(?:wal|shm)$/

/** Each object but the generations, which have times and numbers in them; and whether one is served. */
function objectsIn(path: string): string {
  using database = new DatabaseSync(path)
  const objects = database
    .prepare('SELECT lower(hex(digest)) AS digest FROM object WHERE digest NOT IN (SELECT generation FROM head)')
    .all()
  const { heads } = { ...database.prepare('SELECT count(*) > 0 AS heads FROM head').get() }
  return JSON.stringify([heads, ...objects.map(({ digest }) => String(digest)).toSorted()])
}

function timeless(text: string, path: string): string {
  if (path.endsWith('/current')) return 'N'
  // The hashes of a log follow from the times of its entries.
  if (path.endsWith('/checkpoint')) return text.split('\n', 2).join('\n')
  if (/\/tile\/\d+\//.test(path)) return 'hashes'
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
}

/** The codes of what verify found, without notes. */
function codesIn(verified: string): readonly string[] {
  return faultsIn(verified).map(({ check }) => check)
}

/** The listing, but for how many files of another server came so far: each comes by itself, whole or not. */
function listedIn(json: string): unknown {
  return JSON.parse(json, (key, value: unknown) => (key === 'verified' ? undefined : value))
}
