import type { MarketplaceConfig } from '../../features/marketplace/plugins.ts'
import type { WebConfig } from '../../serve/page/http/web-routes.ts'
import type { OAuthConfig, PageClient, SecretReference } from './auth.ts'
import type { FormsConfig, HttpListenAddress, ServeConfig } from './config.ts'
import type { ConfigFile } from './schema/schema.ts'

type ServeEntry = ConfigFile['serve']
type PageClientEntry = NonNullable<NonNullable<ServeEntry['oauth']>['page']>
type SecretEntry = NonNullable<PageClientEntry['client_secret']>

/** The address of MCP clients, and the host names and origins that are accepted. */
export function httpAddressOf(entry: ServeEntry['http']): HttpListenAddress {
  return {
    host: entry.host,
    port: entry.port,
    publicUrl: entry.public_url?.replace(/\/$/, ''),
    allowedHosts: entry.allowed_hosts ?? [],
    allowedOrigins: entry.allowed_origins ?? [],
    trustedProxies: entry.trusted_proxies ?? [],
  }
}

/** The HTTP pages and files that are served in addition to MCP. */
export function webConfigOf({ public: open = [], well_known: wellKnown, page }: ServeEntry): WebConfig {
  return {
    wellKnown: wellKnown?.enabled !== false,
    page: page?.enabled === false ? undefined : { title: page?.title ?? 'Agent Skills' },
    open: new Set(open),
  }
}

/** The plugin marketplace; `undefined` if none is configured. */
export function marketplaceConfigOf(entry: ServeEntry['marketplace']): MarketplaceConfig | undefined {
  if (entry === undefined) return undefined
  const { name, owner = name, description = 'Agent Skills', plugin, retired = [], renames = {} } = entry
  return { name, owner, description, plugin, retired, renames }
}

/** The issuer whose tokens are accepted in addition to ours. */
export function oauthConfigOf(
  entry: ServeEntry['oauth'],
  reference: (entry: SecretEntry) => SecretReference,
): OAuthConfig | undefined {
  if (entry === undefined) return undefined
  const { issuer, audience, scopes = [], token_type: tokenType = 'jwt', keys_max_age: keysMaxAgeMs = DAY_MS } = entry
  const page = entry.page && pageClientOf(entry.page, scopes, reference)
  return { issuer, audience, scopes, tokenType, keysMaxAgeMs, page }
}

function pageClientOf(
  { client_id: clientId, client_secret: secret, scopes, session: sessionMs }: PageClientEntry,
  needed: readonly string[],
  reference: (entry: SecretEntry) => SecretReference,
): PageClient {
  const usual = needed.length > 0 ? needed : ['page']
  return { clientId, clientSecret: secret && reference(secret), scopes: scopes ?? usual, sessionMs }
}

const DAY_MS = 86_400_000

/** The forms in which skills are offered. */
export function formsOf({ resources, index, templates, contract }: ServeEntry): FormsConfig {
  return {
    index: index?.enabled === false ? 'off' : (index?.templates ?? 'omit'),
    templates: templates?.map(({ uri }) => uri) ?? [],
    resources: { list: resources?.list ?? 'skills', synthetic: resources?.synthetic ?? 'hide' },
    contract: contract?.enabled !== false,
  }
}

/** The tools and prompts that are offered in addition to resources. */
export function modelSurfacesOf({
  tools,
  search,
  prompts,
}: ServeEntry): Pick<ServeConfig, 'tools' | 'search' | 'prompts'> {
  return {
    tools:
      tools?.enabled === false ? undefined : { paths: tools?.paths ?? 'auto', waitMs: tools?.wait ?? TOOL_WAIT_MS },
    search: search?.enabled !== false,
    prompts: prompts?.enabled === false ? 'off' : (prompts?.skills ?? 'none'),
  }
}

const TOOL_WAIT_MS = 2_000
