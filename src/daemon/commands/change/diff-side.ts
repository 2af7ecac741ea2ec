import { resolve } from 'node:path'
import { budgetSkillOf, budgetSkillsOf } from '../../../sync/catalog/budget/budget-skill.ts'
import type { BudgetSkill } from '../../../sync/catalog/budget/budget-skill.ts'
import type { RecordedRevision } from '../../../sync/model/changes/generation-record.ts'
import { pluginSkillsOf } from '../../../sync/model/changes/plugin-changes.ts'
import type { PluginSkills } from '../../../sync/model/changes/plugin-changes.ts'
import { skillStatesOf } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillStates } from '../../../sync/model/changes/skill-changes.ts'
import type { Lock, LockEntry } from '../../../sync/model/decisions/lock.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { currentCatalog } from '../../../sync/pull/generation-catalog.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import type { Context } from '../../cli/command.ts'
import { readCandidate, failureIn, withStoreAndWriter } from '../../cli/store-reader.ts'
import type { SourceFailure } from '../../cli/store-reader.ts'
import { idsOf } from '../../config/config.ts'
import { unknownGeneration } from '../../pull/rollback.ts'
import { lockFileOf } from '../../pull/trust/lock-rules.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { admissionOf } from '../../pull/trust/serving-policy.ts'

/** One side of a comparison: its content of each source. An absent source has no skills on that side. */
export type Side = ReadonlyMap<SourceId, SideSource>

/** The content of a source on one side, or the reason why it is unknown. */
export type SideSource = { readonly failure: SourceFailure } | DiffContents

export interface DiffContents {
  readonly revision: RecordedRevision
  /** By real path. */
  readonly skills: SkillStates
  /** True for a lock: it does not tell which skills are withheld. */
  readonly isLock?: true
  /** True for a generation of which there is the record alone. */
  readonly isRecord?: true
  /** The digest of the docs. */
  readonly docs: string | undefined
  /** The skills of each plugin of the marketplace. Absent if none is read, or for a lock or a record, which have no plugins. */
  readonly plugins?: PluginSkills | undefined
  /** The skills as agents list them. Absent for a record, and for a lock unless its digests are known: they have no descriptions. */
  readonly listed?: readonly BudgetSkill[]
}

/** The side with this name: `lock`, `served`, `upstream`, the number of a generation, or the path of a lock file. */
export async function sideOf(
  name: string,
  ids: readonly SourceId[],
  context: Context,
  config: ServedConfig,
): Promise<Side> {
  switch (name) {
    case 'lock':
      return ofLock(await expectedLock(lockFileOf(config)), await servedSnapshots(config))
    case 'served':
      return ofSnapshots(await servedSnapshots(config))
    case 'upstream':
      return upstream(ids, context, config)
    default:
      return /^\d+$/.test(name)
        ? generation(Number(name), config)
        : ofLock(await expectedLock(resolve(name)), await servedSnapshots(config))
  }
}

async function expectedLock(file: string): Promise<Lock> {
  const lock = await readLock(file)
  if (lock !== undefined) return lock
  throw new SyncError('lock-mismatch', `Cannot compare with the lock "${file}": there is none`)
}

/** A lock has the descriptions of served skills with the locked digests. */
function ofLock({ sources }: Lock, served: readonly Snapshot[]): Side {
  return new Map([...sources].map(([id, entry]) => [id, { ...entry, isLock: true, ...listedByDigest(entry, served) }]))
}

function listedByDigest({ skills }: LockEntry, served: readonly Snapshot[]): Pick<DiffContents, 'listed'> {
  const byDigest = new Map(served.flatMap((one) => one.skills.map((skill) => [skill.digest, skill] as const)))
  const known = [...skills].map(([path, { digest }]) => ({ path, skill: byDigest.get(digest) }))
  if (known.some(({ skill }) => skill === undefined)) return {}
  return { listed: known.flatMap(({ path, skill }) => (skill && budgetSkillOf(skill, path)) ?? []) }
}

async function servedSnapshots(config: ServedConfig): Promise<readonly Snapshot[]> {
  using store = await Store.openExisting(config.state)
  if (store === undefined) return []
  return (await currentCatalog(store, idsOf(config), admissionOf(config))).snapshots
}

async function generation(number: number, config: ServedConfig): Promise<Side> {
  using store = await Store.openExisting(config.state)
  const found = await store?.generations.read(number)
  if (store !== undefined && found !== undefined)
    return ofSnapshots(await Promise.all(found.sources.map(({ snapshot }) => store.snapshots.read(snapshot))))
  const recorded = await store?.generations.recordedSources(number)
  if (recorded !== undefined)
    return new Map([...recorded].map(([source, contents]) => [source, { ...contents, isRecord: true }]))
  throw await unknownGeneration(store, number, 'skillsyncd log names what is recorded of it')
}

function ofSnapshots(snapshots: readonly Snapshot[]): Side {
  return new Map(snapshots.map((snapshot) => [snapshot.source, diffContentsOf(snapshot)]))
}

/** The content of a snapshot's source. */
export function diffContentsOf(snapshot: Snapshot): DiffContents {
  return {
    revision: snapshot.revision,
    skills: skillStatesOf(snapshot),
    docs: snapshot.docs?.digest,
    plugins: pluginSkillsOf(snapshot),
    listed: budgetSkillsOf([snapshot]),
  }
}

async function upstream(ids: readonly SourceId[], context: Context, config: ServedConfig): Promise<Side> {
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
