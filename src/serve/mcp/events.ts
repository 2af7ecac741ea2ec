import type { Changes } from '../../sync/model/changes.ts'
import { folderUrisAbove } from '../../sync/model/skill-uri.ts'

/** What subscribers may want to hear of one change of the catalog. */
export interface Events {
  /** Canonical URIs: files that came, went or changed, and every folder above one. Each once. */
  readonly updated: ReadonlySet<string>
  readonly listChanged: boolean
}

/** A folder counts as updated when anything below it is: that is what a subscriber to a skill's root waits for. */
export function eventsOf(changes: Changes): Events {
  const updated = new Set<string>()
  for (const uris of [changes.added, changes.removed, changes.changed]) {
    for (const uri of uris) {
      updated.add(uri)
      for (const folder of folderUrisAbove(uri)) {
        if (updated.has(folder)) break
        updated.add(folder)
      }
    }
  }
  return { updated, listChanged: changes.list }
}
