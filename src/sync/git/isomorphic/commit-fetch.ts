import { mkdir } from 'node:fs/promises'
import { addRemote, fetch, init, type PromiseFsClient } from 'isomorphic-git'
import type { ObjectId } from '../../model/revision.ts'
import type { HostAccess } from '../../upstream/http/host-access.ts'
import { LIMIT_KEYS, namedLimit, type FetchLimits } from '../../upstream/upstream.ts'
import { GitHttp } from '../smart-http/git-http.ts'
import { httpPlugin } from './http-plugin.ts'
import { isomorphicFailure } from './isomorphic-failure.ts'

/** A repository over http(s), and the credential, proxy and trust for its host. */
export interface CommitOrigin {
  readonly url: string
  readonly way: HostAccess
  readonly limits: FetchLimits
  readonly onReceived?: (bytes: number) => void
}

/**
 * Fetches a commit or tag with everything in it, and its history to a depth, into a repository. Requests are ended by the
 * end of the thread.
 */
export async function fetchCommit(
  { url, way, limits, onReceived }: CommitOrigin,
  at: { readonly fs: PromiseFsClient; readonly gitdir: string },
  id: ObjectId,
  depth = 1,
): Promise<void> {
  const left = Math.min(limits.packBytes, ISOMORPHIC_BYTES)
  const limit =
    left === limits.packBytes
      ? { limit: namedLimit('packBytes', limits), key: LIMIT_KEYS.packBytes }
      : { limit: `${left} bytes, the most that isomorphic-git holds` }
  const http = new GitHttp(url, {
    limits,
    bytes: { ...limit, left, ...(onReceived && { onReceived }) },
    way,
    signal: NEVER,
  })
  const repository = { ...at, dir: at.gitdir, remote: 'origin', url }
  await mkdir(at.gitdir, { recursive: true })
  await init(repository)
  await addRemote({ ...repository, force: true })
  const wanted = { ref: id, remoteRef: id, depth, singleBranch: true, tags: false }
  try {
    await fetch({ ...repository, ...wanted, http: httpPlugin(http) })
  } catch (error) {
    throw isomorphicFailure(url, error)
  }
}

/** The maximum bytes of a pack: isomorphic-git holds it in memory, and twice during the transfer. */
export const ISOMORPHIC_BYTES = 2 ** 27

/** The thread is terminated instead. */
const NEVER = new AbortController().signal
