import { resolve } from 'node:path'
import { skillsToLock } from '../../../sync/decisions/lock.ts'
import type { Lock, LockedSkill } from '../../../sync/decisions/lock.ts'
import type { Revision } from '../../../sync/model/revision.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { currentCatalog } from '../../../sync/pull/generation-catalog.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { lockFileOf } from '../../trust/lock-rules.ts'
import { admissionOf } from '../../trust/serving-policy.ts'
import type { Context } from '../command.ts'
import { readCandidate, failureIn, withStoreAndWriter } from '../store-reader.ts'
import type { SourceFailure } from '../store-reader.ts'

/** One side of a comparison: its content of each source. An absent source has no skills on that side. */
export type Side = ReadonlyMap<SourceId, SideSource>

/** The content of a source on one side, or the reason why it is unknown. */
export type SideSource = { readonly failure: SourceFailure } | DiffContents

export interface DiffContents {
  readonly revision: Revision
  /** By real path. */
  readonly skills: ReadonlyMap<string, Pick<LockedSkill, 'name' | 'digest'>>
  /** The digest of the docs. */
  readonly docs: string | undefined
}

/** The side with this name: `lock`, `served`, `upstream`, the number of a generation, or the path of a lock file. */
export async function sideOf(name: string, ids: readonly SourceId[], context: Context, config: Config): Promise<Side> {
  switch (name) {
    case 'lock':
      return ofLock(await expectedLock(lockFileOf(config)))
    case 'served':
      return servedSide(config)
    case 'upstream':
      return upstream(ids, context, config)
    default:
      return /^\d+$/.test(name) ? generation(Number(name), config) : ofLock(await expectedLock(resolve(name)))
  }
}

async function expectedLock(file: string): Promise<Lock> {
  const lock = await readLock(file)
  if (lock !== undefined) return lock
  throw new SyncError('lock-mismatch', `Cannot compare with the lock "${file}": there is none`)
}

function ofLock({ sources }: Lock): Side {
  return sources
}

async function servedSide(config: Config): Promise<Side> {
  using store = await Store.openExisting(config.state)
  if (store === undefined) return new Map()
  return ofSnapshots((await currentCatalog(store, idsOf(config), admissionOf(config))).snapshots)
}

async function generation(number: number, config: Config): Promise<Side> {
  using store = await Store.openExisting(config.state)
  const found = await store?.generations.read(number)
  if (store === undefined || found === undefined)
    throw new OperatorError('unknown-generation', `There is no generation ${number} in "${config.state}" any more`)
  return ofSnapshots(await Promise.all(found.sources.map(({ snapshot }) => store.snapshots.read(snapshot))))
}

function ofSnapshots(snapshots: readonly Snapshot[]): Side {
  return new Map(snapshots.map((snapshot) => [snapshot.source, diffContentsOf(snapshot)]))
}

/** The content of a snapshot's source. */
export function diffContentsOf(snapshot: Snapshot): DiffContents {
  return { revision: snapshot.revision, skills: skillsToLock(snapshot), docs: snapshot.docs?.digest }
}

async function upstream(ids: readonly SourceId[], context: Context, config: Config): Promise<Side> {
  return withStoreAndWriter(context, config, async (looking) => {
    const found = ids.map(async (id): Promise<readonly [SourceId, SideSource]> => {
      try {
        return [id, diffContentsOf(await readCandidate(looking, id))]
      } catch (error) {
        return [id, { failure: failureIn(error) }]
      }
    })
    return new Map(await Promise.all(found))
  })
}
