import { termsText } from '../../sync/catalog/budget/budget-summary.ts'
import { costText } from '../../sync/catalog/budget/budget-text.ts'
import { allowanceOf } from '../../sync/catalog/budget/context-budget.ts'
import { packOverrun } from '../../sync/catalog/budget/pack-limit.ts'
import { disabledIn } from '../../sync/model/decisions/disabled-matches.ts'
import type { ServedSource, Snapshot } from '../../sync/model/snapshot.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { revisionText } from '../../sync/pull/move-policy.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import type { ServedCatalog } from './served-catalog.ts'

interface BudgetHoldParts extends Pick<DaemonContext, 'store'> {
  readonly config: Config
  readonly served: Pick<ServedCatalog, 'current'>
}

/** The limits of packs, by which one pull is judged. */
export class BudgetHold {
  readonly #parts: BudgetHoldParts
  #isJudged = false

  constructor(parts: BudgetHoldParts) {
    this.#parts = parts
  }

  /** The reason to hold a candidate that takes a pack over its limit, beside what is served of other sources. */
  judge(next: Snapshot): SyncError | undefined {
    this.#isJudged = true
    return overrunOf(next, this.#parts.served.current, this.#parts)
  }

  /**
   * Judges the candidate beside what is served when it is published: another source may have taken the room since. A
   * candidate that was not judged before, such as one that a person approved, is not judged here.
   */
  judgeAgain(next: Snapshot, current: () => readonly ServedSource[]): SyncError | undefined {
    return this.#isJudged ? overrunOf(next, current(), this.#parts) : undefined
  }
}

function overrunOf(
  next: Snapshot,
  current: readonly ServedSource[],
  { config, store }: Pick<BudgetHoldParts, 'config' | 'store'>,
): SyncError | undefined {
  const inService = (snapshot: Snapshot) => ({ snapshot, disabled: disabledIn(snapshot, store.decisions.outOfService) })
  const before = current.map(({ snapshot }) => inService(snapshot))
  const found = packOverrun(before, inService(next), config.packs, config.packBudgets)
  if (found === undefined) return undefined
  const { pack, terms, cost } = found
  const model = terms.characters === undefined ? ` (${termsText(terms)})` : ''
  const figures = `${costText({ cost, allowance: allowanceOf(terms) })} in ${terms.client}${model}, from ${found.before}`
  const message = `Cannot follow: ${revisionText(next.revision)} of "${next.source}" takes the listing of the pack "${pack}" to ${figures}`
  return new SyncError('budget-exceeded', message)
}
