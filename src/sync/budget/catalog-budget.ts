import type { Catalog } from '../catalog/catalog.ts'
import { packedIn } from '../catalog/pack.ts'
import type { Pack } from '../catalog/pack.ts'
import type { Snapshot } from '../model/snapshot.ts'
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

/** The limits of packs, by the ids of the packs. */
export type PackBudgetLimits = ReadonlyMap<string, BudgetTerms>

/** Works out the budget of a catalog. */
export function catalogBudget(
  catalog: BudgetedCatalog,
  packs: readonly Pack[],
  limits: PackBudgetLimits,
): CatalogBudget {
  return {
    ...budgetSummary(listedSkillsOf(catalog)),
    packs: packs.map((pack) => {
      const limit = limits.get(pack.id)
      const summary = budgetSummary(listedSkillsOf(catalog, pack), limit && [limit])
      return { pack: pack.id, isLimited: limit !== undefined, ...summary }
    }),
  }
}

/** What is served, and the folders of disabled skills. */
export type BudgetedCatalog = Pick<Catalog, 'snapshots' | 'sources'>

/** The skills of a catalog that clients list, or those of one pack. Disabled skills are left out. */
export function listedSkillsOf({ snapshots, sources }: BudgetedCatalog, pack?: Pack): readonly BudgetSkill[] {
  const disabled = new Map<string, ReadonlySet<string>>(sources.map(([id, ...paths]) => [id, new Set(paths)]))
  const chosen = pack === undefined ? snapshots : snapshots.map((snapshot) => packedPart(snapshot, pack))
  return budgetSkillsOf(chosen, (source, { path }) => disabled.get(source)?.has(path) !== true)
}

function packedPart(snapshot: Snapshot, pack: Pack): Pick<Snapshot, 'source' | 'skills'> {
  return { source: snapshot.source, skills: [...packedIn(snapshot, pack)] }
}
