import fs from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { addRemote, Errors, fetch, init, type HttpClient, type PromiseFsClient } from 'isomorphic-git'
import type { ObjectId } from '../../../model/revision.ts'
import { SyncError } from '../../../model/sync-error.ts'
import { namedLimit } from '../../upstream.ts'
import { GitHttp } from '../smart-http/git-http.ts'
import { ServerRefusal } from '../smart-http/pkt-line.ts'
import { failureFrom } from '../worker-protocol.ts'
import { inflatedWithin, weighPack } from './pack-weight.ts'
import type { SecondAnswer, SecondOpinion, SecondTask } from './second-opinion.ts'
import { compareClaims, type ComparedRepository } from './second-reader.ts'

// The thread of a second opinion. Its end frees everything that isomorphic-git holds.

const task: SecondTask = workerData

async function opinion({ place, revision, claims }: SecondTask): Promise<SecondOpinion> {
  const disk = limitedFs()
  const gitdir = place.kind === 'disk' ? place.folder : join(task.scratch, 'second')
  if (place.kind === 'remote') {
    const refusal = await fetchCommit(place, disk, gitdir, revision.tag ?? revision.commit)
    if (refusal !== undefined) return { kind: 'not-compared', why: refusal }
  }
  const at: ComparedRepository = { fs: disk, gitdir, cache: {} }
  return compareClaims(at, revision.commit, claims, place.kind)
}

/** Fetches the commit. Returns the reason if the host does not give it. */
async function fetchCommit(
  { url, way }: Extract<SecondTask['place'], { kind: 'remote' }>,
  disk: PromiseFsClient,
  gitdir: string,
  id: ObjectId,
): Promise<string | undefined> {
  const bytes = { limit: namedLimit('packBytes', task.limits), left: task.limits.packBytes }
  const http = new GitHttp(url, { limits: task.limits, bytes, way, signal: NEVER })
  await mkdir(gitdir)
  const at = { fs: disk, dir: gitdir, gitdir, remote: 'origin', url }
  await init(at)
  await addRemote(at)
  try {
    await fetch({ ...at, http: clientOver(http), ref: id, remoteRef: id, depth: 1, singleBranch: true, tags: false })
    return undefined
  } catch (error) {
    if (error instanceof ServerRefusal) return `the host no longer gives ${id}: it says "${error.said}"`
    if (error instanceof SyncError) throw error
    return refusalOf(error)
  }
}

/** Returns the reason for an error about an unsupported host or repository; throws any other. */
function refusalOf(error: unknown): string {
  if (error instanceof Errors.RemoteCapabilityError) return 'the host does not send a commit without its history'
  if (error instanceof Errors.NotFoundError) return `it finds no ${error.data.what} at the host`
  throw foreign(error)
}

/** Wraps the HTTP client of a pull for isomorphic-git: same credential, proxy, redirects, certificates and limits. */
function clientOver(http: GitHttp): HttpClient {
  return {
    async request({ url, method = 'GET', headers = {}, body }) {
      const isGet = method === 'GET'
      const call = isGet ? { url, headers } : { url: `${http.base}/git-upload-pack`, headers, body: await parts(body) }
      // Buffered to its end: isomorphic-git hangs forever if the stream of an answer fails.
      const chunks = await parts((await http.request(call)).body)
      const type = `application/x-git-upload-pack-${isGet ? 'advertisement' : 'result'}`
      const answer = { url, method, statusCode: 200, statusMessage: 'OK', headers: { 'content-type': type } }
      return { ...answer, body: streamOf(chunks) }
    },
  }
}

async function parts(body: AsyncIterable<Uint8Array> | undefined): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body ?? []) chunks.push(chunk)
  return chunks
}

async function* streamOf(chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk
}

/**
 * Wraps the file system so that packed data is checked before isomorphic-git unpacks it, because isomorphic-git has no
 * limits.
 */
function limitedFs(): PromiseFsClient {
  const { promises } = fs
  const { limits, scratch } = task
  return {
    promises: {
      ...promises,
      async writeFile(path: string, bytes: Uint8Array, options?: fs.WriteFileOptions) {
        if (path.endsWith('.pack')) await weighPack(bytes, scratch, limits)
        await promises.writeFile(path, bytes, options)
      },
      async readFile(path: string, options?: { readonly encoding?: BufferEncoding }) {
        const bytes = await promises.readFile(path, options ?? {})
        if (typeof bytes === 'string') return bytes
        if (path.endsWith('.pack') && task.place.kind === 'disk') await weighPack(bytes, scratch, limits)
        if (LOOSE.test(path)) inflatedWithin(bytes)
        return bytes
      },
    },
  }
}

const LOOSE = /[/\\][0-9a-f]{2}[/\\][0-9a-f]{38}$/

function foreign(error: unknown): SyncError {
  const message = error instanceof Error ? error.message : String(error)
  return new SyncError('source-unreachable', `isomorphic-git cannot read the commit: ${message}`, { cause: error })
}

/** The thread is terminated instead. */
const NEVER = new AbortController().signal

function send(answer: SecondAnswer): void {
  parentPort?.postMessage(answer, [])
}

opinion(task).then(send, (error: unknown) => {
  send({ kind: 'failed', failure: failureFrom(error instanceof SyncError ? error : foreign(error)) })
})
