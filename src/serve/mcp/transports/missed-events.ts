import { runInSlices } from '../../../base/async/cooperative.ts'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { choicesIn, partsOfView, WHOLE } from '../../view.ts'
import type { ViewName } from '../../view.ts'
import type { Serving } from '../core/methods.ts'
import { eventSteps } from '../events/events.ts'
import type { Events, NotificationSource } from '../events/events.ts'
import type { ListPart } from '../events/list-kinds.ts'
import type { Forms } from '../resources/forms.ts'
import { markedDigestIn } from './session-store.ts'
import type { NotifiedCatalog, SessionLog } from './session-store.ts'

/** The parts for the clients of one view. */
export interface PastParts {
  /** The serving state of the view. */
  readonly serving: NotificationSource
  readonly view: ViewName
  /** Returns the mark of the whole catalog that clients were last notified of. */
  readonly now: () => NotifiedCatalog
  readonly catalogOf: SessionLog['catalogOf']
  readonly views?: Serving['views']
}

/**
 * Computes the changes since an earlier catalog. After a restart, thousands of sessions need the changes since the same
 * catalog.
 */
export class MissedEvents {
  #serving: NotificationSource
  #views: Serving['views']
  readonly #view: ViewName
  readonly #now: () => NotifiedCatalog
  readonly #catalogOf: SessionLog['catalogOf']
  /** The changes by the earlier catalog and its forms. All of them lead up to the catalog of one digest. */
  readonly #known = new Map<string, Promise<Events | undefined>>()
  #upTo: string | undefined
  readonly #looking = new SerialQueue()

  constructor({ serving, view, now, catalogOf, views }: PastParts) {
    this.#serving = serving
    this.#views = views
    this.#view = view
    this.#now = now
    this.#catalogOf = catalogOf
  }

  /** Replaces the forms of the same catalogs. `undefined` if they are equal; else the events of the difference. */
  serve(serving: NotificationSource, views?: Serving['views']): Events | undefined {
    const { forms } = this.#serving
    this.#serving = serving
    this.#views = views
    this.#known.clear()
    if (forms.digest === serving.forms.digest) return undefined
    const { catalog } = serving.registry
    const lists = resourceLists(serving.forms)
    const arePromptsSame = forms.skillPrompts === serving.forms.skillPrompts
    return madeOtherwise(catalog, catalog, serving.forms, arePromptsSame ? lists : [...lists, 'prompts'])
  }

  /** All parts that the lists have now. */
  get parts(): readonly ListPart[] {
    return partsOf(this.#serving.forms)
  }

  /** The mark of the catalog that clients were last notified of. */
  get now(): NotifiedCatalog {
    return this.#now()
  }

  /** True if no change follows the mark. */
  isNow(mark: NotifiedCatalog): boolean {
    const now = this.#now()
    return this.#digestIn(mark) === this.#digestIn(now) && mark.forms === now.forms && this.#chooseAlike(mark)
  }

  /** The digest of the catalog of the view's ring, if the mark has it. */
  #digestIn(mark: NotifiedCatalog): string | undefined {
    return markedDigestIn(mark, partsOfView(this.#view).ring)
  }

  /** True if the mark is of a later generation than the one that is served here. */
  isBehind(mark: NotifiedCatalog): boolean {
    return mark.generation > this.#now().generation
  }

  #chooseAlike({ packs }: NotifiedCatalog): boolean {
    return choicesIn(packs, this.#view) === choicesIn(this.#now().packs, this.#view)
  }

  /**
   * Returns the changes up to the catalog that clients were notified of at the call. `undefined` if the earlier catalog is no longer known.
   */
  async eventsSince(mark: NotifiedCatalog): Promise<Events | undefined> {
    const { registry, forms } = this.#serving
    const { notified: catalog } = registry
    if (this.#upTo !== catalog.digest || this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#upTo = catalog.digest
    const key = `${this.#digestIn(mark)} ${mark.forms} ${choicesIn(mark.packs, this.#view)}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    // One after another, because each holds a catalog in memory.
    const events = this.#looking.next(async () => {
      const before = this.#seenOf(await this.#catalogOf(mark, partsOfView(this.#view).ring), mark)
      if (before === undefined) return undefined
      const between = await runInSlices(eventSteps(before, catalog, forms))
      if (mark.forms === this.#now().forms) return between
      const made = madeOtherwise(before, catalog, forms)
      return { ...made, updated: new Set([...between.updated, ...made.updated]) }
    })
    this.#known.set(key, events)
    return events
  }

  /** Returns the view's part of an earlier catalog of its ring; `undefined` if its packs had other selection rules then. */
  #seenOf(catalog: Catalog | undefined, mark: NotifiedCatalog): Catalog | undefined {
    if (catalog === undefined || partsOfView(this.#view).packs === WHOLE) return catalog
    return this.#chooseAlike(mark) ? this.#views?.in(catalog, this.#view) : undefined
  }
}

const MOST_KNOWN = 16

/** Returns the events of a change of forms: every configurable resource may differ, and so may the lists. */
function madeOtherwise(before: Catalog, after: Catalog, forms: Forms, lists = partsOf(forms)): Events {
  return { updated: new Set(forms.families.flatMap((family) => family.configurableUris([before, after]))), lists }
}

function partsOf(forms: Forms): readonly ListPart[] {
  return forms.skillPrompts ? [...resourceLists(forms), 'prompts'] : resourceLists(forms)
}

function resourceLists({ families }: Forms): readonly ListPart[] {
  return [...new Set(families.map(({ scope }) => scope))]
}
