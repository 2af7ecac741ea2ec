import type { PageRing, PageRingSource } from '../../../serve/page/page-data.ts'
import { durationText } from '../../config/schema/scalars.ts'
import type { RingStatus } from '../status.ts'

/** A source, and the commit that the first ring serves of it; `undefined` if it serves nothing. */
interface FirstContent {
  readonly id: string
  readonly served: { readonly commit: string } | undefined
}

/** The rings for the page, each with all sources. `clean` removes what readers must not see of a message. */
export function pageRingsOf(
  rings: readonly RingStatus[],
  sources: readonly FirstContent[],
  clean: (text: string) => string,
): readonly PageRing[] {
  return rings.map(({ id, minAgeMs, share, sources: others }) => {
    const known = new Map(others.map((other) => [other.source as string, other]))
    return {
      id,
      share,
      minAge: minAgeMs === 0 ? undefined : durationText(minAgeMs),
      sources: sources.map(({ id: source, served }): PageRingSource => {
        const other = known.get(source)
        const { commit, since, next, nextAt, stopped } = other ?? {}
        return {
          source,
          // A hold is listed where the ring has what the first ring has, too: then without a commit of its own.
          isNewest: other === undefined,
          commit: other === undefined ? served?.commit : commit,
          since,
          next,
          nextAt,
          stopped: stopped && { code: stopped.code, message: clean(stopped.message) },
        }
      }),
    }
  })
}
