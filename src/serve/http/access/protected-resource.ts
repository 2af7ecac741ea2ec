import type { Authenticate, Scope } from '../../principal.ts'
import { SCOPES } from '../../principal.ts'
import type { AccessRules } from './access.ts'
import { READ_METHODS } from '../server/listener.ts'
import type { Route, Routes } from '../server/listener.ts'
import { sendJson } from '../server/response.ts'

/** An authorization server whose access tokens let in. */
export interface OAuthOptions {
  readonly issuer: string
  /** What a token must allow, all of them, to open everything. Without them the names of scopes open what they name. */
  readonly scopes: readonly string[]
  /** The scope besides that opens what there is at a path. Undefined where there are no packs. */
  readonly packScopeAt: (path: string) => string | undefined
  /** Whom an access token stands for, which must be meant for the resource. */
  readonly authenticate: (token: string, resource: string) => ReturnType<Authenticate>
}

const METADATA = '/.well-known/oauth-protected-resource'

/** RFC 9728, 3.1: the path of the resource follows the well-known one. */
function metadataUrlOf(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return origin + METADATA + pathname
}

/**
 * The rules, with tokens of the authorization server accepted besides. `resource`: the address of MCP as clients know it,
 * which is known once we listen.
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

/** What a client reads to learn where it comes by a token (RFC 9728). For everybody: who has none asks for it. */
export function metadataRoutes({ issuer, scopes }: OAuthOptions, resource: () => string): Routes {
  const route: Route = {
    methods: READ_METHODS,
    async answer(_, response) {
      sendJson(response, 200, metadataOf(resource(), issuer, scopes), { 'cache-control': 'max-age=300' })
    },
  }
  // At the root too: there older clients look.
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

/** What a token's scopes open. */
export function openedBy(granted: ReadonlySet<string>, needed: readonly string[]): ReadonlySet<Scope> {
  if (needed.length > 0) return new Set(needed.every((scope) => granted.has(scope)) ? SCOPES : [])
  return new Set(SCOPES.filter((scope) => granted.has(scope)))
}
