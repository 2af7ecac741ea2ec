import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SignJWT, exportJWK, generateKeyPair } from 'jose'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { CodeGrants } from './code-grants.ts'

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

/** What an issuer says of the person who signs in, in place of what is true; `null` leaves a claim out. */
export interface Person {
  /** In its ID tokens. */
  readonly identity?: Claims
  /** In its access tokens. */
  readonly access?: Claims
}

/**
 * A small authorization server: metadata (RFC 8414), keys, tokens for a program that has a secret (RFC 6749, 4.4), and
 * sign-in of a person (RFC 6749, 4.1).
 */
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
  /** The clients that people can sign in to. */
  readonly grants = new CodeGrants()
  person: Person = {}
  /** What the person is refused with, in place of a code. */
  refusal: Readonly<Record<string, string>> | undefined
  /** In place of the ID token, or of the whole answer that has it. */
  idToken: string | undefined
  /** What the tokens of a sign-in wait for. */
  held: Promise<void> | undefined
  /** True: it closes the connection in place of an answer about tokens. */
  isCut = false
  /** Receives the answer of each request for tokens before it is written. */
  onToken: ((response: ServerResponse) => void) | undefined
  tokenAnswer: { readonly status: number; readonly body: string } | undefined

  private constructor(server: Server, name: string, key: Key) {
    this.url = `http://${name}:${(server.address() as AddressInfo).port}`
    this.#server = server
    this.#keys = [key]
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  /** `name`: another one of this machine makes it another site than servers on 127.0.0.1, for a browser. */
  static async start({ name = '127.0.0.1' } = {}): Promise<TokenIssuer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TokenIssuer(server, name, await newKey())
  }

  /** Answers as at its start, with its keys and clients of now. */
  reset(): void {
    this.failure = undefined
    this.redirect = undefined
    this.metadata = {}
    this.person = {}
    this.refusal = undefined
    this.idToken = undefined
    this.tokenAnswer = undefined
    this.held = undefined
    this.isCut = false
    this.onToken = undefined
    this.asked.length = 0
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
    if (url.startsWith('/authorize?')) return this.#authorize(request, response)
    if (url === '/token') return this.#redeem(request, response)
    const said = this.#documents().get(url)
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

  /** GET shows what a person sees there, a form; POST is that form, sent. */
  #authorize({ method, url = '/' }: IncomingMessage, response: ServerResponse): void {
    const asked = new URL(url, this.url).searchParams
    const fault = this.grants.faultIn(asked)
    if (fault !== undefined) return void response.writeHead(400).end(fault)
    if (method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/html' })
      return void response.end(`<link rel="icon" href="data:,"><form method="post"><button>I am Ada</button></form>`)
    }
    const back = new URL(asked.get('redirect_uri') ?? '')
    const said = this.refusal ?? { code: this.grants.issue(asked) }
    const names = this.metadata['authorization_response_iss_parameter_supported'] === true ? { iss: this.url } : {}
    for (const [name, value] of Object.entries({ ...said, ...names, state: asked.get('state') ?? '' }))
      back.searchParams.set(name, value)
    response.writeHead(303, { location: back.href }).end()
  }

  async #redeem(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request))
    this.onToken?.(response)
    if (this.isCut) return void request.socket.destroy()
    const isOfCode = form.get('grant_type') === 'authorization_code'
    const { status, body } = isOfCode ? await this.#issue(form, request) : await this.#grant(form, request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }

  async #issue(form: URLSearchParams, request: IncomingMessage): Promise<{ status: number; body: string }> {
    await this.held
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = this.metadata
    const granted = this.grants.redeem(form, request.headers.authorization, methods as string[])
    if (granted.kind === 'refused')
      return { status: granted.status, body: JSON.stringify({ error: granted.error, error_description: 'not now' }) }
    if (this.tokenAnswer !== undefined) return this.tokenAnswer
    const { client, nonce, scope } = granted
    const issued = {
      access_token: await this.token({ scope, aud: 'hub', ...this.person.access }),
      id_token: this.idToken ?? (await this.idTokenFor(client, { nonce })),
      token_type: 'Bearer',
      expires_in: 300,
    }
    return { status: 200, body: JSON.stringify(issued) }
  }

  /** An ID token for a client, about the person. */
  async idTokenFor(client: string, claims: Claims = {}): Promise<string> {
    return this.token({ aud: client, scope: null, ...claims, ...this.person.identity }, { head: { typ: 'JWT' } })
  }

  async #grant(asked: URLSearchParams, request: IncomingMessage): Promise<{ status: number; body: string }> {
    const proof = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`
    if (request.headers.authorization !== proof || asked.get('grant_type') !== 'client_credentials')
      return { status: 404, body: '' }
    const scope = asked.get('scope') ?? ''
    const token = await this.token({ sub: CLIENT.id, aud: asked.get('resource'), scope })
    return { status: 200, body: JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 300, scope }) }
  }
}

let made = 0

async function newKey(): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  made += 1
  const kid = `key-${made}`
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}
