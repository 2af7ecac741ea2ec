import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import type { SearchResult } from '../mcp/core/finder.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import { messageHtml } from './message.ts'
import type { ContentMoment, PageHost } from './page-data.ts'
import { momentKeyOf } from './page-data.ts'

/** The data that a page is rendered from: one catalog, and the services of the daemon. */
export interface PageView {
  readonly catalog: Catalog
  /** True if the catalog is everything. If false, the page must not reveal the rest. */
  readonly isWhole: boolean
  /**
   * True if the operator has admitted the reader to everything: revisions that wait for approval, the use of skills, and
   * the rings, where the reasons of stops name skills and people.
   */
  readonly isAdmitted: boolean
  /** The packs whose addresses are shown. */
  readonly packs: readonly Pack[]
  readonly host: PageHost
  /** The relative path from this page to the root. */
  readonly up: string
  /** The URL of the server that clients use, without a trailing slash. */
  readonly address: string
  readonly hasInstaller: boolean
  /** The catalog that installers see, who send no token. `undefined` if they need one, or are offered nothing. */
  readonly installable: Catalog | undefined
  /** True if skills are prompts. */
  readonly hasPrompts: boolean
  /** Searches as clients do, best match first. `undefined` if search is off. */
  readonly search?: ((text: string) => Promise<SearchResult>) | undefined
  readonly params: URLSearchParams
}

/** Renders the part of a feature in the page with the setup of clients, and names the clients that it is for. */
export type FeatureSection = (view: PageView) => { readonly content: Html; readonly clients: readonly string[] }

/** Renders a page of a feature; `undefined` if it does not exist for the reader. */
export type FeaturePage = (view: PageView) => Promise<PageBody | undefined>

/**
 * Returns a function that gives the last change of a skill. A reader of some packs gets no commits, whose message can name
 * skills outside of them, and no earlier change.
 */
export async function momentLookup({
  host,
  isWhole,
}: PageView): Promise<(skill: Pick<CatalogSkill, 'source' | 'skill'>) => ContentMoment | undefined> {
  const moments = await host.lastChanges()
  return (skill) => {
    const moment = moments.get(momentKeyOf(skill))
    if (isWhole || moment === undefined) return moment
    const { commit: _commit, earlier: _earlier, ...rest } = moment
    return rest
  }
}

/** Renders a message of the hub without its secrets. */
export function messageOf(text: string, { host }: Pick<PageView, 'host'>): Html {
  return messageHtml(host.clean(text), new Set(host.sources().map(({ id }) => id)))
}
