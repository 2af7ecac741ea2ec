import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** What the API was asked: the claims of the token that came with it, if the key of the app signed it. */
export interface ApiRequest {
  readonly url: string
  readonly claims: Readonly<Record<string, unknown>> | undefined
  readonly body: unknown
}

/** The part of GitHub's API that gives tokens to installations of apps, on a loopback port. */
export class GitHubApi implements AsyncDisposable {
  readonly url: string
  /** The key of the app, PEM. */
  readonly privateKey: string
  readonly requests: ApiRequest[] = []
  /** The next token is this and a number, and is good until then. */
  tokens = { prefix: 'ghs_token', expiresAt: new Date(Date.now() + 3_600_000) }
  /** What is answered in place of a token. */
  fault: { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string } | undefined
  readonly #server: Server
  readonly #publicKey: string

  private constructor(server: Server) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The API does not listen on a port')
    this.url = `http://127.0.0.1:${address.port}/api/v3`
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.privateKey = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
    this.#publicKey = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    this.#server = server
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<GitHubApi> {
    const server = createServer()
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return new GitHubApi(server)
  }

  /** The token that was given last. */
  get lastToken(): string {
    return `${this.tokens.prefix}${this.requests.length}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await buffer(request)).toString()
    const claims = this.#claimsOf(request.headers.authorization ?? '')
    this.requests.push({ url: `${request.method} ${request.url}`, claims, body: JSON.parse(text) })
    if (this.fault !== undefined) {
      response.writeHead(this.fault.status, this.fault.headers).end(this.fault.body)
      return
    }
    response.writeHead(claims === undefined ? 401 : 201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ token: this.lastToken, expires_at: this.tokens.expiresAt.toISOString() }))
  }

  #claimsOf(authorization: string): ApiRequest['claims'] {
    const [, head = '', claims = '', signature = ''] = /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization) ?? []
    const key = createPublicKey(this.#publicKey)
    const isOurs = verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'))
    return isOurs ? JSON.parse(Buffer.from(claims, 'base64url').toString()) : undefined
  }
}
