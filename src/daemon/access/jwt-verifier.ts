import { errors, jwtVerify } from 'jose'
import type { JWTPayload, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import type { Clock } from '../../base/async/clock.ts'
import type { Issuer, IssuerKeys } from './issuer.ts'

/** Asymmetric algorithms only. With a shared secret, each party that checks a token could also make one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** The allowed difference between the issuer's clock and ours. */
const TOLERANCE_S = 5

/** The requirements on a token in addition to those on every token of the issuer. */
export interface ExpectedToken {
  readonly audience: string
  /** False for a token of another kind that the issuer signs with the same keys. */
  readonly isOfKind: (token: JWTVerifyResult) => boolean
}

/** Verifies the JWTs of one issuer with its keys. */
export class JwtVerifier {
  readonly #issuer: Issuer
  readonly #clock: Pick<Clock, 'now'>

  constructor(issuer: Issuer, clock: Pick<Clock, 'now'>) {
    this.#issuer = issuer
    this.#clock = clock
  }

  /** `undefined` if the token is refused, `unavailable` if the keys of the issuer are unknown. */
  async verify(token: string, expected: ExpectedToken): Promise<JWTVerifyResult | 'unavailable' | undefined> {
    if (!JWT.test(token)) return undefined
    const known = await this.#issuer.keys()
    if (known === undefined) return 'unavailable'
    try {
      return await this.#verifyWith(known, token, expected)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) return unlessRefused(error)
    }
    const newer = await this.#issuer.newerThan(known)
    if (newer === undefined) return undefined
    return this.#verifyWith(newer, token, expected).catch(unlessRefused)
  }

  async #verifyWith(known: IssuerKeys, token: string, { audience, isOfKind }: ExpectedToken): Promise<JWTVerifyResult> {
    const result = await verifiedWith(token, known, {
      issuer: known.issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'aud', 'iss'],
      clockTolerance: TOLERANCE_S,
      currentDate: this.#clock.now(),
    })
    if (isOfKind(result)) return result
    throw new errors.JWTClaimValidationFailed('not a token of the expected kind', result.payload, 'typ')
  }
}

/** The time at which a token is no longer accepted, in milliseconds of the wall clock. */
export function endMsOf({ exp = 0 }: JWTPayload): number {
  return (exp + TOLERANCE_S) * 1000
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

/** A published key that cannot be used counts as absent. */
function unlessRefused(error: unknown): undefined {
  const isRefused = error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException
  if (!isRefused) throw error
}
