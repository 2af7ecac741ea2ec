import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../model/sync-error.ts'
import { gitFailureOf } from '../../upstream/http/http-failure.ts'
import { isRedirect, MAX_REDIRECTS, redirectOf, baseOf, tooManyRedirects } from '../../upstream/http/http-redirect.ts'
import { HttpTrace, type Traced } from '../../upstream/http/http-trace.ts'
import type { GitHost } from '../objects/git-host.ts'
import type { ProgramTarget } from '../objects/git-transport.ts'
import { folderInScratch } from '../objects/scratch-folder.ts'
import { httpEnvironment } from './git-http-config.ts'
import { sshLog, writeSsh } from './git-ssh-config.ts'
import { gitVersionIn, obeysNoLazyFetch } from './git-version.ts'
import { ProcessGroup, runToEnd, type ProcessBounds, type Ended, type Start } from './process-group.ts'
import { programFailure, type FailedRun } from './program-failure.ts'

/** One run of git. `bounds` defaults to the limits of the fetch. */
export interface GitRun {
  readonly args: readonly string[]
  readonly input?: string
  readonly bounds?: Partial<ProcessBounds>
  readonly fileBytes?: number
  /** Variables that override those of the same name. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * The git program, prepared for one target. It runs in its own folder, with an environment and a configuration built
 * from nothing. So the git configuration of the machine, the user or a repository has no effect. Disposal removes the
 * folder.
 */
export class GitProgram implements AsyncDisposable {
  /** The working directory. Everything that git writes is here. */
  readonly folder: string
  readonly target: ProgramTarget
  readonly #reach: GitHost
  readonly #env: Readonly<Record<string, string>>
  /** The target of a redirect over http(s). */
  #base: string | undefined

  private constructor(folder: string, target: ProgramTarget, reach: GitHost, env: Readonly<Record<string, string>>) {
    this.folder = folder
    this.target = target
    this.#reach = reach
    this.#env = env
  }

  static async open(target: ProgramTarget, reach: GitHost): Promise<GitProgram> {
    const folder = await folderInScratch(reach.scratch, 'program-')
    try {
      await mkdir(join(folder, 'home'))
      await writeFile(join(folder, 'home', '.gitconfig'), settingsFor(target))
      const ssh = target.kind === 'ssh' ? await writeSsh(folder, reach) : {}
      return new GitProgram(folder, target, reach, { ...environmentIn(folder, target, reach), ...ssh })
    } catch (cause) {
      await removeFolder(folder)
      throw scratchFailure(cause)
    }
  }

  /** The target as a command-line argument of git. It never starts with a hyphen. */
  get address(): string {
    return this.target.kind === 'disk' ? this.target.folder : this.target.url
  }

