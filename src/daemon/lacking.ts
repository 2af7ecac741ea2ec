import type { Lacking } from '../serve/mcp/empty-list.ts'
import type { Catalog } from '../sync/model/catalog.ts'
import { recordAt } from '../sync/store/source-records.ts'
import type { Store } from '../sync/store/store.ts'
import type { Config } from './config.ts'

/** The sources of which a catalog has nothing, `MOST_LACKING` at most, with the reasons as the state folder has them. */
export async function lackingIn(catalog: Catalog, { sources }: Config, store: Store): Promise<readonly Lacking[]> {
  const served = new Set(catalog.snapshots.map(({ source }) => source))
  const lacking = sources.filter(({ source }) => !served.has(source.id)).slice(0, MOST_LACKING)
  return Promise.all(
    lacking.map(async ({ source }): Promise<Lacking> => {
      const { condition } = recordAt(await store.records.read(source.id), source)
      const isPaused = store.decisions.of(source.id).paused === true
      return { source: source.id, why: condition?.code ?? (isPaused ? 'paused' : 'first-pull') }
    }),
  )
}

/** Each costs a read of a file, and more are not told. */
const MOST_LACKING = 16
