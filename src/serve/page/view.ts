import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import type { PageHost } from './page-data.ts'

/** What a page is drawn from: one catalog, and what the process around it says. */
export interface View {
  readonly catalog: Catalog
  /** Whether that is all that is served. If not, nothing on the page may tell of the rest. */
  readonly isWhole: boolean
  /** The packs whose addresses are told of. */
  readonly packs: readonly Pack[]
  readonly host: PageHost
  /** The way from this page to the root. */
  readonly up: string
  /** Of the server as clients know it, without a slash at its end. */
  readonly address: string
  readonly hasInstaller: boolean
  readonly params: URLSearchParams
}
