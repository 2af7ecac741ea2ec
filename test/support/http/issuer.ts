import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SignJWT, exportJWK, generateKeyPair } from 'jose'
import type { CryptoKey, JWK, JWTPayload } from 'jose'

export const CLIENT = { id: 'client-of-the-tests', secret: 'secret-of-the-tests' } as const

interface Key {
  readonly kid: string
  readonly jwk: JWK
  readonly privateKey: CryptoKey
}

/** What a token says, besides when it was made; `null` leaves a claim out. */
export type Claims = Readonly<Record<string, unknown>>

/** What a token is signed with, and its head. */
interface Signing {
  readonly kid?: boolean
  readonly age?: number
  readonly head?: Readonly<Record<string, string | undefined>>
}

/** A small authorization server: metadata (RFC 8414), keys, and tokens for a program that has a secret (RFC 6749, 4.4). */
export class TokenIssuer implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  #keys: readonly Key[]
  /** In place of its answers. */
  failure: number | undefined
  /** Where its keys are said to have moved. */
  redirect: string | undefined
  /** In place of what it says of itself. */
  metadata: Readonly<Record<string, unknown>> = {}
  /** Keys that it offers besides. */
  also: readonly JWK[] = []
  /** The paths that were asked for. */
  readonly asked: string[] = []

  private constructor(server: Server, key: Key) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#server = server
    this.#keys = [key]
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<TokenIssuer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TokenIssuer(server, await newKey())
  }

  /** From now on signs with a new key. `forget`: the old ones are no keys of it any more. */
  async rotate({ forget = true } = {}): Promise<void> {
    this.#keys = [await newKey(), ...(forget ? [] : this.#keys)]
  }

  /** A token that is good for five minutes, unless the claims say otherwise. `age`: of its keys, how many are newer. */
  async token(claims: Claims = {}, { kid: isNamed = true, age = 0, head: said = {} }: Signing = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const all = { iss: this.url, sub: 'ada', iat: now, exp: now + 300, scope: 'skills', ...claims }
    const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) as JWTPayload
    const { kid, privateKey } = this.#keys[age]!
    const head = { alg: 'ES256', typ: 'at+jwt', ...(isNamed && { kid }), ...said }
    return new SignJWT(payload).setProtectedHeader(head).sign(privateKey)
  }

  /** The key that it signs with, as everybody may know it. */
  get publicKey(): JWK {
    return this.#keys[0]!.jwk
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '/' } = request
    this.asked.push(url)
    if (this.failure !== undefined) return void response.writeHead(this.failure).end()
    if (this.redirect !== undefined && url === '/keys')
      return void response.writeHead(302, { location: this.redirect }).end()
    const said = url === '/token' ? await this.#grant(request) : this.#documents().get(url)
    response.writeHead(said === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(said === undefined ? '' : JSON.stringify(said))
  }

  #documents(): ReadonlyMap<string, object> {
    const { url } = this
    const metadata = {
      issuer: url,
      jwks_uri: `${url}/keys`,
      token_endpoint: `${url}/token`,
      authorization_endpoint: `${url}/authorize`,
      response_types_supported: ['code'],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
      code_challenge_methods_supported: ['S256'],
      ...this.metadata,
    }
    return new Map<string, object>([
      ['/.well-known/oauth-authorization-server', metadata],
      ['/keys', { keys: [...this.#keys.map(({ jwk }) => jwk), ...this.also] }],
    ])
  }

  async #grant(request: IncomingMessage): Promise<object | undefined> {
    const asked = new URLSearchParams(await text(request))
    const proof = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`
    if (request.headers.authorization !== proof || asked.get('grant_type') !== 'client_credentials') return undefined
    const scope = asked.get('scope') ?? ''
    const token = await this.token({ sub: CLIENT.id, aud: asked.get('resource'), scope })
    return { access_token: token, token_type: 'Bearer', expires_in: 300, scope }
  }
}

let made = 0

async function newKey(): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  made += 1
  const kid = `key-${made}`
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}
