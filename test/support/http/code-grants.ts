import { createHash, randomBytes } from 'node:crypto'

/** A client that an issuer of the tests knows for sign-in. */
export interface SignInClient {
  readonly id: string
  /** Absent for a public client. */
  readonly secret?: string
  readonly redirectUris: readonly string[]
}

/** An answer of the token address: what it issues for, or the error of RFC 6749, 5.2. */
export type Granted =
  | { readonly kind: 'granted'; readonly client: string; readonly nonce: string | undefined; readonly scope: string }
  | { readonly kind: 'refused'; readonly status: number; readonly error: string }

interface Code {
  readonly asked: URLSearchParams
  readonly client: SignInClient
}

/** The authorization code flow of a strict issuer: exact redirect URIs, PKCE with S256 alone, and each code once. */
export class CodeGrants {
  readonly #clients = new Map<string, SignInClient>()
  readonly #codes = new Map<string, Code>()

  know(client: SignInClient): void {
    this.#clients.set(client.id, client)
  }

  /** Why the person is not asked at all; undefined if the request is one of a client that it knows. */
  faultIn(asked: URLSearchParams): string | undefined {
    const client = this.#clients.get(asked.get('client_id') ?? '')
    if (client === undefined) return 'unknown client'
    if (!client.redirectUris.includes(asked.get('redirect_uri') ?? ''))
      return 'another redirect_uri than the registered one'
    if (asked.get('response_type') !== 'code') return 'another response_type than code'
    if (!(asked.get('scope') ?? '').split(' ').includes('openid')) return 'no scope openid'
    if (asked.get('code_challenge_method') !== 'S256') return 'no PKCE with S256'
    if (!/^[\w-]{43}$/.test(asked.get('code_challenge') ?? '')) return 'no code_challenge'
    return undefined
  }

  /** A code for a request without a fault. */
  issue(asked: URLSearchParams): string {
    const code = randomBytes(16).toString('hex')
    this.#codes.set(code, { asked, client: this.#clients.get(asked.get('client_id') ?? '')! })
    return code
  }

  /** `methods`: how clients with a secret prove themselves, as its metadata says. */
  redeem(form: URLSearchParams, authorization: string | undefined, methods: readonly string[]): Granted {
    const code = this.#codes.get(form.get('code') ?? '')
    const [id, secret] = proofIn(form, authorization)
    const method = authorization === undefined ? 'client_secret_post' : 'client_secret_basic'
    if (secret !== undefined && !methods.includes(method))
      return { kind: 'refused', status: 401, error: 'invalid_client' }
    const client = this.#clients.get(id)
    if (client === undefined || client.secret !== secret)
      return { kind: 'refused', status: 401, error: 'invalid_client' }
    this.#codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isGood =
      code?.client === client &&
      form.get('redirect_uri') === code.asked.get('redirect_uri') &&
      code.asked.get('code_challenge') === challenge
    if (!isGood) return { kind: 'refused', status: 400, error: 'invalid_grant' }
    const { asked } = code
    return { kind: 'granted', client: id, nonce: asked.get('nonce') ?? undefined, scope: asked.get('scope') ?? '' }
  }
}

/** The client and its secret, from the header (each part encoded as in a form) or from the form. */
function proofIn(form: URLSearchParams, authorization: string | undefined): [id: string, secret: string | undefined] {
  const encoded = /^Basic (.+)$/.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return [form.get('client_id') ?? '', form.get('client_secret') ?? undefined]
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64')
    .toString()
    .split(':')
    .map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
  return [id, secret]
}
