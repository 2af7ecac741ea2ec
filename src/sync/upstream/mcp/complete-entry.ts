import { inSlices } from '../../../base/cooperative.ts'
import { isMapping } from '../../../base/json-value.ts'
import { addSizes } from './entry-sizes.ts'
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

/**
 * Completes all entries of a list. The loop is sliced, because most entries need no request, and an await without I/O
 * does not yield to other work.
 */
export async function wholeEntries(
  entries: readonly unknown[],
  looking: ListingContext,
): Promise<readonly MadeEntry[]> {
  const made: MadeEntry[] = []
  await inSlices(
    entries,
    async (entry) => {
      made.push(await wholeEntry(entry, looking))
    },
    looking.signal,
  )
  return made
}
