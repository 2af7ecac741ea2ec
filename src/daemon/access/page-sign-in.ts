import { createHash } from 'node:crypto'
import type { JWTPayload, JWTVerifyResult } from 'jose'
import type { Clock } from '../../base/async/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Principal } from '../../serve/principal.ts'
import type {
  ClientAddress,
  SignedIn,
  SignIn,
  SignInAnswer,
  SignInBegun,
  SignInFailure,
  SignInFault,
  SignInGoal,
} from '../../serve/sign-in.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { readSecret } from '../config/auth.ts'
import type { PageClient } from '../config/auth.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { exchangeCode } from './code-exchange.ts'
import type { CodeRequest, IssuedTokens, NotIssued } from './code-exchange.ts'
import type { Issuer, SignInEndpoints } from './issuer.ts'
import { endMsOf } from './jwt-verifier.ts'
import type { JwtVerifier } from './jwt-verifier.ts'
import { PendingSignIn } from './pending-sign-in.ts'

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

/** The answer to a sign-in of this browser, without its goal. */
type Ended = Omit<SignedIn, keyof SignInGoal> | SignInFailure

/**
 * The page as a client of the authorization server: the code flow with PKCE, `state` and `nonce`. The ID token proves
 * that the issuer has just answered for this client and this browser; with single sign-on, the person may have
 * authenticated earlier. The access token, verified as that of an MCP client, says what they see.
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

  async begin(
    { redirectUri }: ClientAddress,
    goal: SignInGoal,
    signal: AbortSignal,
  ): Promise<SignInBegun | SignInFailure> {
    const known = await this.#parts.issuer.keys(signal)
    if (known === undefined) return failed('unavailable')
    if (known.signIn === undefined) return this.#failed('rejected', NO_ENDPOINTS)
    const pending = PendingSignIn.begin(goal, this.#nowS)
    const url = new URL(known.signIn.authorization)
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id: this.#client.clientId,
      redirect_uri: redirectUri,
      scope: [...new Set(['openid', ...this.#client.scopes])].join(' '),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: pending.challenge,
      code_challenge_method: 'S256',
    }))
      url.searchParams.set(name, value)
    return { kind: 'begun', url: url.href, pending: pending.cookie }
  }

  async finish(
    address: ClientAddress,
    { query, pending }: SignInAnswer,
    signal: AbortSignal,
  ): Promise<SignedIn | SignInFailure> {
    if (isAmbiguous(query)) return failed('not-expected')
    const own = pending
      .map((cookie) => PendingSignIn.read(cookie, this.#nowS))
      .find((one) => one?.isAnsweredWith(query.get('state') ?? ''))
    if (own === undefined) return failed('not-expected')
    const ended = await this.#finishOwn(own, address, query, signal)
    return ended.kind === 'failed' ? { ...ended, to: own.goal.to } : { ...ended, ...own.goal }
  }

  async #finishOwn(
    own: PendingSignIn,
    address: ClientAddress,
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<Ended> {
    const known = await this.#parts.issuer.keys(signal)
    if (known === undefined) return { ...failed('unavailable'), isRepeatable: true }
    if (known.signIn === undefined) return this.#failed('rejected', NO_ENDPOINTS)
    if (!isResponseOfIssuer(query, known.issuer, known.signIn)) return failed('not-expected')
    const error = authorizationErrorIn(query)
    if (error !== undefined) return { ...this.#failed(error.why, error.cause), said: error.said }
    const code = query.get('code')
    if (code === null || code === '') return failed('not-expected')
    if (this.#exchanging >= MOST_AT_ONCE) return { ...failed('busy'), isRepeatable: true }
    const tokens = await this.#exchange({ code, verifier: own.verifier, ...address }, known.signIn, signal)
    switch (tokens.kind) {
      case 'issued':
        return this.#accept(tokens, own, address)
      case 'expired':
        // A browser that sends the answer again is no failure, but a wrong redirect URI at the issuer looks the same.
        this.#report('info', 'code-refused', tokens.cause)
        return failed('not-expected')
      case 'unreachable':
        return this.#failed('unavailable', tokens.cause)
      case 'refused':
        return this.#failed('rejected', tokens.cause)
      default:
        return tokens satisfies never
    }
  }

  async #exchange(
    { code, verifier, redirectUri }: Pick<CodeRequest, 'code' | 'verifier' | 'redirectUri'>,
    endpoints: SignInEndpoints,
    signal: AbortSignal,
  ): Promise<IssuedTokens | NotIssued> {
    const { environment, redactor } = this.#parts
    const { clientId, clientSecret } = this.#client
    this.#exchanging += 1
    try {
      const secret = clientSecret && (await readSecret(clientSecret, environment, redactor))
      return await exchangeCode(endpoints, { clientId, secret, code, verifier, redirectUri }, signal)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return { kind: 'refused', cause: error.message }
    } finally {
      this.#exchanging -= 1
    }
  }

  async #accept(
    { idToken, accessToken }: IssuedTokens,
    { nonce }: PendingSignIn,
    { resource }: ClientAddress,
  ): Promise<Ended> {
    const { verifier, verifyAccess, principalOf, log } = this.#parts
    const { clientId, sessionMs } = this.#client
    const identity = await verifier.verify(idToken, {
      audience: clientId,
      isOfKind: (token) =>
        isIdTokenFor(clientId, token) && token.payload['nonce'] === nonce && isIssuedWith(accessToken, token),
    })
    if (identity === 'unavailable') return failed('unavailable')
    if (identity === undefined)
      return this.#failed('rejected', 'its ID token is not one for this client and this sign-in')
    const access = await verifyAccess(accessToken, resource)
    if (access === 'unavailable') return failed('unavailable')
    if (access === undefined)
      return this.#failed('rejected', 'its access token is not a JWT that MCP clients could send here')
    const endMs = sessionMs === undefined ? endMsOf(identity.payload) : this.#parts.clock.now().getTime() + sessionMs
    for (const event of EVENTS) log.recovery(event, '')
    const name = nameIn(identity.payload)
    return { kind: 'signed-in', principal: { ...principalOf(access, endMs), ...(name !== undefined && { name }) } }
  }

  get #nowS(): number {
    return Math.floor(this.#parts.clock.now().getTime() / 1000)
  }

  /** `cause`: absent if an operator can do nothing about it. */
  #failed(why: SignInFault, cause: string | undefined): SignInFailure {
    if (cause !== undefined) this.#report('warn', 'sign-in-failed', cause)
    return failed(why)
  }

  #report(level: 'warn' | 'info', event: (typeof EVENTS)[number], cause: string): void {
    const message = `Cannot sign in with "${this.issuer}": ${cause}`
    this.#parts.log.failure(level, event, { source: '', code: event, message }, cause)
  }
}

