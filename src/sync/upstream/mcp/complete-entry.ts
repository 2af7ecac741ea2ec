import { firstRead } from './unverified-skills.ts'
import { isMapping } from '../../../base/json-value.ts'
import { inSlices } from '../../../base/cooperative.ts'
import type { Looking, Made } from './listing-context.ts'
import { sized } from './entry-sizes.ts'

/** An entry with what its server leaves unsaid, as far as that can be learnt: sizes, and what dynamic files are at this look. */
export async function wholeEntry(entry: unknown, looking: Looking): Promise<Made> {
  if (!looking.rules.takesDynamic || !isMapping(entry)) return sized(entry, looking)
  const { uri, frontmatter, resources } = entry
  if (typeof uri !== 'string' || resources !== 'dynamic') return sized(entry, looking)
  return { ...(await firstRead({ uri, frontmatter, digest: undefined, said: '' }, looking)), isDynamic: true }
}

/** The same of all entries of a list. Most of them are whole, and to wait for nothing lets nobody else in. */
export async function wholeEntries(entries: readonly unknown[], looking: Looking): Promise<readonly Made[]> {
  const made: Made[] = []
  await inSlices(
    entries,
    async (entry) => {
      made.push(await wholeEntry(entry, looking))
    },
    looking.signal,
  )
  return made
}
