import { costText } from '../../sync/budget/budget-text.ts'
import { allowanceOf } from '../../sync/budget/context-budget.ts'
import { packOverrun } from '../../sync/budget/pack-limit.ts'
import { disabledIn } from '../../sync/decisions/disabled-matches.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { revisionText } from '../../sync/pull/move-policy.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../context.ts'
import type { ServedCatalog } from './served-catalog.ts'

interface BudgetHoldParts extends Pick<DaemonContext, 'store'> {
  readonly config: Config
  readonly served: Pick<ServedCatalog, 'current'>
}

/** The reason to hold a candidate that takes a pack over its limit, beside what is served of other sources. */
export function overrunOf(next: Snapshot, { config, served, store }: BudgetHoldParts): SyncError | undefined {
  const inService = (snapshot: Snapshot) => ({ snapshot, disabled: disabledIn(snapshot, store.decisions.outOfService) })
  const before = served.current.map(({ snapshot }) => inService(snapshot))
  const found = packOverrun(before, inService(next), config.packs, config.packBudgets)
  if (found === undefined) return undefined
  const { pack, terms, cost } = found
  const figures = `${costText({ cost, allowance: allowanceOf(terms) })} in ${terms.client}, from ${found.before}`
  const message = `Cannot follow: ${revisionText(next.revision)} of "${next.source}" takes the listing of the pack "${pack}" to ${figures}`
  return new SyncError('budget-exceeded', message)
}
