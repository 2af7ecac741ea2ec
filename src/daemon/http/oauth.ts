import { createHash } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import type { JWTPayload, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import type { Clock } from '../../base/clock.ts'
import { openedBy } from '../../serve/http/access/protected-resource.ts'
import type { OAuthOptions } from '../../serve/http/access/protected-resource.ts'
import type { Principal } from '../../serve/principal.ts'
import { isPackId } from '../../sync/catalog/pack.ts'
import type { Log } from '../base/log.ts'
import type { OAuthConfig } from '../config/auth.ts'
import { Issuer } from './issuer-keys.ts'
import type { IssuerKeys } from './issuer-keys.ts'

export interface OAuthParts {
  readonly clock: Clock
  readonly log: Log
  /** True if packs exist at the moment: a token then says which of them it opens. */
  readonly hasPacks: () => boolean
}

/** Asymmetric algorithms only. With a shared secret, each party that checks a token could also make one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** The allowed difference between the issuer's clock and ours. */
const TOLERANCE_S = 5

/** Accepts access tokens that are JWTs (RFC 9068 and its predecessors), verified with the issuer's keys. */
export function oauthVerifier(
  { issuer: url, audience, scopes, tokenType, keysMaxAgeMs }: OAuthConfig,
  { clock, log, hasPacks }: OAuthParts,
): OAuthOptions {
  const issuer = new Issuer(url, { clock, maxAgeMs: keysMaxAgeMs, told: (failure) => report(log, url, failure) })
  const verified = async (token: string, resource: string, known: IssuerKeys): Promise<JWTPayload> => {
    const result = await verifiedWith(token, known, {
      issuer: known.issuer,
      audience: audience ?? resource,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'aud', 'iss'],
      clockTolerance: TOLERANCE_S,
      currentDate: clock.now(),
    })
    if (isAccessToken(result, tokenType)) return result.payload
    throw new errors.JWTClaimValidationFailed('not an access token', result.payload, 'typ')
  }
  const principal = (payload: JWTPayload): Principal => principalIn(payload, scopes, { clock, hasPacks })
  return {
    issuer: url,
    scopes,
    packScopeAt: (path) => (hasPacks() ? packScopeAt(path) : undefined),
    async authenticate(token, resource) {
      if (!JWT.test(token)) return undefined
      const known = await issuer.keys()
      if (known === undefined) return 'unavailable'
      try {
        return principal(await verified(token, resource, known))
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) return unlessRefused(error)
      }
      const newer = await issuer.newerThan(known)
      if (newer === undefined) return undefined
      return verified(token, resource, newer).then(principal, unlessRefused)
    },
  }
}

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Throws the error of jose if no key of the issuer fits. */
async function verifiedWith(token: string, { keys }: IssuerKeys, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keys, options)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let tried = 0
    for await (const key of error) {
      const verified = await jwtVerify(token, key, options).catch(unlessRefused)
      if (verified !== undefined) return verified
      tried += 1
      if (tried === MOST_TRIED) break
    }
    throw error
  }
}

/** The limit of keys to try: a token without a key id costs one signature check for each possible key. */
const MOST_TRIED = 4

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

/** A published key that cannot be used counts as absent. */
function unlessRefused(error: unknown): undefined {
  const isRefused = error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException
  if (!isRefused) throw error
}

function principalIn(
  payload: JWTPayload,
  needed: readonly string[],
  { clock, hasPacks }: Pick<OAuthParts, 'clock' | 'hasPacks'>,
): Principal {
  const { iss, exp = 0 } = payload
  const words = new Set(scopesIn(payload))
  const had = hasPacks()
  const packs = had ? packsIn(words) : undefined
  return {
    id: idOf(iss, ...bearerIn(payload)),
    scopes: openedBy(words, needed),
    ...(packs !== undefined && { packs }),
    // The first pack, and the removal of the last one, change what a token opens. The client then has to authenticate
    // again.
    isOver: () => clock.now().getTime() >= (exp + TOLERANCE_S) * 1000 || hasPacks() !== had,
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
  return `oauth:${value.replaceAll(/\p{C}/gu, '?').slice(0, 100)}#${hash.digest('hex').slice(0, 32)}`
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
