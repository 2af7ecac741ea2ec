import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import type { Registry } from '../../registry.ts'

/** Finds skills among those that models may see. The daemon passes it in: `serve` knows no store and no thread. */
export interface Finder {
  /**
   * Searches the current catalog of the registry. Nothing else affects the results or their order. `holder`: the holder
   * that the search counts for.
   */
  find(registry: Registry, query: SkillQuery, holder?: ShareHolder): Promise<SearchResult>
}

/**
 * `late`: the index is still being built. `failed`: no index exists at the moment. `crowded`: the holder has used its
 * share of searches.
 */
export type SearchResult =
  | { readonly kind: 'found'; readonly catalog: Catalog; readonly skills: readonly Offered[] }
  | { readonly kind: 'late' | 'failed' | 'crowded' }

/** A validated search query. */
export interface SkillQuery {
  readonly text: string
  /** The maximum number of hits. */
  readonly limit: number
}
