import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { formatOf, type Revision } from '../../../model/revision.ts'
import type { SkillFile } from '../../../model/skill.ts'
import { SyncError } from '../../../model/sync-error.ts'
import type { HostAccess } from '../../http/host-access.ts'
import type { FetchLimits } from '../../upstream.ts'
import { THREAD_HEAP_MB } from '../fetch-threads.ts'
import type { GitReach } from '../git-reach.ts'
import { folderInScratch } from '../objects/scratch-folder.ts'
import { errorOf, type WorkerFailure } from '../worker-protocol.ts'

/** The served files of one skill, or of the docs folder. */
export interface ServedClaim {
  /** The true path of the skill; `undefined` for the docs folder. */
  readonly skill?: string
  /** The path from the root of the repository. */
  readonly folder: string
  readonly files: readonly ClaimedFile[]
  /** True if the skill omits files that are git LFS pointers. */
  readonly lacksPointers?: boolean
}

export type ClaimedFile = Pick<SkillFile, 'path' | 'executable' | 'blob' | 'size' | 'sha256'>

/** A file that differs between isomorphic-git and what is served. */
export interface Difference {
  readonly skill?: string
  /** Relative to the skill or the docs folder; empty if all of it is concerned. */
  readonly path: string
  readonly message: string
}

/** The result of comparing a served commit with the same commit read by isomorphic-git. */
export type SecondOpinion = Compared | NotCompared

interface Compared {
  readonly kind: 'compared'
  /** The number of compared files. */
  readonly files: number
  /** The first differences; `more` counts the others. */
  readonly differences: readonly Difference[]
  readonly more: number
  /** The first parts that isomorphic-git cannot read, although git does; their files are not compared. */
  readonly unread?: readonly string[]
}

/** The commit cannot be read that way, which says nothing about what is served. */
interface NotCompared {
  readonly kind: 'not-compared'
  readonly why: string
}

/** The task of the thread, as plain data. */
export interface SecondTask {
  readonly place:
    | { readonly kind: 'remote'; readonly url: string; readonly way: HostAccess }
    | { readonly kind: 'disk'; readonly folder: string }
  readonly revision: Revision
  readonly claims: readonly ServedClaim[]
  /** `packBytes` is the maximum that is read. */
  readonly limits: FetchLimits
  /** An empty folder. */
  readonly scratch: string
}

export type SecondAnswer = SecondOpinion | { readonly kind: 'failed'; readonly failure: WorkerFailure }

/**
 * Fetches a commit once more, with isomorphic-git only, and compares its served files. Over http(s), isomorphic-git
 * uses the HTTP client of the pulls; a local repository is read in place. It holds the whole pack in memory, so one
 * over `SECOND_BYTES` is not compared. Throws a `SyncError` if the host is unreachable or sends nonsense.
 */
export async function secondOpinion(
  url: string,
  { revision, claims }: Pick<SecondTask, 'revision' | 'claims'>,
  reach: Pick<GitReach, 'way' | 'limits' | 'scratch'>,
  signal: AbortSignal,
): Promise<SecondOpinion> {
  const limits = { ...reach.limits, packBytes: Math.min(reach.limits.packBytes, SECOND_BYTES) }
  if (formatOf(revision.commit) === 'sha256') return notCompared('it does not support SHA-256 repositories')
  if (!/^(?:https?|file):/i.test(url)) return notCompared('it does not support ssh')
  const place = /^file:/i.test(url)
    ? await placeOnDisk(url)
    : { kind: 'remote' as const, url, way: await reach.way(signal) }
  if (place.kind === 'not-compared') return place
  try {
    const scratch = await folderInScratch(reach.scratch, 'second-')
    return await askedInThread({ place, revision, claims, limits, scratch }, signal)
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'limit-exceeded') throw error
    return notCompared(error.message)
  }
}

/** The largest pack to compare: isomorphic-git holds it in memory, and twice during the transfer. */
const SECOND_BYTES = 2 ** 27

function notCompared(why: string): NotCompared {
  return { kind: 'not-compared', why }
}

async function placeOnDisk(url: string): Promise<Extract<SecondTask['place'], { kind: 'disk' }> | NotCompared> {
  const { repositoryAt, unmetNeed } = await import('../disk-transport.ts')
  const folder = await repositoryAt(fileURLToPath(url))
  const need = await unmetNeed(folder)
  if (need !== undefined) return notCompared(need)
  // isomorphic-git reads a whole pack for any object in it.
  const packs = await packBytesIn(folder)
  return packs > SECOND_BYTES
    ? notCompared(`a pack of the repository has ${packs} bytes, and it reads none over ${SECOND_BYTES}`)
    : { kind: 'disk', folder }
}

/** Returns the size of the largest pack. */
async function packBytesIn(folder: string): Promise<number> {
  const packs = join(folder, 'objects', 'pack')
  const names = await readdir(packs).catch(() => [])
  const sizes = await Promise.all(
    names.filter((name) => name.endsWith('.pack')).map(async (name) => (await lstat(join(packs, name))).size),
  )
  return Math.max(0, ...sizes)
}

/** Runs the task in a thread, which is terminated in any state: on timeout, on abort, and when it is done. */
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
  worker.once('error', (cause) => answered.reject(explanationOf(cause)))
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

function explanationOf(cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return new SyncError('limit-exceeded', `it needs more than ${THREAD_HEAP_MB} MB of memory`, { cause })
  return cause
}
