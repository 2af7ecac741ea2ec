import { isMapping } from '../../../base/json-value.ts'
import { addSizes } from './entry-sizes.ts'
import { skillPathOf } from './listed-files.ts'
import { madeInTurn } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { firstRead } from './unverified-skills.ts'

/**
 * Completes an entry with what its server leaves out, if it can be found: sizes, and the present content of dynamic
 * files.
 */
export async function wholeEntry(entry: unknown, looking: ListingContext): Promise<MadeEntry> {
  if (!looking.rules.takesDynamic || !isMapping(entry)) return addSizes(entry, looking)
  const { uri, frontmatter, resources } = entry
  if (typeof uri !== 'string' || resources !== 'dynamic') return addSizes(entry, looking)
  return { ...(await firstRead({ uri, frontmatter, digest: undefined, said: '' }, looking)), isDynamic: true }
}

/** Completes all entries of a list. */
export async function wholeEntries(
  entries: readonly unknown[],
  looking: ListingContext,
): Promise<readonly MadeEntry[]> {
  return madeInTurn(entries, wholeEntry, pathOfEntry, looking)
}

function pathOfEntry(entry: unknown): string | undefined {
  return isMapping(entry) && typeof entry['uri'] === 'string' ? skillPathOf(entry['uri']) : undefined
}
