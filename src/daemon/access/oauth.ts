import { createHash } from 'node:crypto'
import type { JWTPayload, JWTVerifyResult } from 'jose'
import type { Clock } from '../../base/async/clock.ts'
import type { Log } from '../../base/log.ts'
import { openedBy } from '../../serve/http/protected-resource.ts'
import type { OAuthOptions } from '../../serve/http/protected-resource.ts'
import { isTermOver } from '../../serve/principal.ts'
import type { Principal } from '../../serve/principal.ts'
import { isPackId } from '../../sync/model/source-id.ts'
import type { OAuthConfig } from '../config/auth.ts'
import { Issuer } from './issuer.ts'
import { JwtVerifier, endMsOf } from './jwt-verifier.ts'
import { PageSignIn } from './page-sign-in.ts'
import type { SignInContext, VerifyAccess } from './page-sign-in.ts'

/** The parts of the daemon that the verification of access tokens uses. */
export interface OAuthParts extends SignInContext {
  readonly clock: Clock
  readonly log: Log
  /** True if packs exist at the moment: a token then says which of them it opens. */
  readonly hasPacks: () => boolean
}

/**
 * Accepts access tokens that are JWTs (RFC 9068 and its predecessors), verified with the issuer's keys, and lets people
 * sign in to the page if a client is configured for it.
 */
export function oauthVerifier(config: OAuthConfig, parts: OAuthParts): OAuthOptions {
  const { issuer: url, audience, scopes, tokenType, keysMaxAgeMs, page } = config
  const { clock, log, hasPacks } = parts
  const issuer = new Issuer(url, { clock, maxAgeMs: keysMaxAgeMs, told: (failure) => report(log, url, failure) })
  const verifier = new JwtVerifier(issuer, clock)
  const verifyAccess: VerifyAccess = async (token, resource) => {
    const isOfKind = (result: JWTVerifyResult): boolean => isAccessToken(result, tokenType)
    const result = await verifier.verify(token, { audience: audience ?? resource, isOfKind })
    return typeof result === 'object' ? result.payload : result
  }
  const principalOf = (payload: JWTPayload, endMs: number): Principal =>
    principalIn(payload, scopes, { clock, hasPacks, endMs })
  return {
    issuer: url,
    scopes,
    packScopeAt: (path) => (hasPacks() ? packScopeAt(path) : undefined),
    async authenticate(token, resource) {
      const payload = await verifyAccess(token, resource)
      return typeof payload === 'object' ? principalOf(payload, endMsOf(payload)) : payload
    },
    ...(page !== undefined && {
      signIn: new PageSignIn(url, page, { ...parts, issuer, verifier, verifyAccess, principalOf }),
    }),
  }
}

/**
 * False for other tokens that an issuer signs with the same keys: ID tokens, logout tokens, refresh tokens. Issuers
 * from before RFC 9068 give both access tokens and ID tokens the type `JWT`, or none. The other tokens are then
 * recognized by claims that only they have.
 */
function isAccessToken({ protectedHeader, payload }: JWTVerifyResult, expected: OAuthConfig['tokenType']): boolean {
  const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '') ?? 'jwt'
  if (type === 'at+jwt' || expected === 'at+jwt') return type === 'at+jwt'
  if (type !== 'jwt' || CLAIMS_OF_OTHERS.some((claim) => Object.hasOwn(payload, claim))) return false
  const { typ } = payload
  return typeof typ !== 'string' || !TYPES_OF_OTHERS.has(typ.toLowerCase())
}

/**
 * ID tokens have hashes (OpenID Connect Core, 3.1.3.6 and 3.3.2.11), security events and logout tokens have events (RFC
 * 8417, 2.2).
 */
const CLAIMS_OF_OTHERS = ['at_hash', 'c_hash', 's_hash', 'events']

/** The values of `typ`, the claim by which Keycloak distinguishes its tokens. */
const TYPES_OF_OTHERS: ReadonlySet<string> = new Set(['id', 'refresh', 'offline', 'logout'])

interface Bearing extends Pick<OAuthParts, 'clock' | 'hasPacks'> {
  /** The end of the principal, by the clock of the wall. */
  readonly endMs: number
}

function principalIn(payload: JWTPayload, needed: readonly string[], { clock, hasPacks, endMs }: Bearing): Principal {
  const words = new Set(scopesIn(payload))
  const hadPacks = hasPacks()
  const packs = hadPacks ? packsIn(words) : undefined
  const term = { endMs, hadPacks }
  return {
    id: idOf(payload.iss, ...bearerIn(payload)),
    scopes: openedBy(words, needed),
    ...(packs !== undefined && { packs }),
    term,
    isOver: () => isTermOver(term, clock.now(), hasPacks()),
  }
}

/**
 * The packs that the bearer sees; `undefined` for everything. Clients choose the scopes that they request, so omitting
 * one must not open more.
 */
function packsIn(words: ReadonlySet<string>): ReadonlySet<string> | undefined {
  if (words.has(`${PACK}*`)) return undefined
  const named = [...words].filter((word) => word.startsWith(PACK)).map((word) => word.slice(PACK.length))
  return new Set(named.filter(isPackId))
}

/** Does not depend on whether such a pack exists: a client without a token must not learn that. */
function packScopeAt(path: string): string {
  const id = /^\/mcp\/([^/]+)$/.exec(path)?.[1]
  return `${PACK}${id !== undefined && isPackId(id) ? id : '*'}`
}

const PACK = 'pack:'

/** Some issuers give no subject to a client that acts for itself. */
function bearerIn(payload: JWTPayload): readonly [claim: string, value: string] {
  for (const claim of ['sub', 'client_id', 'azp']) {
    const value = payload[claim]
    if (typeof value === 'string') return [claim, value]
  }
  return ['', 'unnamed']
}

/**
 * Begins with readable text. The hash makes it unique, because the text is cut, and a program can have the same name as
 * a person.
 */
function idOf(issuer: string | undefined, claim: string, value: string): string {
  const hash = createHash('sha256').update(JSON.stringify([issuer, claim, value]))
  // The cut can split a character of two halves, of which no database takes one.
  const text = value.replaceAll(/\p{C}/gu, '?').slice(0, 100).toWellFormed()
  return `oauth:${text}#${hash.digest('hex').slice(0, 32)}`
}

/** `scope` as words (RFC 9068, 2.2.3); `scp`, as words or a list, from issuers before that RFC. */
function scopesIn(payload: JWTPayload): string[] {
  return [payload['scope'], payload['scp']]
    .flat()
    .flatMap((said) => (typeof said === 'string' ? said.split(' ') : []))
    .filter((scope) => scope !== '')
}

function report(log: Log, issuer: string, failure: string | undefined): void {
  if (failure === undefined) return log.recovery('issuer-not-asked', '')
  const message = `Cannot learn the keys of "${issuer}": ${failure}`
  log.failure('warn', 'issuer-not-asked', { source: '', code: 'issuer-not-asked', message }, failure)
}
