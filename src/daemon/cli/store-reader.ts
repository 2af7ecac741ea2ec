import { countOf } from '../../base/text/plural.ts'
import type { ObjectId, Revision } from '../../sync/model/revision.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { mendOf, SyncError } from '../../sync/model/sync-error.ts'
import { Store } from '../../sync/store/store.ts'
import { unreadPlace } from '../../sync/survey/unreadable-parts.ts'
import { candidateRequest, revisionRequest } from '../control/upstream-requests.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { progressOf } from './command.ts'
import type { Context } from './command.ts'
import { withWriter } from './daemon-client.ts'
import type { AskWriter } from './daemon-client.ts'

/** The means to check sources for a command: requests to the writer, and the store that it writes. */
export interface SourceReader {
  readonly ask: AskWriter
  readonly store: Store
}

/** Has sources checked by the running daemon, or by this process if none runs. */
export async function withStoreAndWriter<Result>(
  context: Context,
  config: ServedConfig,
  work: (looking: SourceReader) => Promise<Result>,
): Promise<Result> {
  return withWriter(context, config, async (ask) => {
    using store = await Store.openExisting(config.state)
    if (store === undefined)
      throw new OperatorError('other-state', `The daemon writes another state folder than "${config.state}"`)
    return await work({ ask, store })
  })
}

/** Processes all sources in parallel and counts the finished ones. */
export async function eachCounted<Item extends { readonly source: Source }, Result>(
  context: Context,
  items: readonly Item[],
  what: string,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  using progress = progressOf(context)
  let done = 0
  const sources = countOf(items.length, 'source')
  progress.count(0, items.length, `0 of ${sources} ${what}`)
  const results = items.map(async (item) => {
    const result = await work(item)
    done += 1
    progress.count(done, items.length, `${done} of ${sources} ${what}: ${item.source.id}`)
    return result
  })
  return await Promise.all(results)
}

/** The upstream state of a source, or its state at one commit. It is in the store afterwards, but not served. */
export async function readCandidate(
  { ask, store }: SourceReader,
  source: SourceId,
  commit?: ObjectId,
): Promise<Snapshot> {
  const asked = { source, ...(commit !== undefined && { commit }) }
  const { snapshot } = await ask(candidateRequest, asked)
  return store.snapshots.read(snapshot)
}

/**
 * Throws if a part of the folder was unreadable. Such a snapshot gets a commit of its own, which a machine that can
 * read everything never gets, so its lock could not be followed there.
 */
export function expectLockable({ id }: Source, snapshot: Snapshot): void {
  const place = unreadPlace(snapshot)
  if (place === undefined) return
  const why = `not all of it could be read: ${JSON.stringify(place.path)}: ${place.message}`
  const tries = 'make that readable, or remove it from the folder, and lock it again'
  throw new SyncError('source-unreachable', `Cannot lock "${id}" at ${snapshot.revision.commit}: ${why}; ${tries}`)
}

/** The upstream position of a source's ref. Fetches nothing. */
export async function readRevision(ask: AskWriter, { id, ref: asked }: Source): Promise<Revision> {
  const { ref, commit, tag } = await ask(revisionRequest, { source: id })
  return { asked, ref, commit, ...(tag !== undefined && { tag }) }
}

/** The failure of one source, while the others continue. */
export interface SourceFailure {
  readonly code: string
  readonly message: string
  readonly fix?: string | undefined
  readonly place?: string | undefined
}

/** The failure in the error, from the daemon or from this process. Rethrows any other error. */
export function failureIn(error: unknown): SourceFailure {
  if (!(error instanceof OperatorError) && !(error instanceof SyncError)) throw error
  const { code, message, place } = error
  return { code, message, fix: error instanceof SyncError ? mendOf(error) : error.fix, place }
}
