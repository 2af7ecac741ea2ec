import { SyncError } from '../../../sync/model/sync-error.ts'
import { Overlong } from '../client/channel.ts'
import { EntryUnanswered } from '../client/entry-requests.ts'
import { contentsOf } from './contents.ts'
import type { ResourceContents, UnusableAnswer } from './contents.ts'
import type { ListingContext } from './listing-context.ts'

/** Reads a resource for the cache. A refused or unusable answer makes only this file unavailable. */
export async function fetchFile(
  uri: string,
  mostBytes: number,
  { entryRequests, signal }: ListingContext,
): Promise<ResourceContents> {
  const reply = await entryRequests.request('resources/read', { uri }, signal).catch(unusableAnswer)
  if ('why' in reply) return reply
  if (reply.ok) return contentsOf(reply.result, mostBytes)
  return { why: `the server answers ${reply.code}, "${reply.message.slice(0, 200)}"`, came: 0 }
}

/** A timeout or a lost connection says nothing about the file, and is rethrown. */
function unusableAnswer(error: unknown): UnusableAnswer {
  const cause = error instanceof EntryUnanswered ? error.cause : undefined
  if (cause instanceof Overlong) return { why: cause.message, came: cause.came, isTooLarge: true }
  if (cause instanceof SyncError && cause.code === 'unsupported') return { why: cause.message, came: 0 }
  throw error
}
