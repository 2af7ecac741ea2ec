import type { ObjectId, Revision } from '../model/revision.ts'
import {
  CredentialRefused,
  isSystemError,
  plainProblemOf,
  type Problem,
  SyncError,
  systemErrorWith,
  type SyncErrorOptions,
} from '../model/sync-error.ts'
import type { TakenBlob } from '../model/tree.ts'
import { databaseErrorWith, resultCodeOf } from '../store/objects/database.ts'
import type { HostAccess } from '../upstream/http/host-access.ts'
import type { KnownTrees, Relation } from '../upstream/upstream.ts'
import { ProgramEnded } from './program/program-objects.ts'

/** A request to the worker; requests run one after the other. */
export type WorkerRequest =
  | {
      readonly kind: 'open'
      readonly revision: Revision
      readonly known: KnownTrees
      readonly way: HostAccess
    }
  | { readonly kind: 'take'; readonly blobs: readonly ObjectId[]; readonly way: HostAccess }
  | { readonly kind: 'peel'; readonly id: ObjectId }
  | {
      readonly kind: 'relate'
      readonly from: ObjectId
      readonly to: ObjectId
      readonly way: HostAccess
    }
  /** Ends the task; another may follow. */
  | { readonly kind: 'end' }

export type WorkerAnswer =
  | OpenedTree
  /** The blobs of a `take` that no `StoredBlobs` had. */
  | { readonly kind: 'taken'; readonly blobs: ReadonlyMap<ObjectId, TakenBlob> }
  | { readonly kind: 'peeled'; readonly commit: ObjectId | undefined }
  | { readonly kind: 'related'; readonly relation: Relation }
  | { readonly kind: 'ended'; readonly isFit: boolean }
  | { readonly kind: 'failed'; readonly failure: WorkerFailure }

/** Sent during a `take`: some of its blobs are in the store. */
export interface StoredBlobs {
  readonly kind: 'stored'
  readonly blobs: ReadonlyMap<ObjectId, TakenBlob>
}

/** Sent during a request: bytes of packs that arrived since the last message of this kind. */
export interface ReceivedBytes {
  readonly kind: 'received'
  readonly bytes: number
}

/** The trees of a commit, concatenated in `bytes`; `ends` has the end of each. */
export interface OpenedTree {
  readonly kind: 'opened'
  readonly root: ObjectId
  readonly commit: Uint8Array
  readonly tag: Uint8Array | undefined
  readonly ids: readonly ObjectId[]
  readonly ends: readonly number[]
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** A `SyncError` as plain data, because a transfer between threads would reduce it to a plain Error. */
export interface WorkerFailure extends Problem {
  readonly retryAfterMs: number | undefined
  /** The result code of SQLite, if that is the cause: the main thread recognises a damaged database by it. */
  readonly databaseCode: number | undefined
  /** The code of the operating system, if that is the cause: the main thread recognises a full disk by it. */
  readonly systemCode: string | undefined
  /** The subclass, which says more than the code. */
  readonly kind: 'plain' | 'credential-refused' | 'program-ended'
}

export function failureFrom(error: SyncError): WorkerFailure {
  const { retryAfterMs, cause } = error
  const systemCode = isSystemError(cause) ? String(cause.code) : undefined
  return { ...plainProblemOf(error), retryAfterMs, databaseCode: resultCodeOf(error), systemCode, kind: kindOf(error) }
}

function kindOf(error: SyncError): WorkerFailure['kind'] {
  if (error instanceof CredentialRefused) return 'credential-refused'
  return error instanceof ProgramEnded ? 'program-ended' : 'plain'
}

export function errorOf(failure: WorkerFailure): SyncError {
  const { code, message, kind } = failure
  switch (kind) {
    case 'credential-refused':
      return new CredentialRefused(message, optionsOf(failure))
    case 'program-ended':
      return new ProgramEnded()
    case 'plain':
      return new SyncError(code, message, optionsOf(failure))
    default:
      return kind satisfies never
  }
}

function optionsOf({ retryAfterMs, databaseCode, systemCode, fix, place }: WorkerFailure): SyncErrorOptions {
  return {
    retryAfterMs,
    fix,
    place,
    ...(databaseCode !== undefined && { cause: databaseErrorWith(databaseCode) }),
    ...(systemCode !== undefined && { cause: systemErrorWith(systemCode) }),
  }
}
