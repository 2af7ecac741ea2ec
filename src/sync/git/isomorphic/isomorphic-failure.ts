import { Errors } from 'isomorphic-git'
import { printable } from '../../../base/text/printable.ts'
import { SyncError } from '../../model/sync-error.ts'

/** isomorphic-git does not support the host or the repository; another backend does. */
export class BeyondIsomorphicError extends SyncError {
  readonly reason: string

  constructor(url: string, reason: string) {
    super('unsupported', `Cannot read "${url}" with isomorphic-git: ${reason}; ${INSTEAD}`)
    this.reason = reason
  }
}

/** The next step for an operator who has chosen isomorphic-git. */
export const INSTEAD = '`backend: embedded` or `system` reads it'

/** Converts an error of isomorphic-git. Errors of our HTTP client and limits stay as they are. */
export function isomorphicFailure(url: string, error: unknown): SyncError {
  if (error instanceof SyncError) return error
  if (error instanceof Errors.RemoteCapabilityError)
    return new BeyondIsomorphicError(url, 'the host does not send a commit without its history')
  if (error instanceof Errors.NotFoundError)
    return new BeyondIsomorphicError(url, `it finds no ${printable(error.data.what)} at the host`)
  const message = error instanceof Error ? error.message : String(error)
  return new SyncError('source-unreachable', `Cannot read "${url}" with isomorphic-git: ${printable(message)}`, {
    cause: error,
  })
}
