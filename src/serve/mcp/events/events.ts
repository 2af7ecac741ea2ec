import { diffing } from '../../../sync/catalog/changes.ts'
import type { Changes } from '../../../sync/catalog/changes.ts'
import { MadeBetween } from '../../../base/incremental.ts'
import { folderUrisAbove } from '../../../sync/model/skill-uri.ts'
import { atOnce } from '../../../base/cooperative.ts'
import type { Steps } from '../../../base/cooperative.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { changingContract, isContractListChanged } from './contract-changes.ts'
import type { Forms } from '../resources/compatibility.ts'
import type { Serving } from '../core/methods.ts'
import { areSameLists } from '../resources/resource-list.ts'
import { areSamePrompts } from '../tools/skill-prompt-list.ts'
import { changingSynthetics } from './derived-changes.ts'

/** What subscribers may want to hear of one change of the catalog. */
export interface Events {
  /** Canonical URIs: files that came, went or changed, and every folder above one. Each once. */
  readonly updated: ReadonlySet<string>
  /** As everybody sees the list. */
  readonly listChanged: boolean
  /** What only those see of it who are shown the `resource://` family. */
  readonly contractListChanged: boolean
  /** Of prompts, where skills are some. */
  readonly promptsListChanged: boolean
}

/** What notifications are made from. */
export type Telling = Pick<Serving, 'registry' | 'forms'>

/** Tells of every change of the catalog, after it is served, until what is returned is disposed. */
export function listenForEvents({ registry, forms }: Telling, tell: (events: Events) => void): Disposable {
  const events = new MadeBetween<Catalog, Events>((before, after) => eventing(before, after, forms))
  return registry.listen(
    (_, after, before) => tell(events.of(before, after)),
    (before, after) => events.steps(before, after),
  )
}

/** What is told of the way from one catalog to another, what is made by us included. */
export function eventsBetween(before: Catalog, after: Catalog, forms: Forms): Events {
  return atOnce(eventing(before, after, forms))
}

/** `eventsBetween`, for where others wait. */
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

/** `changes` knows of the documents of skills alone. */
function* changingList(ofDocuments: boolean, before: Catalog, after: Catalog, forms: Forms): Steps<boolean> {
  const { list, synthetic } = forms.resources
  if (ofDocuments || (list === 'skills' && synthetic === 'hide')) return ofDocuments
  return !(yield* areSameLists(before, after, forms))
}

/** A folder counts as updated when anything below it is: that is what a subscriber to a skill's root waits for. */
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