  /** Runs git to its end and returns its output. `what` is the attempt, for messages. */
  async run(run: GitRun, what: string, signal: AbortSignal): Promise<Buffer> {
    const { input = '', bounds } = run
    const log = await sshLog(this.folder)
    const start = this.#start(run)
    const ended = await runToEnd(start, { what, input, bounds: { ...this.#bounds(), ...bounds } }, signal)
    if (ended.status === 0) return ended.stdout
    throw await this.failure(ended, what, { ssh: await log() })
  }

  /** Runs git with access to the remote. Over http(s), only these runs get the credential. */
  async ask(run: GitRun, what: string, signal: AbortSignal): Promise<Buffer> {
    const { target } = this
    if (target.kind === 'http') return this.#askOverHttp(target.url, run, what, signal)
    if (target.kind === 'ssh') return this.run(run, what, signal)
    await this.#refuseLazyFetching(target.folder, signal)
    return this.run({ ...run, env: ASKING_ON_DISK }, what, signal)
  }

  /** Follows redirects here instead of in git, which would send our headers to any target. */
  async #askOverHttp(url: string, run: GitRun, what: string, signal: AbortSignal): Promise<Buffer> {
    const { limits } = this.#reach
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const way = await this.#reach.way(signal)
      const base = this.#base ?? url
      const trace = new HttpTrace()
      const http = await httpEnvironment(this.folder, { url, base, way, limits }).catch((cause: unknown) => {
        throw scratchFailure(cause)
      })
      const start = this.#start(run)
      const asking = { ...start, env: { ...start.env, ...http }, onTrace: trace.heard }
      const bounds = { ...this.#bounds(), ...run.bounds }
      const ended = await runToEnd(asking, { what, input: run.input ?? '', bounds }, signal)
      if (ended.status === 0 && isOfGit(trace)) {
        this.#reach.onAddress?.(base)
        return ended.stdout
      }
      const { last } = trace
      if (last === undefined || !isRedirected(last)) throw await this.failure(ended, what, { http: { way, trace } })
      this.#base = redirectedTo(last, base, url)
    }
    throw tooManyRedirects(url)
  }

  /** Starts git and leaves it running. */
  async start(args: readonly string[], signal: AbortSignal): Promise<ProcessGroup> {
    const { target } = this
    if (target.kind === 'disk') await this.#refuseLazyFetching(target.folder, signal)
    return new ProcessGroup(this.#start({ args }))
  }

  /** Returns the error for a failed run. */
  async failure(ended: Ended, what: string, { ssh = '', http }: Pick<Partial<FailedRun>, 'ssh' | 'http'> = {}) {
    return programFailure({ ...ended, ssh, http, what, folder: this.folder, reach: this.#reach })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeFolder(this.folder)
  }

  /**
   * Rejects a vulnerable git version; this check runs in no repository. A git that fetches missing objects by itself
   * runs the program that the repository's configuration names, and a local repository may belong to another user.
   */
  async #refuseLazyFetching(folder: string, signal: AbortSignal): Promise<void> {
    const what = `Cannot read "${folder}"`
    const printed = await this.run({ args: ['--version'] }, what, signal)
    const version = gitVersionIn(printed.toString('latin1'))
    if (version !== undefined && obeysNoLazyFetch(version)) return
    const found = version === undefined ? 'reports no version' : `is version ${version.join('.')}`
    throw new SyncError(
      'unsupported',
      `${what}: the git program ${found}, and can be made to run a program that the repository names (CVE-2024-32004); ` +
        'git 2.45.1, or a release of an older line with that fixed, is required',
    )
  }

  #start({ args, fileBytes = SMALL_FILE_BYTES, env }: Pick<GitRun, 'args' | 'fileBytes' | 'env'>): Start {
    return { command: this.#reach.programs.git, args, cwd: this.folder, env: { ...this.#env, ...env }, fileBytes }
  }

  #bounds(): ProcessBounds {
    const { connectMs, idleMs } = this.#reach.limits
    // Connect, key exchange and first answer follow one another, and git reports nothing in between.
    return { firstMs: connectMs + idleMs, idleMs, outputBytes: OUTPUT_BYTES }
  }
}

/** Converts a disk error: a full disk is not the source's fault. Other errors stay unchanged. */
export function scratchFailure(cause: unknown): unknown {
  if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) return cause
  return new SyncError('store-failed', `Cannot write to the scratch folder: ${String(cause.code)}`, { cause })
}

/** Some 200,000 refs: git lists all of them, whatever is requested. */
const OUTPUT_BYTES = 2 ** 24
const SMALL_FILE_BYTES = 2 ** 20

function isOfGit({ listing }: HttpTrace): boolean {
  return listing === undefined || gitFailureOf(listing, '', false) === undefined
}

/** True for a redirect of the host. A proxy's answer to CONNECT never counts. */
function isRedirected(answer: Traced): boolean {
  return answer.method !== 'CONNECT' && isRedirect(answer)
}

function redirectedTo(answer: Traced, base: string, url: string): string {
  return baseOf(redirectOf(answer, answer.method, new URL(`${base}/info/refs`), url))
}

/** Ignores a failure: the scratch folder's removal or the next sweep removes the rest. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => {})
}

function environmentIn(folder: string, target: ProgramTarget, { programs }: GitHost): Record<string, string> {
  const home = join(folder, 'home')
  return {
    PATH: programs.path,
    HOME: home,
    XDG_CONFIG_HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    SSH_ASKPASS_REQUIRE: 'force',
    GIT_PROTOCOL_FROM_USER: '0',
    // These override the configuration of a repository: no other protocol is allowed, and for a local repository none,
    // not even to fetch a single object.
    ...(target.kind === 'http' ? {} : { GIT_ALLOW_PROTOCOL: target.kind === 'ssh' ? 'ssh' : '' }),
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_SSH_VARIANT: 'ssh',
  }
}

/**
 * Allows the listing of refs in a local repository. The answering program is git itself, which fetches nothing for
 * that.
 */
const ASKING_ON_DISK = { GIT_ALLOW_PROTOCOL: 'file' }

/**
 * Returns the whole configuration, for a file instead of arguments: git does not pass arguments on to its child
 * processes.
 */
function settingsFor(target: ProgramTarget): string {
  const trusted = target.kind === 'disk' ? [`[safe]\n\tdirectory = ${quote(target.folder)}`] : []
  return [...SETTINGS, ...trusted].map((line) => `${line}\n`).join('')
}

const SETTINGS: readonly string[] = [
  '[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tbigFileThreshold = 16m\n\tdeltaBaseCacheLimit = 96m',
  '[protocol]\n\tversion = 2\n\tallow = never',
  '[fetch]\n\tunpackLimit = 1\n\trecurseSubmodules = false\n\tnegotiationAlgorithm = noop\n\twriteCommitGraph = false',
  // Our own reader checks the objects that are used, as over http(s), and names the path. git would refuse a whole
  // repository for one old object that no skill uses. It has no option to exempt a filtered fetch.
  '[transfer]\n\tunpackLimit = 1\n\tfsckObjects = false',
  '[gc]\n\tauto = 0\n[maintenance]\n\tauto = false',
  '[pack]\n\tthreads = 1',
  '[credential]\n\thelper =',
  '[submodule]\n\trecurse = false',
]

/** Quotes a value for git's configuration. */
function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}"`
}
