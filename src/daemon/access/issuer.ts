import { createLocalJWKSet } from 'jose'
import type { LocalJWKSet } from 'jose'
import { z } from 'zod'
import { abortable } from '../../base/async/abortable.ts'
import type { Clock } from '../../base/async/clock.ts'
import { codeOf } from '../../base/error-code.ts'
import { isLoopbackUrl } from '../../base/host-name.ts'
import { parseJson } from '../../base/json-value.ts'
import { PLAIN_WAY } from '../../sync/upstream/http/host-access.ts'
import { exchange } from '../../sync/upstream/http/http-exchange.ts'
import { textWithin } from '../runtime/response-text.ts'

/** The known keys of a token issuer. */
export interface IssuerKeys {
  /** The issuer's own name for itself, which its tokens carry. */
  readonly issuer: string
  readonly keys: LocalJWKSet
  /** The addresses for sign-in; `undefined` if the metadata names no safe addresses for that. */
  readonly signIn: SignInEndpoints | undefined
}

/** The addresses of the authorization code flow, with what a client has to know of each. */
export interface SignInEndpoints {
  readonly authorization: string
  readonly token: string
  /** The methods by which a client proves its identity at the token address (RFC 8414, 2). */
  readonly authMethods: readonly string[]
  /** True if each answer of the authorization address names the issuer (RFC 9207). */
  readonly namesIssuer: boolean
}

interface Held extends IssuerKeys {
  readonly fetchedMs: number
}

interface Parts {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** The age after which keys that could not be fetched again are no longer used. */
  readonly maxAgeMs: number
  /** Called with the result of each attempt: for a failure the reason, as text without secrets. */
  readonly told: (failure: string | undefined) => void
}

/**
 * The keys of one issuer, located by its metadata (RFC 8414, or OpenID Connect Discovery) and fetched for the first
 * token. They are fetched again every five minutes, and for a key that is unknown, but at most every ten seconds,
 * whatever tokens arrive. While the issuer is down, the known keys stay in use until they are too old.
 */
export class Issuer {
  readonly #url: string
  readonly #parts: Parts
  #held: Held | undefined
  #askedMs = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined

  constructor(url: string, parts: Parts) {
    this.#url = url
    this.#parts = parts
  }

  /**
   * `undefined` if the issuer has not been reached yet, or not for too long: a key that it has revoked since would stay
   * valid forever. Old keys stay in use while new ones are fetched. `signal`: ends the wait alone, as others share the
   * fetch.
   */
  async keys(signal?: AbortSignal): Promise<IssuerKeys | undefined> {
    signal?.throwIfAborted()
    if (this.#ageMs > this.#parts.maxAgeMs) await (signal ? abortable(this.#ask(), signal) : this.#ask())
    else if (this.#ageMs > FRESH_MS) void this.#ask()
    return this.#ageMs > this.#parts.maxAgeMs ? undefined : this.#held
  }

  /** The keys for a token whose key is not among the known ones. `undefined` if they are the same as before. */
  async newerThan(known: IssuerKeys): Promise<IssuerKeys | undefined> {
    await this.#ask()
    return this.#held === known ? undefined : this.#held
  }

  get #ageMs(): number {
    return this.#parts.clock.monotonicMs() - (this.#held?.fetchedMs ?? Number.NEGATIVE_INFINITY)
  }

  /** Never rejects with a failed fetch: it reports the failure, and a later call tries again. */
  async #ask(): Promise<void> {
    const { clock } = this.#parts
    if (this.#asking === undefined && clock.monotonicMs() - this.#askedMs >= APART_MS) {
      this.#askedMs = clock.monotonicMs()
      this.#asking = this.#fetch().finally(() => (this.#asking = undefined))
    }
    await this.#asking
  }

  async #fetch(): Promise<void> {
    try {
      const found = await keysOf(this.#url)
      this.#held = { ...found, fetchedMs: this.#parts.clock.monotonicMs() }
      this.#parts.told(undefined)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const code = codeOf(error)
      this.#parts.told(error instanceof Unusable ? error.message : `the connection failed (${code ?? error.name})`)
    }
  }
}

