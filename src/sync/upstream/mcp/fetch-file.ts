import { SyncError } from '../../model/sync-error.ts'
import { Overlong } from './client/channel.ts'
import { contentsOf } from './contents.ts'
import type { ResourceContents, Unwanted } from './contents.ts'
import type { ListingContext } from './listing-context.ts'

/** Reads a resource for the cache. A refused or unusable answer makes only this file unavailable. */
export async function fetchFile(
  uri: string,
  mostBytes: number,
  { connection, signal }: ListingContext,
): Promise<ResourceContents> {
  const reply = await connection.request('resources/read', { uri }, signal).catch(unusableAnswer)
  if ('why' in reply) return reply
  if (reply.ok) return contentsOf(reply.result, mostBytes)
  return { why: `the server answers ${reply.code}, "${reply.message.slice(0, 200)}"`, came: 0 }
}

/** A timeout or a lost connection says nothing about the file, and is rethrown. */
function unusableAnswer(error: unknown): Unwanted {
  if (error instanceof Overlong) return { why: error.message, came: error.came, isTooLarge: true }
  if (error instanceof SyncError && error.code === 'unsupported') return { why: error.message, came: 0 }
  throw error
}
