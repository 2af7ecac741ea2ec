import type { UnservedSources, LackingSource } from '../../serve/mcp/tools/unserved-sources.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { recordAt } from '../../sync/store/source-records.ts'
import type { Store } from '../../sync/store/store.ts'
import type { Config } from '../config/config.ts'

/**
 * The sources of which a catalog has nothing. `MOST_NAMED` of them are named, with the reasons from the state folder.
 */
export async function lackingIn(catalog: Catalog, { sources }: Config, store: Store): Promise<UnservedSources> {
  const lacking = withoutAny(catalog, sources)
  const named = lacking.slice(0, MOST_NAMED).map(async ({ source }): Promise<LackingSource> => {
    const { problem } = recordAt(await store.records.read(source.id), source)
    const isUnpolled = store.decisions.of(source.id).hold?.noPoll === true
    return { source: source.id, why: problem?.code ?? (isUnpolled ? 'held' : 'first-pull') }
  })
  return { count: lacking.length, named: await Promise.all(named) }
}

/** The number of such sources, for callers that must not know any source. */
export function lackingUnnamed(catalog: Catalog, sources: Config['sources']): UnservedSources {
  return { count: withoutAny(catalog, sources).length, named: [] }
}

function withoutAny({ snapshots }: Catalog, sources: Config['sources']): Config['sources'] {
  const served = new Set(snapshots.map(({ source }) => source))
  return sources.filter(({ source }) => !served.has(source.id))
}

/** Each named source costs a read of a file. */
const MOST_NAMED = 16
