import { join } from 'node:path'
import type { GitHost } from '../../../sync/git/objects/git-host.ts'
import { PackReader } from '../../../sync/git/objects/pack-reader.ts'
import { folderInScratch } from '../../../sync/git/objects/scratch-folder.ts'
import { discover } from '../../../sync/git/smart-http/discover.ts'
import { GitHttp } from '../../../sync/git/smart-http/git-http.ts'
import { requestPack } from '../../../sync/git/smart-http/protocol.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { treeOfCommit } from '../../../sync/upstream/objects/git-object.ts'
import { askReceiver, pushTo } from './receive-pack.ts'
import type { Push, PushEnd, Receiver } from './receive-pack.ts'

/** A repository over http(s), of which one branch is read and pushed to. Fetches commits and no content. */
export class PushRemote {
  readonly #url: string
  readonly #host: Pick<GitHost, 'scratch' | 'limits' | 'way'>

  constructor(url: string, host: Pick<GitHost, 'scratch' | 'limits' | 'way'>) {
    this.#url = url.replace(/\/+$/, '')
    this.#host = host
  }

  /** Reads where the branch is, with the right to push. */
  async receiver(branch: string, signal: AbortSignal): Promise<Receiver> {
    return askReceiver(await this.#open('refs', LISTING_BYTES, signal), this.#url, branch)
  }

  /** Fetches a commit that a branch of the repository is at, and returns the id of its tree. */
  async treeOf(commit: ObjectId, signal: AbortSignal): Promise<ObjectId> {
    const http = await this.#open('a commit', COMMIT_BYTES, signal)
    const server = await discover(http, this.#url)
    const folder = await folderInScratch(this.#host.scratch, 'commit-')
    const seen: { bytes?: Buffer } = {}
    const chunks = requestPack(http, server, { ids: [commit], depth: 1, filter: 'tree:0' })
    const expected = { format: 'sha1', limits: { objects: MOST_OBJECTS, objectBytes: COMMIT_BYTES } } as const
    try {
      const reader = await PackReader.receive(chunks, join(folder, 'pack'), expected, (id, { bytes }) => {
        if (id !== commit) return
        seen.bytes = bytes
        // A server that cannot filter sends all content after the commit.
        throw new Seen('The commit is there')
      })
      reader[Symbol.dispose]()
    } catch (error) {
      if (seen.bytes === undefined) throw error
    }
    const tree = seen.bytes && treeOfCommit(seen.bytes)
    if (tree === undefined)
      throw new SyncError('source-unreachable', `Cannot read ${commit} of "${this.#url}": no commit was sent`)
    return tree
  }

  /** Moves the branch from where `receiver` says. The limits of a fetch hold, its total time too. */
  async push(receiver: Receiver, push: Push, signal: AbortSignal): Promise<PushEnd> {
    return pushTo(await this.#open('an answer', ANSWER_BYTES, signal), receiver, push)
  }

  async #open(what: string, most: number, signal: AbortSignal): Promise<GitHttp> {
    const { limits, way } = this.#host
    return new GitHttp(this.#url, {
      limits,
      bytes: { limit: `${most} bytes of ${what}`, left: most },
      way: await way(signal),
      signal,
    })
  }
}

/** Ends the reading of a pack. */
class Seen extends Error {}

/** Some 200,000 refs: for a push a server lists all that it has. */
const LISTING_BYTES = 2 ** 24

/** A signed commit with a long message; servers send commits before other objects. */
const COMMIT_BYTES = 2 ** 22
const MOST_OBJECTS = 100_000

/** The report of a push, and what hooks print. */
const ANSWER_BYTES = 2 ** 20
