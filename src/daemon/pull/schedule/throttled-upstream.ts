import type { ObjectId } from '../../../sync/model/revision.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { OnStored, TakenBlob, Tree } from '../../../sync/model/tree.ts'
import type { Upstream } from '../../../sync/upstream/upstream.ts'
import { leftAlone, type HostBackoff } from './host-backoff.ts'

/** The limits that a pull observes while it reaches a source. */
export interface Throttle {
  readonly source: SourceId
  readonly host: string
  readonly hosts: HostBackoff
  /** Resolves when there is a slot for fetching. */
  readonly fetching: () => Promise<void>
  /** Receives the number of fetched bytes of files. */
  readonly onBytes?: (bytes: number) => void
  /** Receives the number of files that were stored since its last call. */
  readonly onFiles?: (files: number) => void
}

/**
 * An upstream that observes the limits. It checks the backoff of the host before each step, since another source may
 * have received one meanwhile. A backoff that the host requests applies to all its sources at once. Nothing is fetched
 * without a slot.
 */
export function throttleUpstream(upstream: Upstream, throttle: Throttle): Upstream {
  const common = {
    resolve: async (signal: AbortSignal) => step(throttle, () => upstream.resolve(signal)),
    relation: async (from: ObjectId, to: ObjectId, signal: AbortSignal) =>
      step(throttle, () => upstream.relation(from, to, signal)),
  }
  switch (upstream.kind) {
    case 'tree':
      return {
        kind: 'tree',
        ...common,
        fetch: async (revision, known, signal) => {
          await throttle.fetching()
          return treeOf(await step(throttle, () => upstream.fetch(revision, known, signal)), throttle)
        },
      }
    case 'listing':
      return {
        kind: 'listing',
        ...common,
        list: async (revision, signal) => step(throttle, () => upstream.list(revision, signal)),
      }
    case 'published':
      return {
        kind: 'published',
        ...common,
        take: async (revision, isKnown, signal) => {
          await throttle.fetching()
          return step(throttle, () => upstream.take(revision, isKnown, signal))
        },
        prove: async (head, index, signal) => step(throttle, () => upstream.prove(head, index, signal)),
        audit: async (served, onRead, signal) => step(throttle, () => upstream.audit(served, onRead, signal)),
      }
    default:
      return upstream satisfies never
  }
}

function treeOf(tree: Tree, throttle: Throttle): Tree {
  return {
    revision: tree.revision,
    root: tree.root,
    proof: tree.proof,
    list: (id) => tree.list(id),
    take: async (blobs, until, onStored) => {
      let stored = 0
      const onPart: OnStored = (part) => {
        stored += part.size
        throttle.onFiles?.(part.size)
        onStored?.(part)
      }
      const taken = await step(throttle, () => tree.take(blobs, until, onPart))
      throttle.onFiles?.(taken.size - stored)
      if (throttle.onBytes !== undefined) throttle.onBytes(bytesOf(taken))
      return taken
    },
    bytesOf: (blob) => tree.bytesOf(blob),
    [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
  }
}

function bytesOf(taken: ReadonlyMap<ObjectId, TakenBlob>): number {
  return [...taken.values()].reduce((sum, one) => sum + (one.kind === 'blob' ? one.size : 0), 0)
}

/** Sends one request to a host, unless it is in backoff. A backoff that it requests applies to all its sources. */
export async function step<Result>(
  { source, host, hosts }: Pick<Throttle, 'source' | 'host' | 'hosts'>,
  next: () => Promise<Result>,
): Promise<Result> {
  const closedMs = hosts.closedMs(host)
  if (closedMs > 0) throw leftAlone(source, closedMs)
  try {
    return await next()
  } catch (error) {
    if (error instanceof SyncError && error.retryAfterMs !== undefined) hosts.close(host, error.retryAfterMs)
    throw error
  }
}
