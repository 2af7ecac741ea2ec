import { canHold } from '../pack.ts'
import type { Pack } from '../pack.ts'
import { listedIn, packLimitOf } from './catalog-budget.ts'
import type { PackBudgetLimits, SnapshotInService } from './catalog-budget.ts'
import { allowanceOf, listingCost } from './context-budget.ts'
import type { BudgetTerms } from './context-budget.ts'

/** The listing of a pack that would be larger than its limit. */
export interface PackOverrun {
  readonly pack: string
  readonly terms: BudgetTerms
  /** The cost of the listing with the candidate. */
  readonly cost: number
  /** The cost of the listing as it is served. */
  readonly before: number
}

/**
 * The first pack that the candidate takes over its limit, beside what is served of the other sources. A candidate that
 * leaves a pack as large as it is, or makes it smaller, is no reason, however large that is.
 */
export function packOverrun(
  served: readonly SnapshotInService[],
  candidate: SnapshotInService,
  packs: readonly Pack[],
  limits: PackBudgetLimits,
): PackOverrun | undefined {
  const { source } = candidate.snapshot
  const next = [...served.filter(({ snapshot }) => snapshot.source !== source), candidate]
  for (const pack of packs) {
    const terms = packLimitOf(pack, limits)
    if (terms === undefined || !canHold(pack, source)) continue
    const cost = listingCost(listedIn(next, pack), terms)
    if (cost <= allowanceOf(terms).limit) continue
    const before = listingCost(listedIn(served, pack), terms)
    if (cost > before) return { pack: pack.id, terms, cost, before }
  }
  return undefined
}
