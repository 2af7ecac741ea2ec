import type { Catalog } from '../../sync/model/catalog.ts'
import type { PageHost } from './page-host.ts'

/** What a page is drawn from: one catalog, and what the process around it says. */
export interface View {
  readonly catalog: Catalog
  readonly host: PageHost
  /** The way from this page to the root. */
  readonly up: string
  /** Of the server as clients know it, without a slash at its end. */
  readonly address: string
  readonly hasInstaller: boolean
  readonly params: URLSearchParams
}
