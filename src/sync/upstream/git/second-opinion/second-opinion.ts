import { lstat, readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { formatOf, type Revision } from '../../../model/revision.ts'
import type { SkillFile } from '../../../model/skill.ts'
import { SyncError } from '../../../model/sync-error.ts'
import { THREAD_HEAP_MB } from '../fetch-threads.ts'
import { errorOf, type Failure } from '../worker-protocol.ts'
import type { FetchLimits } from '../../upstream.ts'
import type { GitReach } from '../git-reach.ts'
import type { Way } from '../../http/host-access.ts'

/** The files of one skill, or of the docs folder, as they are served. */
export interface Claim {
  /** The true path of the skill; undefined of the docs folder. */
  readonly skill?: string
  /** From the root of the repository. */
  readonly folder: string
  readonly files: readonly ClaimedFile[]
  /** The files that are pointers of git LFS are left out of the skill. */
  readonly lacksPointers?: boolean
}

export type ClaimedFile = Pick<SkillFile, 'path' | 'executable' | 'blob' | 'size' | 'sha256'>

/** A file that isomorphic-git has otherwise than it is served. */
export interface Difference {
  readonly skill?: string
  /** Relative to the skill or the docs folder; empty for what concerns all of it. */
  readonly path: string
  readonly message: string
}

/** The outcome of comparing a commit that is served with the same one as isomorphic-git has it. */
export type SecondOpinion = Compared | NotCompared

interface Compared {
  readonly kind: 'compared'
  /** The number of files that were compared. */
  readonly files: number
  /** The first of them; `more` says how many follow. */
  readonly differences: readonly Difference[]
  readonly more: number
}

/** The commit cannot be had that way: that says nothing of what is served. */
interface NotCompared {
  readonly kind: 'not-compared'
  readonly why: string
}

/** The work of the thread, as plain data. */
export interface SecondTask {
  readonly place:
    | { readonly kind: 'remote'; readonly url: string; readonly way: Way }
    | { readonly kind: 'disk'; readonly folder: string }
  readonly revision: Revision
  readonly claims: readonly Claim[]
  /** `packBytes` is the most that is read. */
  readonly limits: FetchLimits
  /** An empty folder. */
  readonly scratch: string
}

export type SecondAnswer = SecondOpinion | { readonly kind: 'failed'; readonly failure: Failure }

/**
 * Fetches a commit once more, by isomorphic-git alone, and compares the files of it that are served. isomorphic-git asks over
 * http(s) through the client that pulls ask through, and reads a repository on this disk in place. It holds the whole pack, so
 * one over `SECOND_BYTES` is not compared. Throws a `SyncError` where the host cannot be reached, or answers nonsense.
 */
export async function secondOpinion(
  url: string,
  { revision, claims }: Pick<SecondTask, 'revision' | 'claims'>,
  reach: Pick<GitReach, 'way' | 'limits' | 'scratch'>,
  signal: AbortSignal,
): Promise<SecondOpinion> {
  const limits = { ...reach.limits, packBytes: Math.min(reach.limits.packBytes, SECOND_BYTES) }
  if (formatOf(revision.commit) === 'sha256') return notCompared('it reads no SHA-256 repositories')
  if (!/^(?:https?|file):/i.test(url)) return notCompared('it speaks no ssh')
  const place = /^file:/i.test(url)
    ? await placeOnDisk(url)
    : { kind: 'remote' as const, url, way: await reach.way(signal) }
  if (place.kind === 'not-compared') return place
  try {
    return await askedInThread({ place, revision, claims, limits, scratch: reach.scratch }, signal)
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'limit-exceeded') throw error
    return notCompared(error.message)
  }
}

/** The largest pack that is compared: isomorphic-git holds it in memory, twice while it comes. */
const SECOND_BYTES = 2 ** 27

function notCompared(why: string): NotCompared {
  return { kind: 'not-compared', why }
}

async function placeOnDisk(url: string): Promise<Extract<SecondTask['place'], { kind: 'disk' }> | NotCompared> {
  const { repositoryAt, unmetNeed } = await import('../disk-transport.ts')
  const folder = await repositoryAt(fileURLToPath(url))
  const need = await unmetNeed(folder)
  if (need !== undefined) return notCompared(need)
  // It reads a pack whole, whatever it wants of it.
  const packs = await packBytesIn(folder)
  return packs > SECOND_BYTES
    ? notCompared(`a pack of the repository has ${packs} bytes, and it reads none over ${SECOND_BYTES}`)
    : { kind: 'disk', folder }
}

/** The size of the largest. */
async function packBytesIn(folder: string): Promise<number> {
  const packs = join(folder, 'objects', 'pack')
  const names = await readdir(packs).catch(() => [])
  const sizes = await Promise.all(
    names.filter((name) => name.endsWith('.pack')).map(async (name) => (await lstat(join(packs, name))).size),
  )
  return Math.max(0, ...sizes)
}

/** In a thread, which is ended whatever it is doing: when time is over, when it was aborted, and when it is done. */
async function askedInThread(task: SecondTask, signal: AbortSignal): Promise<SecondOpinion> {
  signal.throwIfAborted()
  const { totalMs } = task.limits
  const worker = new Worker(new URL('./second-worker.js', import.meta.url), {
    name: 'second-opinion',
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
  })
  const answered = Promise.withResolvers<SecondAnswer>()
  const abort = (): void => answered.reject(signal.reason)
  const late = (): void =>
    answered.reject(
      new SyncError('limit-exceeded', `it was not done within limits.fetch.total_timeout (${totalMs} ms)`),
    )
  const clock = setTimeout(late, totalMs)
  worker.once('message', answered.resolve)
  worker.once('error', (cause) => answered.reject(explained(cause)))
  worker.once('exit', () => answered.reject(new Error('The thread of the second opinion has ended')))
  signal.addEventListener('abort', abort, { once: true })
  try {
    const answer = await answered.promise
    if (answer.kind === 'failed') throw errorOf(answer.failure)
    return answer
  } finally {
    clearTimeout(clock)
    signal.removeEventListener('abort', abort)
    await worker.terminate()
  }
}

function explained(cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return new SyncError('limit-exceeded', `it takes more than ${THREAD_HEAP_MB} MB of memory`, { cause })
  return cause
}
