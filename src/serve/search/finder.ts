import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Offered } from '../../sync/catalog/tool-catalog.ts'
import type { Registry } from '../registry.ts'
import type { Holder } from '../fair-shares.ts'
import type { SkillQuery } from './query.ts'

/** Finds skills among those that models are told of. The daemon hands it over: this side knows no store and no thread. */
export interface Finder {
  /**
   * In what the registry serves at the moment: nothing else has a say in what is found, nor in its order. `holder`: the one that
   * the search counts for.
   */
  find(registry: Registry, query: SkillQuery, holder?: Holder): Promise<Found>
}

/** `late`: the index is still being made. `failed`: there is none at the moment. `crowded`: its holder has its share of all searches. */
export type Found =
  | { readonly kind: 'found'; readonly catalog: Catalog; readonly skills: readonly Offered[] }
  | { readonly kind: 'late' | 'failed' | 'crowded' }
