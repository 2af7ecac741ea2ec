import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { SyncError } from '../../model/sync-error.ts'
import { LIMIT_KEYS, namedLimit, NOTHING_KNOWN } from '../../upstream/upstream.ts'
import { DiskObjects } from '../disk-objects.ts'
import { fetchCommit } from '../isomorphic/commit-fetch.ts'
import { BeyondIsomorphicError, isomorphicFailure } from '../isomorphic/isomorphic-failure.ts'
import { limitedFs } from '../isomorphic/limited-fs.ts'
import type { ObjectSource } from '../objects/object-source.ts'
import { discover } from '../smart-http/discover.ts'
import { GitHttp } from '../smart-http/git-http.ts'
import { ServerRefusedError } from '../smart-http/pkt-line.ts'
import { RemoteObjects } from '../smart-http/remote-objects.ts'
import { failureFrom } from '../worker-protocol.ts'
import { comparedByIsomorphic, comparedByOwn } from './compared-objects.ts'
import type { ComparedClaims, NotCompared, SecondAnswer, SecondTask } from './second-opinion.ts'
import { compareClaims, type ComparedObjects } from './second-reader.ts'

// The thread of a second opinion. Its end frees everything that isomorphic-git holds.

const task: SecondTask = workerData

async function opinion({ place, revision, claims, by }: SecondTask): Promise<ComparedClaims | NotCompared> {
  try {
    const objects = by === 'isomorphic-git' ? await fromIsomorphic(task) : await fromOwn(task)
    return await compareClaims(objects, revision.commit, claims, place.kind)
  } catch (error) {
    if (error instanceof BeyondIsomorphicError) return { kind: 'not-compared', why: error.reason }
    if (!isRefusal(error)) throw error
    const why = error instanceof ServerRefusedError ? `it says "${error.said}"` : error.message
    return { kind: 'not-compared', why: `the host no longer gives ${revision.tag ?? revision.commit}: ${why}` }
  }
}

function isRefusal(error: unknown): error is SyncError {
  return error instanceof ServerRefusedError || (error instanceof SyncError && error.code === 'ref-not-found')
}

async function fromIsomorphic({ place, revision, limits, scratch }: SecondTask): Promise<ComparedObjects> {
  // A repository has folders in addition to files, and a local pack has objects of earlier commits.
  const disk = limitedFs({ scratch, objects: 16 * limits.files }, place.kind)
  const gitdir = place.kind === 'disk' ? place.folder : join(scratch, 'second')
  if (place.kind === 'remote')
    await fetchCommit({ ...place, limits }, { fs: disk, gitdir }, revision.tag ?? revision.commit)
  return comparedByIsomorphic({ fs: disk, gitdir, cache: {} })
}

async function fromOwn({ place, revision, limits, scratch }: SecondTask): Promise<ComparedObjects> {
  if (place.kind === 'disk') return comparedByOwn(new DiskObjects(place.folder, limits), limits.segmentBytes)
  const { url, way } = place
  const bytes = { limit: namedLimit('packBytes', limits), key: LIMIT_KEYS.packBytes, left: limits.packBytes }
  const found = await discover(new GitHttp(url, { limits, bytes, way, signal: NEVER }), url)
  // All files are compared, so one pack brings them: none is left out for later.
  const server = { ...found, filters: false }
  const objects: ObjectSource = new RemoteObjects(
    { kind: 'remote', url, server },
    { place: { kind: 'remote', url, server }, scratch, database: '', limits },
  )
  await objects.open(revision, NOTHING_KNOWN, way)
  return comparedByOwn(objects, limits.segmentBytes)
}

/** The thread is terminated instead. */
const NEVER = new AbortController().signal

function send(answer: SecondAnswer): void {
  parentPort?.postMessage(answer, [])
}

opinion(task).then(send, (error: unknown) => {
  const { place } = task
  const failure = isomorphicFailure(place.kind === 'remote' ? place.url : place.folder, error)
  send({ kind: 'failed', failure: failureFrom(failure) })
})