const FRESH_MS = 300_000
const APART_MS = 10_000
const TIMEOUT_MS = 10_000
const MOST_BYTES = 262_144
const MOST_KEYS = 100

/** The issuer's data cannot be used. */
class Unusable extends Error {
  override readonly name = 'Unusable'
}

async function keysOf(url: string): Promise<IssuerKeys> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const metadata = await metadataOf(url, signal)
  const { issuer, jwks_uri: address } = metadata
  const { keys } = parseAs(KEYS, await fetchText(address, signal), 'its keys')
  if (keys.length > MOST_KEYS) throw new Unusable(`it has over ${MOST_KEYS} keys`)
  return { issuer, keys: createLocalJWKSet({ keys }), signIn: signInEndpointsIn(metadata, url) }
}

function signInEndpointsIn(metadata: z.output<typeof METADATA>, url: string): SignInEndpoints | undefined {
  const { authorization_endpoint: authorization, token_endpoint: token } = metadata
  if (authorization === undefined || token === undefined) return undefined
  if (!isSafe(authorization, url) || !isSafe(token, url)) return undefined
  return {
    authorization,
    token,
    // RFC 8414, 2: the default of metadata that names none.
    authMethods: metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'],
    namesIssuer: metadata.authorization_response_iss_parameter_supported ?? false,
  }
}

async function metadataOf(url: string, signal: AbortSignal): Promise<z.output<typeof METADATA>> {
  for (const address of metadataAddresses(url)) {
    const text = await fetchText(address, signal, [404, 400, 403, 405])
    if (text === undefined) continue
    const metadata = parseAs(METADATA, text, 'its metadata')
    // Another issuer's metadata would make us accept its tokens in this one's name (RFC 8414, 3.3).
    if (withoutSlash(metadata.issuer) !== withoutSlash(url)) throw new Unusable('its metadata is of another issuer')
    if (!isSafe(metadata.jwks_uri, url)) throw new Unusable('its keys are not at an https address')
    return metadata
  }
  throw new Unusable('it has no metadata where RFC 8414 and OpenID Connect Discovery put them')
}

/** RFC 8414, 3.1, its form for OpenID Connect, and OpenID Connect Discovery, 4. */
function metadataAddresses(url: string): string[] {
  const { origin, pathname } = new URL(url)
  const path = withoutSlash(pathname)
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  )
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}

function withoutSlash(text: string): string {
  return text.replace(/\/$/, '')
}

/** Plain HTTP is allowed only on this machine, and only if the issuer is local too. */
function isSafe(address: string, issuer: string): boolean {
  const url = URL.parse(address)
  if (url?.protocol === 'https:') return true
  return url?.protocol === 'http:' && isLoopbackUrl(url) && isLoopbackUrl(new URL(issuer))
}

async function fetchText(address: string, signal: AbortSignal): Promise<string>
async function fetchText(address: string, signal: AbortSignal, absent: readonly number[]): Promise<string | undefined>
async function fetchText(
  address: string,
  signal: AbortSignal,
  absent: readonly number[] = [],
): Promise<string | undefined> {
  const { route } = PLAIN_WAY
  const answer = await exchange(address, { method: 'GET', headers: { accept: 'application/json' }, route, signal })
  if (answer.status !== 200) {
    answer.giveUp()
    if (absent.includes(answer.status)) return undefined
    throw new Unusable(`it answers ${answer.status}`)
  }
  const text = await textWithin(MOST_BYTES, answer)
  if (text === undefined) throw new Unusable(`its answer is over ${MOST_BYTES} bytes`)
  return text
}

function parseAs<Shape extends z.ZodType>(shape: Shape, text: string, what: string): z.output<Shape> {
  const { data, success } = shape.safeParse(parseJson(text))
  if (!success) throw new Unusable(`${what} cannot be read`)
  return data
}

// Only sign-in uses the optional parts: where one is malformed, access tokens are verified all the same.
const METADATA = z.object({
  issuer: z.string(),
  jwks_uri: z.string(),
  authorization_endpoint: z.string().optional().catch(undefined),
  token_endpoint: z.string().optional().catch(undefined),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional().catch(undefined),
  authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined),
})
const KEYS = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) })
