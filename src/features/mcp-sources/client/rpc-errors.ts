import type { SyncError } from '../../../sync/model/sync-error.ts'
import { Unanswered } from './channel.ts'
import { METHOD_NOT_FOUND } from './message.ts'
import type { RpcRefusal } from './message.ts'

/** True if the server reports that it lacks the method or, by the codes of both eras, the resource. */
export function isAbsence({ code }: Pick<RpcRefusal, 'code'>): boolean {
  return code === METHOD_NOT_FOUND || code === -32602 || code === -32002
}

/** Returns the result, or the `Unanswered` error if the server gave no usable answer. */
export async function orSilence<Result>(asked: Promise<Result>): Promise<Result | SyncError> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof Unanswered) return error
    throw error
  }
}