/** `code-refused`: the issuer does not know the code, or not any more. */
const EVENTS = ['sign-in-failed', 'code-refused'] as const

const NO_ENDPOINTS = 'its metadata does not name https addresses for the authorization code flow'

function failed(why: SignInFault): SignInFailure {
  return { kind: 'failed', why }
}

/**
 * True for an ID token that a client may use (OpenID Connect Core, 3.1.3.7), whose audience and signature are verified.
 * Access, refresh and logout tokens of the same issuer are refused.
 */
function isIdTokenFor(clientId: string, { protectedHeader, payload }: JWTVerifyResult): boolean {
  const { sub, iat, aud, azp, typ } = payload
  if ((protectedHeader.typ ?? 'JWT').toLowerCase() !== 'jwt' || Object.hasOwn(payload, 'events')) return false
  // The claim by which Keycloak distinguishes its tokens.
  if (typeof typ === 'string' && typ.toLowerCase() !== 'id') return false
  if (typeof sub !== 'string' || sub === '' || typeof iat !== 'number') return false
  return azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId
}

/** The name of the person (OpenID Connect Core, 5.1): foreign text. The subject is often only a number. */
function nameIn(payload: JWTPayload): string | undefined {
  const names = ['name', 'preferred_username', 'email'].map((claim) => payload[claim])
  const named = names.filter((name) => typeof name === 'string').find((name) => name.trim() !== '')
  return named?.slice(0, MOST_NAME).toWellFormed()
}

const MOST_NAME = 100

/** True unless the ID token says that it came with another access token (OpenID Connect Core, 3.1.3.8). */
function isIssuedWith(accessToken: string, { protectedHeader: { alg }, payload }: JWTVerifyResult): boolean {
  const { at_hash: expected } = payload
  if (expected === undefined) return true
  // Ed25519 hashes with SHA-512 itself.
  const bits = /^[EPR]S(\d{3})$/.exec(alg)?.[1] ?? '512'
  const hash = createHash(`sha${bits}`).update(accessToken).digest()
  return expected === hash.subarray(0, hash.length / 2).toString('base64url')
}

/** An error that the authorization server answered with in place of a code. */
interface AuthorizationError {
  readonly why: Extract<SignInFault, 'declined' | 'refused' | 'unavailable'>
  /** The cause for the log, if an operator can remove it: never foreign text. */
  readonly cause: string | undefined
  /** Its own words for the person: foreign text. */
  readonly said: string
}

/** Reads the error of an answer (RFC 6749, 4.1.2.1); `undefined` if there is none. */
function authorizationErrorIn(query: URLSearchParams): AuthorizationError | undefined {
  const error = query.get('error')
  if (error === null) return undefined
  const description = query.get('error_description') ?? ''
  const said = [error, description]
    .filter((text) => text !== '')
    .map((text) => text.slice(0, MOST_SAID))
    .join(': ')
  const why = FAULTS.get(error)
  return { why: why ?? 'declined', cause: why && `it answers the browser with ${error}`, said }
}

const MOST_SAID = 300

/**
 * The codes that are not about the person. All others are: `access_denied`, those that ask for the person (OpenID
 * Connect Core, 3.1.2.6), and the own codes of issuers.
 */
const FAULTS: ReadonlyMap<string, AuthorizationError['why']> = new Map([
  ['invalid_request', 'refused'],
  ['unauthorized_client', 'refused'],
  ['unsupported_response_type', 'refused'],
  ['invalid_scope', 'refused'],
  // RFC 8707, 2.
  ['invalid_target', 'refused'],
  ['server_error', 'unavailable'],
  ['temporarily_unavailable', 'unavailable'],
])

/** True if a parameter of the answer occurs twice (RFC 6749, 3.1). */
function isAmbiguous(query: URLSearchParams): boolean {
  return PARAMETERS.some((name) => query.getAll(name).length > 1)
}

const PARAMETERS = ['state', 'code', 'iss', 'error', 'error_description']

/** Prevents a mix-up with another authorization server (RFC 9207, 2.4). */
function isResponseOfIssuer(query: URLSearchParams, issuer: string, { namesIssuer }: SignInEndpoints): boolean {
  const named = query.get('iss')
  return named === null ? !namesIssuer : named === issuer
}
