import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { JWTPayload } from 'jose'
import type { Clock } from '../../base/clock.ts'
import type { Principal } from '../../serve/principal.ts'
import { PENDING_SIGN_IN_S } from '../../serve/sign-in.ts'
import type {
  ClientAddress,
  SignIn,
  SignInAnswer,
  SignInBegun,
  SignInFailure,
  SignInFault,
  SignedIn,
} from '../../serve/sign-in.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Log } from '../base/log.ts'
import type { Redactor } from '../base/redactor.ts'
import { readSecret } from '../config/auth.ts'
import type { PageClient } from '../config/auth.ts'
import type { Environment } from '../config/environment.ts'
import { exchangeCode } from './code-exchange.ts'
import type { IssuedTokens, NotIssued } from './code-exchange.ts'
import { isIdTokenFor, isIssuedWith, nameIn } from './id-token.ts'
import type { Issuer, SignInEndpoints } from './issuer-keys.ts'
import { endMsOf } from './jwt-verifier.ts'
import type { JwtVerifier } from './jwt-verifier.ts'

/** The parts of the daemon that sign-in uses. */
export interface SignInContext {
  readonly clock: Clock
  readonly log: Log
  readonly environment: Environment
  /** Receives the secret of the client. */
  readonly redactor: Redactor
}

/** Verifies an access token as every other one of the issuer. */
export type VerifyAccess = (token: string, resource: string) => Promise<JWTPayload | 'unavailable' | undefined>

interface SignInParts extends SignInContext {
  readonly issuer: Issuer
  readonly verifier: JwtVerifier
  readonly verifyAccess: VerifyAccess
  /** Returns the principal of an access token, with another end than that of the token. */
  readonly principalOf: (payload: JWTPayload, endMs: number) => Principal
}

/** The limit of codes that are exchanged at once: each waits for the authorization server. */
const MOST_AT_ONCE = 32

/**
 * The page as a client of the authorization server: the code flow with PKCE, `state` and `nonce`. The ID token proves
 * that the person has just signed in for this client and this browser. The access token, verified as that of an MCP client,
 * says what they see.
 */
export class PageSignIn implements SignIn {
  readonly issuer: string
  readonly #client: PageClient
  readonly #parts: SignInParts
  #exchanging = 0

  constructor(issuer: string, client: PageClient, parts: SignInParts) {
    this.issuer = issuer
    this.#client = client
    this.#parts = parts
  }

  async begin({ redirectUri }: ClientAddress, to: string): Promise<SignInBegun | SignInFailure> {
    const known = await this.#parts.issuer.keys()
    if (known === undefined) return failed('unavailable')
    if (known.signIn === undefined) return this.#rejected(NO_ENDPOINTS)
    const pending = `${randomBytes(32).toString('base64url')}.${this.#nowS}.${to}`
    const challenge = createHash('sha256').update(derived(pending, 'verifier')).digest('base64url')
    const url = new URL(known.signIn.authorization)
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id: this.#client.clientId,
      redirect_uri: redirectUri,
      scope: [...new Set(['openid', ...this.#client.scopes])].join(' '),
      state: derived(pending, 'state'),
      nonce: derived(pending, 'nonce'),
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }))
      url.searchParams.set(name, value)
    return { kind: 'begun', url: url.href, pending }
  }

