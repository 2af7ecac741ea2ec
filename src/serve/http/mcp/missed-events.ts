import { eventing } from '../../mcp/events/events.ts'
import type { Events, Telling } from '../../mcp/events/events.ts'
import { anyOfContract } from '../../mcp/resources/contract.ts'
import type { ListPart } from '../../mcp/events/list-kinds.ts'
import { anySynthetics } from '../../mcp/resources/derived-resources.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { stepByStep } from '../../../base/cooperative.ts'
import type { Serving } from '../../mcp/core/methods.ts'
import { Turns } from '../../../base/serial-queue.ts'
import { choicesIn, WHOLE } from '../../views.ts'
import type { ViewName } from '../../views.ts'
import type { Mark, SessionLog } from './session-store.ts'

/** What it is told of those who see one part of the catalog. */
export interface PastParts {
  /** What they are answered from. */
  readonly serving: Telling
  readonly view: ViewName
  /** The mark of what is served now, to anybody. */
  readonly now: () => Mark
  readonly catalogOf: SessionLog['catalogOf']
  readonly packs?: Serving['packs']
}

/** What happened since a catalog that was served once. After a restart thousands of sessions ask that of the same one. */
export class Past {
  #serving: Telling
  #packs: Serving['packs']
  readonly #view: ViewName
  readonly #now: () => Mark
  readonly #catalogOf: SessionLog['catalogOf']
  /** By the earlier catalog and the forms that it was served in; all of them up to the catalog of one digest. */
  readonly #known = new Map<string, Promise<Events | undefined>>()
  #upTo: string | undefined
  readonly #looking = new Turns()

  constructor({ serving, view, now, catalogOf, packs }: PastParts) {
    this.#serving = serving
    this.#packs = packs
    this.#view = view
    this.#now = now
    this.#catalogOf = catalogOf
  }

  /** From now on the same catalogs are served in these forms. Undefined where those are the same; else what is told of that. */
  serve(serving: Telling, packs?: Serving['packs']): Events | undefined {
    const { forms } = this.#serving
    this.#serving = serving
    this.#packs = packs
    this.#known.clear()
    if (forms.digest === serving.forms.digest) return undefined
    const { catalog } = serving.registry
    return madeOtherwise(catalog, catalog, forms.skillPrompts !== serving.forms.skillPrompts)
  }

  /** All parts that lists have now. */
  get parts(): readonly ListPart[] {
    return this.#serving.forms.skillPrompts ? ['skills', 'contract', 'prompts'] : ['skills', 'contract']
  }

  /** What is served now. */
  get now(): Mark {
    return this.#now()
  }

  /** Whether who was told of this has been told of everything. */
  isNow(mark: Mark): boolean {
    const { digest, forms } = this.#now()
    return mark.digest === digest && mark.forms === forms && this.#chooseAlike(mark)
  }

  #chooseAlike({ packs }: Mark): boolean {
    return choicesIn(packs, this.#view) === choicesIn(this.#now().packs, this.#view)
  }

  /** Up to what is served when it is asked. Undefined where the earlier one is not known any more. */
  async eventsSince(mark: Mark): Promise<Events | undefined> {
    const { registry, forms } = this.#serving
    const { catalog } = registry
    if (this.#upTo !== catalog.digest || this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#upTo = catalog.digest
    const key = `${mark.digest} ${mark.forms} ${choicesIn(mark.packs, this.#view)}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    // One after another: each holds a catalog in memory.
    const events = this.#looking.next(async () => {
      const before = this.#seenOf(await this.#catalogOf(mark), mark)
      if (before === undefined) return undefined
      const between = await stepByStep(eventing(before, catalog, forms))
      if (mark.forms === this.#now().forms) return between
      const made = madeOtherwise(before, catalog, forms.skillPrompts)
      return { ...made, updated: new Set([...between.updated, ...made.updated]) }
    })
    this.#known.set(key, events)
    return events
  }

  /** What the packs had of it when they chose otherwise is not known any more. */
  #seenOf(catalog: Catalog | undefined, mark: Mark): Catalog | undefined {
    if (catalog === undefined || this.#view === WHOLE) return catalog
    return this.#chooseAlike(mark) ? this.#packs?.views.in(catalog, this.#view) : undefined
  }
}

const MOST_KNOWN = 16

/** In other forms whatever is made by us may be another, and so may the lists. */
function madeOtherwise(before: Catalog, after: Catalog, promptsListChanged: boolean): Events {
  const made = [...anySynthetics(before, after), ...anyOfContract(before, after)]
  return { updated: new Set(made), listChanged: true, contractListChanged: true, promptsListChanged }
}
