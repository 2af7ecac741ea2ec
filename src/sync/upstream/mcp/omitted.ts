import { OMITTED_LIST } from '../../skill-md/entry-faults.ts'
import { SyncError } from '../../model/sync-error.ts'
import { unmade } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { allOf, answered } from './pages.ts'
import type { SpentBudget } from './pages.ts'
import { wholeEntries } from './complete-entry.ts'

/**
 * Lists the skills that another skillsyncd leaves out of `skills/list`. A failure costs no skill of the list: it
 * becomes a finding, and the previously known skills stay. `spent`: the part of the budget used by `skills/list`, which
 * both share.
 */
export async function omittedBy(looking: ListingContext, spent: SpentBudget): Promise<readonly MadeEntry[]> {
  try {
    const asked = { method: OMITTED_LIST, key: 'skills', firstMs: looking.rules.connectMs }
    const entries = await allOf(asked, looking, spent)
    if ('ok' in entries) throw answered(OMITTED_LIST, entries)
    return await wholeEntries(entries, looking)
  } catch (error) {
    looking.signal.throwIfAborted()
    if (!(error instanceof SyncError)) throw error
    // No freshness for this list, so the schedule tries again, whatever the other answers allow.
    looking.hints.hear(OMITTED_LIST, {})
    const message = `The skills that skills/list leaves out cannot be learnt, and stay as they were: ${error.message}`
    return [unmade('listing-incomplete', '', message)]
  }
}
