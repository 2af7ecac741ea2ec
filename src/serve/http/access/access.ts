import type { Denied, Granted, Decision } from '../../access-decision.ts'
import type { IncomingMessage } from 'node:http'
import { opens } from '../../principal.ts'
import type { Authenticate, Scope } from '../../principal.ts'

/** Who may ask. */
export interface AccessRules {
  /** Without it no token means anything, and one that is given is not looked at. */
  readonly authenticate?: Authenticate
  /** False: whoever can connect may ask everything. A token that is given has to be right all the same. */
  readonly isTokenRequired: boolean
  /** Whether nobody can be any more who opened a session that there is. */
  readonly isGone?: (principalId: string) => boolean
  /** What is for everybody, on purpose. */
  readonly open?: ReadonlySet<Scope>
  /** What to ask the issuer of tokens for, to be let in with that scope at that path, where it is another word than ours. */
  readonly wordsOf?: (scope: Scope, path: string) => string
  /** Where a client learns how to come by a token (RFC 9728). */
  readonly metadataUrl?: string
}

/** Everybody who can connect may ask everything. */
export const OPEN_TO_ALL: AccessRules = { isTokenRequired: false }

/** Decides by the head of a request alone: nothing of its body is read for one who is not let in. */
export class Access {
  readonly #rules: AccessRules

  constructor(rules: AccessRules) {
    this.#rules = rules
  }

  /** By the token in the `Authorization` header, the one place where a client of MCP may put it. */
  async decide(request: IncomingMessage, scope: Scope): Promise<Decision> {
    if (this.#rules.open?.has(scope) === true) return ANYBODY
    const { url = '/' } = request
    const door = { scope, path: url.replace(/\?.*$/s, '') }
    if (hasTokenInQuery(url)) return this.#denied(400, door, 'invalid_request', IN_QUERY)
    if (request.headers.authorization === undefined) return this.#judge(undefined, door, bearerToken)
    // Node would take the first of several, a proxy before us perhaps the last.
    const given = request.headersDistinct['authorization'] ?? []
    if (given.length > 1)
      return this.#denied(400, door, 'invalid_request', 'There is more than one Authorization header')
    return this.#judge(given[0], door, bearerToken)
  }

  /** By a token that came another way, such as a cookie of ours. */
  async decideToken(token: string | undefined, scope: Scope): Promise<Decision> {
    return this.#judge(token, { scope, path: '/' }, wellFormed)
  }

  async #judge(
    given: string | undefined,
    door: Door,
    tokenOf: (given: string) => string | undefined,
  ): Promise<Decision> {
    const { authenticate, isTokenRequired } = this.#rules
    if (given === undefined || authenticate === undefined) {
      return isTokenRequired ? this.#denied(401, door, undefined, 'A token is needed') : ANYBODY
    }
    const token = tokenOf(given)
    const principal = token === undefined ? undefined : await authenticate(token)
    if (principal === 'unavailable') return CANNOT_TELL
    if (principal === undefined) return this.#denied(401, door, 'invalid_token', 'The token is not valid')
    if (opens(principal, door.scope)) return { kind: 'granted', principal }
    return { ...this.#denied(403, door, 'insufficient_scope', `The token does not open "${door.scope}"`), principal }
  }

  /** RFC 6750, 3: who gave no token is told of no error. */
  #denied(status: number, { scope, path }: Door, error: string | undefined, message: string): Denied {
    const { metadataUrl, wordsOf } = this.#rules
    const parts = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      `scope="${wordsOf?.(scope, path) ?? scope}"`,
      ...(metadataUrl === undefined ? [] : [`resource_metadata="${metadataUrl}"`]),
    ]
    return { kind: 'denied', status, message, headers: { 'www-authenticate': `Bearer ${parts.join(', ')}` } }
  }
}

/** Where somebody wants to come in. */
interface Door {
  readonly scope: Scope
  readonly path: string
}

/** Who asks need not be known. */
export const ANYBODY: Granted = { kind: 'granted', principal: undefined }

/** No 401: upon that a client throws its token away. */
const CANNOT_TELL: Denied = {
  kind: 'denied',
  status: 503,
  message: 'The token cannot be checked at the moment',
  headers: { 'retry-after': '10' },
}

const IN_QUERY = 'A token must not stand in the address; send it in the Authorization header'

/** An address is logged by every proxy on the way, so a token in it is none any more. It is looked for and not read. */
function hasTokenInQuery(url: string): boolean {
  const at = url.indexOf('?')
  if (at === -1) return false
  return [...new URLSearchParams(url.slice(at)).keys()].some((key) => IN_QUERY_AS.has(key.toLowerCase()))
}

const IN_QUERY_AS: ReadonlySet<string> = new Set(['access_token', 'token'])

/** RFC 6750, 2.1. Undefined for another scheme, and for what is no token. */
function bearerToken(header: string): string | undefined {
  const token = /^Bearer +([^ ]+)$/i.exec(header)?.[1]
  return token === undefined ? undefined : wellFormed(token)
}

function wellFormed(token: string): string | undefined {
  return token.length <= MAX_TOKEN && /^[A-Za-z0-9._~+/-]+=*$/.test(token) ? token : undefined
}

/** Tokens of an authorization server carry what they say; ours are a hundredth of this. */
const MAX_TOKEN = 8_192
