import { createHash } from 'node:crypto'
import type { JWTPayload, JWTVerifyResult } from 'jose'

/**
 * True for an ID token that a client may use (OpenID Connect Core, 3.1.3.7), whose audience and signature are verified.
 * Access, refresh and logout tokens of the same issuer are refused.
 */
export function isIdTokenFor(clientId: string, { protectedHeader, payload }: JWTVerifyResult): boolean {
  const { sub, iat, aud, azp, typ } = payload
  if ((protectedHeader.typ ?? 'JWT').toLowerCase() !== 'jwt' || Object.hasOwn(payload, 'events')) return false
  // The claim by which Keycloak distinguishes its tokens.
  if (typeof typ === 'string' && typ.toLowerCase() !== 'id') return false
  if (typeof sub !== 'string' || sub === '' || typeof iat !== 'number') return false
  return azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId
}

/** The name of the person (OpenID Connect Core, 5.1): foreign text. The subject is often only a number. */
export function nameIn(payload: JWTPayload): string | undefined {
  const names = ['name', 'preferred_username', 'email'].map((claim) => payload[claim])
  const named = names.filter((name) => typeof name === 'string').find((name) => name.trim() !== '')
  return named?.slice(0, MOST_NAME).toWellFormed()
}

const MOST_NAME = 100

/** True unless the ID token says that it came with another access token (OpenID Connect Core, 3.1.3.8). */
export function isIssuedWith(accessToken: string, { protectedHeader: { alg }, payload }: JWTVerifyResult): boolean {
  const { at_hash: expected } = payload
  if (expected === undefined) return true
  // Ed25519 hashes with SHA-512 itself.
  const bits = /^[EPR]S(\d{3})$/.exec(alg)?.[1] ?? '512'
  const hash = createHash(`sha${bits}`).update(accessToken).digest()
  return expected === hash.subarray(0, hash.length / 2).toString('base64url')
}
