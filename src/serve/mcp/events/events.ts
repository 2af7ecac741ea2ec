import { runNow } from '../../../base/async/cooperative.ts'
import type { Steps } from '../../../base/async/cooperative.ts'
import { DiffCache } from '../../../base/async/incremental.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { diffing } from '../../../sync/catalog/changes.ts'
import type { Serving } from '../core/methods.ts'
import { areSamePrompts } from '../core/prompt-list.ts'
import type { Forms } from '../resources/forms.ts'
import type { CatalogStep } from '../resources/resource-family.ts'
import type { ListPart } from './list-kinds.ts'

/** The events of one change of the catalog. */
export interface Events {
  /** Canonical URIs of resources that were added, removed or changed, and every folder above them. Each occurs once. */
  readonly updated: ReadonlySet<string>
  /** The changed lists. */
  readonly lists: readonly ListPart[]
}

/** The parts of `Serving` that notifications need. */
export type NotificationSource = Pick<Serving, 'registry' | 'forms'>

/** Reports every change of the catalog after it is served, until the returned value is disposed. */
export function listenForEvents({ registry, forms }: NotificationSource, tell: (events: Events) => void): Disposable {
  const events = new DiffCache<Catalog, Events>((before, after) => eventSteps(before, after, forms))
  return registry.listen(
    (_, after, before) => tell(events.of(before, after)),
    (before, after) => events.steps(before, after),
  )
}

/** Returns the events between two catalogs. */
export function eventsBetween(before: Catalog, after: Catalog, forms: Forms): Events {
  return runNow(eventSteps(before, after, forms))
}

/** Works like `eventsBetween`, in steps. */
export function* eventSteps(before: Catalog, after: Catalog, forms: Forms): Steps<Events> {
  const step = { before, after, changes: yield* diffing(before, after) }
  const updated = yield* updating(step, forms)
  const lists = yield* changingLists(step, forms)
  const arePromptsSame = !forms.skillPrompts || (yield* areSamePrompts(before, after))
  return { updated, lists: arePromptsSame ? lists : [...lists, 'prompts'] }
}

function* updating(step: CatalogStep, { families }: Forms): Steps<ReadonlySet<string>> {
  const updated = new Set<string>()
  for (const family of families) {
    for (const uri of yield* family.changes(step)) updated.add(uri)
    yield
  }
  return updated
}

function* changingLists(step: CatalogStep, { families }: Forms): Steps<readonly ListPart[]> {
  const changed = new Set<ListPart>()
  for (const family of families)
    if (!changed.has(family.scope) && (yield* family.isListChanged(step))) changed.add(family.scope)
  return [...changed]
}
