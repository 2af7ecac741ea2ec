import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { formatOf, type Revision } from '../../model/revision.ts'
import type { SkillFile } from '../../model/skill.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { HostAccess } from '../../upstream/http/host-access.ts'
import type { FetchLimits } from '../../upstream/upstream.ts'
import { THREAD_HEAP_MB } from '../fetch-threads.ts'
import type { GitReach } from '../git-reach.ts'
import { ISOMORPHIC_BYTES } from '../isomorphic/commit-fetch.ts'
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

/** A file that differs between the second reader and what is served. */
export interface Difference {
  readonly skill?: string
  /** Relative to the skill or the docs folder; empty if all of it is concerned. */
  readonly path: string
  readonly message: string
}

/** The result of comparing a served commit with the same commit read by another reader. */
export type SecondOpinion = (ComparedClaims | NotCompared) & { readonly by: SecondReader }

/** isomorphic-git; or our own reader, for a source that isomorphic-git itself reads. */
export type SecondReader = 'isomorphic-git' | 'the built-in reader'

export interface ComparedClaims {
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
export interface NotCompared {
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
  readonly by: SecondReader
  /** `packBytes` is the maximum that is read. */
  readonly limits: FetchLimits
  /** An empty folder. */
  readonly scratch: string
}

export type SecondAnswer = ComparedClaims | NotCompared | { readonly kind: 'failed'; readonly failure: WorkerFailure }

/**
 * Fetches a commit once more, with the second reader only, and compares its served files. Over http(s), it uses the
 * HTTP client of the pulls; a local repository is read in place. isomorphic-git holds the whole pack in memory, so one
 * over `ISOMORPHIC_BYTES` is not compared. Throws a `SyncError` if the host is unreachable or sends nonsense.
 */
export async function secondOpinion(
  url: string,
  { revision, claims, by }: Pick<SecondTask, 'revision' | 'claims' | 'by'>,
  reach: Pick<GitReach, 'way' | 'limits' | 'scratch'>,
  signal: AbortSignal,
): Promise<SecondOpinion> {
  const limits = { ...reach.limits, packBytes: Math.min(reach.limits.packBytes, ISOMORPHIC_BYTES) }
  const opinion = await askedOpinion(url, { revision, claims, by, limits }, reach, signal)
  return { ...opinion, by }
}

async function askedOpinion(
  url: string,
  task: Omit<SecondTask, 'place' | 'scratch'>,
  reach: Pick<GitReach, 'way' | 'scratch'>,
  signal: AbortSignal,
): Promise<ComparedClaims | NotCompared> {
  const { revision } = task
  if (formatOf(revision.commit) === 'sha256') return notCompared('it does not support SHA-256 repositories')
  if (!/^(?:https?|file):/i.test(url)) return notCompared('it does not support ssh')
  const place = /^file:/i.test(url)
    ? await placeOnDisk(url)
    : { kind: 'remote' as const, url, way: await reach.way(signal) }
  if (place.kind === 'not-compared') return place
  try {
    const scratch = await folderInScratch(reach.scratch, 'second-')
    return await askedInThread({ ...task, place, scratch }, signal)
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'limit-exceeded') throw error
    return notCompared(error.message)
  }
}

function notCompared(why: string): NotCompared {
  return { kind: 'not-compared', why }
}

async function placeOnDisk(url: string): Promise<Extract<SecondTask['place'], { kind: 'disk' }> | NotCompared> {
  const { repositoryAt, unmetNeed } = await import('../disk-transport.ts')
  const folder = await repositoryAt(fileURLToPath(url))
  const need = await unmetNeed(folder)
  return need === undefined ? { kind: 'disk', folder } : notCompared(need)
}

/** Runs the task in a thread, which is terminated in any state: on timeout, on abort, and when it is done. */
async function askedInThread(task: SecondTask, signal: AbortSignal): Promise<ComparedClaims | NotCompared> {
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
      new SyncError('limit-exceeded', `it was not done within limits.fetch.total_timeout (${totalMs} ms)`, {
        place: 'limits.fetch.total_timeout',
      }),
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
