import { fileURLToPath } from 'node:url'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import type { ItemsOf } from '../../daemon/status/items.ts'
import { publishedItem } from '../../daemon/status/publication-status.ts'
import type { Status } from '../../daemon/status/status.ts'
import type { Item } from '../../sync/model/item.ts'

/** The lines of the status about the published branches that do not fail. */
export function publicationLines({ publications = [] }: Pick<Status, 'publications'>): readonly string[] {
  return publications.flatMap(({ url, branch, commit, isCurrent, problem }) => {
    if (problem !== undefined) return []
    const at = commit === undefined ? '' : ` at ${commit.slice(0, 12)}`
    return [printableLine(`publishes to ${url}, branch ${branch}: ${isCurrent ? 'up to date' : 'under way'}${at}`)]
  })
}

/** The branches that the marketplace is pushed to. */
export const publicationItems: ItemsOf = ({ publications = [] }, now) =>
  publications.map((publication): Item => {
    const { url, branch, pack } = publication
    const id = `${url} ${branch}${pack === undefined ? '' : ` (pack ${pack})`}`
    return { kind: 'publication', id, ...publishedItem(publication, now), ...placeIn(url) }
  })

/** The folder of a repository on this machine. */
function placeIn(url: string): Pick<Item, 'place'> {
  return url.startsWith('file:') ? { place: fileURLToPath(url) } : {}
}
