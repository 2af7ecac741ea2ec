import type { Snapshot } from '../../model/snapshot.ts'
import type { Catalog } from '../catalog.ts'
import { packedIn } from '../pack.ts'
import type { Pack } from '../pack.ts'
import { budgetSkillsOf } from './budget-skill.ts'
import type { BudgetSkill } from './budget-skill.ts'
import { budgetSummary } from './budget-summary.ts'
import type { BudgetSummary } from './budget-summary.ts'
import type { BudgetTerms } from './context-budget.ts'

/** The context budget of everything that is served, and of each pack. */
export interface CatalogBudget extends BudgetSummary {
  /** In the order of the configuration. A pack with a limit is judged by that alone. */
  readonly packs: readonly PackBudget[]
}

export interface PackBudget extends BudgetSummary {
  readonly pack: string
  /** True if the pack has a limit of its own, which holds commits. */
  readonly isLimited: boolean
}

/** The limits of packs, by the ids of the packs. A record, because a configuration is compared as JSON. */
export type PackBudgetLimits = Readonly<Record<string, BudgetTerms>>

/** The limit of a pack; `undefined` if it has none. */
export function packLimitOf({ id }: Pack, limits: PackBudgetLimits): BudgetTerms | undefined {
  // The id of a pack may be `constructor`.
  return Object.hasOwn(limits, id) ? limits[id] : undefined
}

type BudgetCatalog = Pick<Catalog, 'snapshots' | 'sources'>

/** True if the listings of the catalog and of each pack have together at most `most` skills. */
export function areListingsWithin(catalog: BudgetCatalog, packs: readonly Pack[], most: number): boolean {
  const inService = inServiceOf(catalog)
  let room = most
  for (const pack of [undefined, ...packs]) {
    room -= listedIn(inService, pack).length
    if (room < 0) return false
  }
  return true
}

/** Works out the budget of a catalog. */
export function catalogBudget(catalog: BudgetCatalog, packs: readonly Pack[], limits: PackBudgetLimits): CatalogBudget {
  const inService = inServiceOf(catalog)
  return {
    ...budgetSummary(listedIn(inService)),
    packs: packs.map((pack) => {
      const limit = packLimitOf(pack, limits)
      const summary = budgetSummary(listedIn(inService, pack), limit && [limit])
      return { pack: pack.id, isLimited: limit !== undefined, ...summary }
    }),
  }
}

function inServiceOf({ snapshots, sources }: BudgetCatalog): readonly SnapshotInService[] {
  const disabled = new Map<string, ReadonlySet<string>>(sources.map(([id, ...paths]) => [id, new Set(paths)]))
  return snapshots.map((snapshot) => ({ snapshot, disabled: disabled.get(snapshot.source) ?? NONE }))
}

const NONE: ReadonlySet<string> = new Set()

/** A snapshot, with the folders of its disabled skills. */
export interface SnapshotInService {
  readonly snapshot: Snapshot
  readonly disabled: { has(path: string): boolean }
}

/** The skills in service that clients list, or those of one pack. */
export function listedIn(inService: readonly SnapshotInService[], pack?: Pack): readonly BudgetSkill[] {
  return budgetSkillsOf(
    inService.map(({ snapshot, disabled }) => {
      const skills = pack === undefined ? snapshot.skills : [...packedIn(snapshot, pack)]
      return { source: snapshot.source, skills: skills.filter(({ path }) => !disabled.has(path)) }
    }),
  )
}
