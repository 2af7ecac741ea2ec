import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { isSourceId } from '../model/source-id.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { cannot, unlessAbsent } from './files/disk-error.ts'
import type { StateFolder } from './files/state-folder.ts'

// The sources of a hub that a configuration follows as a whole. They are in a file of their own, since a configuration is
// read before its store is opened.

const NAME = 'hub-sources.json'

/** The name of the file among those that the processes of a hub share. */
export const HUB_SOURCES = `logs/${NAME}`

/** The sources of a hub that are followed. */
export interface HubSourceIds {
  /** In the order of the hub, and those that stay behind them. */
  readonly sources: readonly SourceId[]
  /** Those that the hub has no more, but that stay: an operator or the lock keeps them, or they wait for a decision. */
  readonly gone: readonly SourceId[]
}

/** The sources that are followed, with those that wait for a decision: once they do, it is not judged anew. */
export interface ListedSources extends HubSourceIds {
  readonly waiting: readonly SourceId[]
}

/** `undefined` if none were written yet. Throws `store-failed` for a damaged file. */
export async function readHubSources(state: string): Promise<ListedSources | undefined> {
  const file = join(state, 'logs', NAME)
  const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  if (text === undefined) return undefined
  const value = parseJson(text)
  const { sources, gone, waiting } = isObject(value) ? value : {}
  if (areIds(sources) && areIds(gone) && areIds(waiting)) return { sources, gone, waiting }
  const message = `Cannot read "${file}": it is damaged; remove it, and the next start takes the sources that are served`
  throw new SyncError('store-failed', message)
}

function areIds(value: unknown): value is readonly SourceId[] {
  return Array.isArray(value) && value.every((id) => typeof id === 'string' && isSourceId(id))
}

/** Writes the sources, on the disk before it resolves. */
export async function writeHubSources(state: StateFolder, ids: ListedSources): Promise<void> {
  await state.writeShared('logs', NAME, canonicalJson(ids))
}
