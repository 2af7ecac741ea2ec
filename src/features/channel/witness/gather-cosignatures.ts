import { isAbortError } from '../../../base/async/abort-error.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { WatchedRequest } from '../../../sync/upstream/http/http-watch.ts'
import { cosignatureFrom } from './remote-witness.ts'
import type { RemoteWitness, SubmittedCheckpoint } from './remote-witness.ts'

/** A witness that is asked, and the size that it has probably cosigned last. */
export interface AskedWitness {
  readonly witness: RemoteWitness
  readonly oldSize: number
}

/** The end of one request to a witness. */
export type CosigningEnd = { readonly witness: RemoteWitness } & (
  | { readonly line: string }
  | { readonly error: SyncError }
)

/** The number of cosignatures that are enough, and the time that slower witnesses have after them. */
export interface EnoughCosignatures {
  readonly enough: number
  readonly graceMs: number
}

/**
 * Asks all witnesses at once. Once there are enough cosignatures, the others have a short time left: a slow witness must
 * not delay each publication.
 */
export async function gatherCosignatures(
  asked: readonly AskedWitness[],
  submitted: SubmittedCheckpoint,
  { enough, graceMs }: EnoughCosignatures,
  watched: WatchedRequest,
): Promise<readonly CosigningEnd[]> {
  const late = new AbortController()
  const signal = AbortSignal.any([watched.signal, late.signal])
  let count = 0
  let grace: NodeJS.Timeout | undefined
  try {
    return await Promise.all(
      asked.map(async ({ witness, oldSize }) => {
        try {
          const line = await cosignatureFrom(witness, submitted, oldSize, { ...watched, signal })
          count += 1
          if (count === enough) grace = setTimeout(() => late.abort(), graceMs)
          return { witness, line }
        } catch (error) {
          watched.signal.throwIfAborted()
          if (error instanceof SyncError) return { witness, error }
          if (!isAbortError(error) || !late.signal.aborted) throw error
          const message = `No cosignature of the witness "${witness.url}": it is slower than the others`
          return { witness, error: new SyncError('source-unreachable', message) }
        }
      }),
    )
  } finally {
    clearTimeout(grace)
  }
}
