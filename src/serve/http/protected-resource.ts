import type { Authenticate, Scope } from '../principal.ts'
import { SCOPES } from '../principal.ts'
import type { SignIn } from '../sign-in.ts'
import type { AccessRules } from './http-access.ts'
import { READ_METHODS } from './server/listener.ts'
import type { HttpRoute, Routes } from './server/listener.ts'
import { sendJson } from './server/response.ts'

/** An authorization server whose access tokens are accepted. */
export interface OAuthOptions {
  readonly issuer: string
  /** The scopes that a token must all have to open everything. Without them, each scope of ours opens its own area. */
  readonly scopes: readonly string[]
  /** The additional scope required at a path. `undefined` if there are no packs. */
  readonly packScopeAt: (path: string) => string | undefined
  /** Returns the principal of an access token. The token's audience must be the resource. */
  readonly authenticate: (token: string, resource: string) => ReturnType<Authenticate>
  /** Lets people sign in to the page; absent if they sign in with tokens alone. */
  readonly signIn?: SignIn
}

const METADATA = '/.well-known/oauth-protected-resource'

/** RFC 9728, section 3.1: the path of the resource follows the well-known path. */
function metadataUrlOf(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return origin + METADATA + pathname
}

/**
 * Extends the rules with tokens of the authorization server. `resource`: the MCP URL that clients use, known as soon as
 * the server listens.
 */
export function rulesWith(rules: AccessRules, oauth: OAuthOptions, resource: () => string): AccessRules {
  return {
    ...rules,
    authenticate: either(rules.authenticate, (token) => oauth.authenticate(token, resource())),
    wordsOf: (scope, path) => {
      const pack = oauth.packScopeAt(path)
      return [...(oauth.scopes.length > 0 ? oauth.scopes : [scope]), ...(pack === undefined ? [] : [pack])].join(' ')
    },
    get metadataUrl() {
      return metadataUrlOf(resource())
    },
  }
}

function either(first: Authenticate | undefined, second: Authenticate): Authenticate {
  return async (token) => (await first?.(token)) ?? second(token)
}

/**
 * Serves the metadata that tells a client where to get a token (RFC 9728). It is public: clients without a token need
 * it.
 */
export function metadataRoutes({ issuer, scopes }: OAuthOptions, resource: () => string): Routes {
  const route: HttpRoute = {
    methods: READ_METHODS,
    async answer(_, response) {
      sendJson(response, 200, metadataOf(resource(), issuer, scopes), { 'cache-control': 'max-age=300' })
    },
  }
  // Older clients read it at the root.
  return { [METADATA]: route, [`${METADATA}/**`]: route }
}

function metadataOf(resource: string, issuer: string, scopes: readonly string[]): object {
  return {
    resource,
    authorization_servers: [issuer],
    scopes_supported: scopes.length > 0 ? scopes : SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'skillsyncd',
  }
}

/** Returns the scopes of ours that the scopes of a token open. */
export function openedBy(granted: ReadonlySet<string>, needed: readonly string[]): ReadonlySet<Scope> {
  if (needed.length > 0) return new Set(needed.every((scope) => granted.has(scope)) ? SCOPES : [])
  return new Set(SCOPES.filter((scope) => granted.has(scope)))
}