  async finish(address: ClientAddress, { query, pending }: SignInAnswer): Promise<SignedIn | SignInFailure> {
    // RFC 6749, 3.1: no parameter may occur twice.
    if (PARAMETERS.some((name) => query.getAll(name).length > 1)) return failed('not-expected')
    const own = pending.find((one) => this.#isPending(one) && isStateOf(one, query.get('state') ?? ''))
    if (own === undefined) return failed('not-expected')
    return { ...(await this.#finishOwn(own, address, query)), to: destinationIn(own) }
  }

  async #finishOwn(
    own: string,
    address: ClientAddress,
    query: URLSearchParams,
  ): Promise<Omit<SignedIn, 'to'> | SignInFailure> {
    const known = await this.#parts.issuer.keys()
    if (known === undefined) return failed('unavailable')
    if (known.signIn === undefined) return this.#rejected(NO_ENDPOINTS)
    if (!isFrom(query, known.issuer, known.signIn)) return failed('not-expected')
    if (query.has('error')) return { ...failed('declined'), said: reasonIn(query) }
    const code = query.get('code')
    if (code === null || code === '') return failed('not-expected')
    if (this.#exchanging >= MOST_AT_ONCE) return failed('unavailable')
    const tokens = await this.#exchange(code, own, address, known.signIn)
    switch (tokens.kind) {
      case 'issued':
        return this.#accept(tokens, own, address)
      // A browser that sends the answer again is no failure to report.
      case 'expired':
        return failed('not-expected')
      case 'unreachable':
        return this.#unavailable(tokens.cause)
      case 'refused':
        return this.#rejected(tokens.cause)
      default:
        return tokens satisfies never
    }
  }

  async #exchange(
    code: string,
    pending: string,
    { redirectUri }: ClientAddress,
    endpoints: SignInEndpoints,
  ): Promise<IssuedTokens | NotIssued> {
    const { environment, redactor } = this.#parts
    const { clientId, clientSecret } = this.#client
    this.#exchanging += 1
    try {
      const secret = clientSecret && (await readSecret(clientSecret, environment, redactor))
      return await exchangeCode(endpoints, {
        clientId,
        secret,
        code,
        verifier: derived(pending, 'verifier'),
        redirectUri,
      })
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return { kind: 'refused', cause: error.message }
    } finally {
      this.#exchanging -= 1
    }
  }

  async #accept(
    { idToken, accessToken }: IssuedTokens,
    pending: string,
    { resource }: ClientAddress,
  ): Promise<Omit<SignedIn, 'to'> | SignInFailure> {
    const { verifier, verifyAccess, principalOf, log } = this.#parts
    const { clientId, sessionMs } = this.#client
    const nonce = derived(pending, 'nonce')
    const identity = await verifier.verify(idToken, {
      audience: clientId,
      isOfKind: (token) =>
        isIdTokenFor(clientId, token) && token.payload['nonce'] === nonce && isIssuedWith(accessToken, token),
    })
    if (identity === 'unavailable') return failed('unavailable')
    if (identity === undefined) return this.#rejected('its ID token is not one for this client and this sign-in')
    const access = await verifyAccess(accessToken, resource)
    if (access === 'unavailable') return failed('unavailable')
    if (access === undefined) return this.#rejected('its access token is not a JWT that MCP clients could send here')
    const endMs = sessionMs === undefined ? endMsOf(identity.payload) : this.#parts.clock.now().getTime() + sessionMs
    log.recovery(EVENT, '')
    const name = nameIn(identity.payload)
    return { kind: 'signed-in', principal: { ...principalOf(access, endMs), ...(name !== undefined && { name }) } }
  }

  #isPending(pending: string): boolean {
    const startedS = Number(/^[\w-]{43}\.(\d{1,15})\./.exec(pending)?.[1] ?? Number.NaN)
    return Math.abs(this.#nowS - startedS) <= PENDING_SIGN_IN_S
  }

  get #nowS(): number {
    return Math.floor(this.#parts.clock.now().getTime() / 1000)
  }

  #unavailable(cause: string): SignInFailure {
    this.#report(cause)
    return failed('unavailable')
  }

  #rejected(cause: string): SignInFailure {
    this.#report(cause)
    return failed('rejected')
  }

  #report(cause: string): void {
    const message = `Cannot sign in with "${this.issuer}": ${cause}`
    this.#parts.log.failure('warn', EVENT, { source: '', code: EVENT, message }, cause)
  }
}

const EVENT = 'sign-in-failed'

const NO_ENDPOINTS = 'its metadata does not name https addresses for the authorization code flow'

const PARAMETERS = ['state', 'code', 'iss', 'error', 'error_description']

function failed(why: SignInFault): SignInFailure {
  return { kind: 'failed', why }
}

/**
 * A value of the flow, derived from the whole cookie: the state then binds the start and the destination too, without a key that hubs
 * would have to share.
 */
function derived(pending: string, use: 'state' | 'nonce' | 'verifier'): string {
  return createHmac('sha256', pending).update(use).digest('base64url')
}

function isStateOf(pending: string, state: string): boolean {
  const [expected, given] = [derived(pending, 'state'), state].map((text) => Buffer.from(text))
  return expected !== undefined && given?.length === expected.length && timingSafeEqual(expected, given)
}

function destinationIn(pending: string): string {
  return pending.split('.').slice(2).join('.')
}

/** Prevents a mix-up with another authorization server (RFC 9207, 2.4). */
function isFrom(query: URLSearchParams, issuer: string, { namesIssuer }: SignInEndpoints): boolean {
  const named = query.get('iss')
  return named === null ? !namesIssuer : named === issuer
}

function reasonIn(query: URLSearchParams): string {
  const [error = '', description] = ['error', 'error_description'].map((name) => query.get(name)?.slice(0, MOST_SAID))
  return description === undefined || description === '' ? error : `${error}: ${description}`
}

const MOST_SAID = 300
