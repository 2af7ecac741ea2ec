import type { SyncError } from '../../../model/sync-error.ts'
import { Unanswered } from './channel.ts'
import { METHOD_NOT_FOUND } from './message.ts'
import type { Refusal } from './message.ts'

/** Whether the server says that it has no such thing: no such method, or, by era, no such resource. */
export function isAbsence({ code }: Pick<Refusal, 'code'>): boolean {
  return code === METHOD_NOT_FOUND || code === -32602 || code === -32002
}

/** What is given; or, where the server is there and silent, that. */
export async function orSilence<Result>(asked: Promise<Result>): Promise<Result | SyncError> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof Unanswered) return error
    throw error
  }
}
