import { atOnce } from '../../../base/cooperative.ts'
import type { Steps } from '../../../base/cooperative.ts'
import { MadeBetween } from '../../../base/incremental.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { diffing } from '../../../sync/catalog/changes.ts'
import type { Changes } from '../../../sync/catalog/changes.ts'
import { folderUrisAbove } from '../../../sync/model/skill-uri.ts'
import type { Serving } from '../core/methods.ts'
import { changingContract, isContractListChanged } from '../resources/contract/contract-changes.ts'
import { changingSynthetics } from '../resources/derived/derived-changes.ts'
import type { Forms } from '../resources/forms.ts'
import { areSameLists } from '../resources/resource-list.ts'
import { areSamePrompts } from '../tools/skill-prompt-list.ts'

/** The events of one change of the catalog. */
export interface Events {
  /** Canonical URIs of files that were added, removed or changed, and every folder above them. Each occurs once. */
  readonly updated: ReadonlySet<string>
  /** True if the list of resources changed for all clients. */
  readonly listChanged: boolean
  /** True if the list changed only for clients that see the `resource://` family. */
  readonly contractListChanged: boolean
  /** True if the list of prompts changed, if skills are prompts. */
  readonly promptsListChanged: boolean
}

/** The parts of `Serving` that notifications need. */
export type Telling = Pick<Serving, 'registry' | 'forms'>

/** Reports every change of the catalog after it is served, until the returned value is disposed. */
export function listenForEvents({ registry, forms }: Telling, tell: (events: Events) => void): Disposable {
  const events = new MadeBetween<Catalog, Events>((before, after) => eventing(before, after, forms))
  return registry.listen(
    (_, after, before) => tell(events.of(before, after)),
    (before, after) => events.steps(before, after),
  )
}

/** Returns the events between two catalogs, generated resources included. */
export function eventsBetween(before: Catalog, after: Catalog, forms: Forms): Events {
  return atOnce(eventing(before, after, forms))
}

/** Works like `eventsBetween`, in steps. */
export function* eventing(before: Catalog, after: Catalog, forms: Forms): Steps<Events> {
  const changes = yield* diffing(before, after)
  const { updated, listChanged } = eventsOf(changes)
  yield
  const made = yield* changingSynthetics({ before, after, changes }, forms)
  const ofContract = yield* changingContract(before, after, forms)
  return {
    updated: new Set([...updated, ...made, ...ofContract]),
    listChanged: yield* changingList(listChanged, before, after, forms),
    contractListChanged: isContractListChanged(before, after, forms),
    promptsListChanged: forms.skillPrompts && !(yield* areSamePrompts(before, after)),
  }
}

/** `changes` covers only the SKILL.md documents. */
function* changingList(ofDocuments: boolean, before: Catalog, after: Catalog, forms: Forms): Steps<boolean> {
  const { list, synthetic } = forms.resources
  if (ofDocuments || (list === 'skills' && synthetic === 'hide')) return ofDocuments
  return !(yield* areSameLists(before, after, forms))
}

/** A folder counts as updated if anything below it is: a subscriber to the root of a skill expects that. */
export function eventsOf(changes: Changes): Pick<Events, 'updated' | 'listChanged'> {
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
