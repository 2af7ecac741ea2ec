import type { IncomingMessage } from 'node:http'
import type { Denied, Granted, AccessDecision } from '../access-decision.ts'
import { hasScope } from '../principal.ts'
import type { Authenticate, Scope } from '../principal.ts'

/** The rules of access to the server. */
export interface AccessRules {
  /** Verifies tokens. Without it, a given token is ignored. */
  readonly authenticate?: Authenticate
  /** False: any client that can connect may read everything. A given token must still be valid. */
  readonly isTokenRequired: boolean
  /** True if the principal no longer exists, so that its sessions have no owner. */
  readonly isGone?: (principalId: string) => boolean
  /** The scopes that are public on purpose. */
  readonly open?: ReadonlySet<Scope>
  /**
   * Returns the issuer's scope names for a scope at a path, if they differ from ours. The client requests them from the
   * issuer.
   */
  readonly wordsOf?: (scope: Scope, path: string) => string
  /** The URL of the metadata that tells a client how to get a token (RFC 9728). */
  readonly metadataUrl?: string
}

/** Any client that can connect may read everything. */
export const OPEN_TO_ALL: AccessRules = { isTokenRequired: false }

/** Decides by the head of a request alone: nothing of its body is read for one who is not let in. */
export class HttpAccess {
  readonly #rules: AccessRules

  constructor(rules: AccessRules) {
    this.#rules = rules
  }

  /** Checks the token in the `Authorization` header, the only place where MCP allows it. */
  async decide(request: IncomingMessage, scope: Scope): Promise<AccessDecision> {
    if (this.#rules.open?.has(scope) === true) return ANYBODY
    const { url = '/' } = request
    const door = { scope, path: url.replace(/\?.*$/s, '') }
    if (hasTokenInQuery(url)) return this.#denial(400, door, 'invalid_request', IN_QUERY)
    const tokenOf = scope === 'marketplace' ? gitToken : bearerToken
    if (request.headers.authorization === undefined) return this.#judge(undefined, door, tokenOf)
    // Node would take the first of several headers, a proxy before us perhaps the last.
    const given = request.headersDistinct['authorization'] ?? []
    if (given.length > 1)
      return this.#denial(400, door, 'invalid_request', 'There is more than one Authorization header')
    return this.#judge(given[0], door, tokenOf)
  }

  /** Checks a token from another place, such as a cookie of ours. */
  async decideToken(token: string | undefined, scope: Scope): Promise<AccessDecision> {
    return this.#judge(token, { scope, path: '/' }, wellFormed)
  }

  async #judge(
    given: string | undefined,
    door: Door,
    tokenOf: (given: string) => string | undefined,
  ): Promise<AccessDecision> {
    const { authenticate, isTokenRequired } = this.#rules
    if (given === undefined || authenticate === undefined) {
      return isTokenRequired ? this.#denial(401, door, undefined, 'A token is needed') : ANYBODY
    }
    const token = tokenOf(given)
    const principal = token === undefined ? undefined : await authenticate(token)
    if (principal === 'unavailable') return CANNOT_TELL
    if (principal === undefined) return this.#denial(401, door, 'invalid_token', 'The token is not valid')
    if (hasScope(principal, door.scope)) return { kind: 'granted', principal }
    return { ...this.#denial(403, door, 'insufficient_scope', `The token does not open "${door.scope}"`), principal }
  }

  /** RFC 6750, section 3: a request without a token gets no error code. */
  #denial(status: number, { scope, path }: Door, error: string | undefined, message: string): Denied {
    const { metadataUrl, wordsOf } = this.#rules
    if (scope === 'marketplace') return { kind: 'denied', status, message, headers: { 'www-authenticate': BASIC } }
    const parts = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      `scope="${wordsOf?.(scope, path) ?? scope}"`,
      ...(metadataUrl === undefined ? [] : [`resource_metadata="${metadataUrl}"`]),
    ]
    return { kind: 'denied', status, message, headers: { 'www-authenticate': `Bearer ${parts.join(', ')}` } }
  }
}

/** The scope and path that a request needs. */
interface Door {
  readonly scope: Scope
  readonly path: string
}

/** Grants access without a principal. */
export const ANYBODY: Granted = { kind: 'granted', principal: undefined }

/** Not 401: clients discard their token on 401. */
const CANNOT_TELL: Denied = {
  kind: 'denied',
  status: 503,
  message: 'The token cannot be checked at the moment',
  headers: { 'retry-after': '10' },
}

const IN_QUERY = 'A token must not be in the address; send it in the Authorization header'

/** Every proxy on the way logs the URL, so a token in it is no longer secret. Such a token is rejected, never used. */
function hasTokenInQuery(url: string): boolean {
  const at = url.indexOf('?')
  if (at === -1) return false
  return [...new URLSearchParams(url.slice(at)).keys()].some((key) => IN_QUERY_AS.has(key.toLowerCase()))
}

const IN_QUERY_AS: ReadonlySet<string> = new Set(['access_token', 'token'])

/** Git sends a token only as the password of RFC 7617, and only after a 401 that asks for one. */
const BASIC = 'Basic realm="skillsyncd", charset="UTF-8"'

/** The token of a git client: a bearer token, or the password of any user. */
function gitToken(header: string): string | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(header)?.[1]
  if (encoded === undefined || encoded.length > 2 * MAX_TOKEN) return bearerToken(header)
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  return wellFormed(password)
}

/** Parses the header of RFC 6750, section 2.1. `undefined` for another scheme or a malformed token. */
function bearerToken(header: string): string | undefined {
  const token = /^Bearer +([^ ]+)$/i.exec(header)?.[1]
  return token === undefined ? undefined : wellFormed(token)
}

function wellFormed(token: string): string | undefined {
  return token.length <= MAX_TOKEN && /^[A-Za-z0-9._~+/-]+=*$/.test(token) ? token : undefined
}

/** Tokens of an authorization server contain their claims. Ours are a hundredth of this size. */
const MAX_TOKEN = 8_192
