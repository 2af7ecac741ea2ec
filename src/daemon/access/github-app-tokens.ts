import { createPrivateKey, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../base/async/clock.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { HostRoute } from '../../sync/upstream/http/host-access.ts'
import { exchange } from '../../sync/upstream/http/http-exchange.ts'
import type { HttpAnswer } from '../../sync/upstream/http/http-exchange.ts'
import { connectionFailure, failureOf } from '../../sync/upstream/http/http-failure.ts'
import { secretNameOf, readSecret } from '../config/auth.ts'
import type { GitHubApp } from '../config/auth.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'

/** The dependencies of the app tokens. */
export interface AppTokensOptions {
  readonly environment: Environment
  readonly redactor: Redactor
  readonly clock: Clock
  /** The maximum time of a fetch: a token that could expire during a fetch is not used. */
  readonly fetchMs: number
}

/**
 * The tokens of GitHub App installations, only in memory. Each is reused until shortly before it expires, or until it
 * is forgotten.
 */
export class GithubAppTokens {
  readonly #options: AppTokensOptions
  readonly #kept = new Map<string, Token>()

  constructor(options: AppTokensOptions) {
    this.#options = options
  }

  /** Returns a token that stays valid for a whole fetch. `route` leads to the API. */
  async tokenFor(app: GitHubApp, route: HostRoute, signal: AbortSignal): Promise<string> {
    const key = keyOf(app)
    const kept = this.#kept.get(key)
    if (kept !== undefined && this.#options.clock.now().getTime() < kept.renewAtMs) return kept.text
    const token = await this.#make(app, route, signal)
    this.#kept.set(key, token)
    return token.text
  }

  /** Called if the host refused the token: the next call requests a new one. */
  forget(app: GitHubApp): void {
    this.#kept.delete(keyOf(app))
  }

  async #make(app: GitHubApp, route: HostRoute, signal: AbortSignal): Promise<Token> {
    const { environment, redactor, clock, fetchMs } = this.#options
    const pem = await readSecret(app.privateKey, environment, redactor, 'lines')
    const nowMs = clock.now().getTime()
    const jwt = jwtOf(app.appId, keyFrom(pem, app), nowMs)
    redactor.add(jwt)
    const { token, lifetimeMs } = await askForToken(app, jwt, { route, nowMs, signal })
    redactor.add(token)
    const marginMs = Math.min(fetchMs + MARGIN_MS, lifetimeMs / 2)
    return { text: token, renewAtMs: nowMs + lifetimeMs - marginMs }
  }
}

interface Token {
  readonly text: string
  readonly renewAtMs: number
}

/** A margin for clock differences, and for the work before and after a fetch. */
const MARGIN_MS = 120_000

function keyOf({ apiUrl, appId, installationId }: GitHubApp): string {
  return `${appId} ${installationId} ${apiUrl}`
}

function keyFrom(pem: string, app: GitHubApp): KeyObject {
  const key = privateKeyFrom(pem)
  if (key?.asymmetricKeyType === 'rsa') return key
  const message = `Cannot use the ${secretNameOf(app.privateKey)}: it must be an RSA private key in PEM form without a passphrase`
  throw new SyncError('credentials-rejected', message)
}

function privateKeyFrom(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    // The cause is dropped: it may quote the key.
    return undefined
  }
}

/** As GitHub requires: issued a minute ago, for clock differences, and valid for at most ten minutes. */
function jwtOf(appId: number, key: KeyObject, nowMs: number): string {
  const iat = Math.floor(nowMs / 1000) - 60
  const parts = [
    { alg: 'RS256', typ: 'JWT' },
    { iat, exp: iat + 600, iss: String(appId) },
  ]
  const unsigned = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${unsigned}.${sign('sha256', Buffer.from(unsigned), key).toString('base64url')}`
}

interface Asking {
  readonly route: HostRoute
  readonly nowMs: number
  readonly signal: AbortSignal
}

interface Given {
  readonly token: string
  readonly lifetimeMs: number
}

async function askForToken(app: GitHubApp, jwt: string, { route, nowMs, signal }: Asking): Promise<Given> {
  const what = `Cannot get a token for GitHub App ${app.appId} from "${app.apiUrl}"`
  const overdue = AbortSignal.timeout(ANSWER_MS)
  try {
    const answer = await exchange(addressOf(app), {
      method: 'POST',
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${jwt}`,
        'content-type': 'application/json',
        'user-agent': 'skillsyncd',
        'x-github-api-version': '2022-11-28',
      },
      // Requests only the permission that is needed, whatever the app may do.
      body: Buffer.from(JSON.stringify({ permissions: { contents: 'read' } })),
      route,
      signal: AbortSignal.any([signal, overdue]),
    })
    const failure = refusalOf(answer, what)
    if (failure !== undefined) {
      answer.giveUp()
      throw failure
    }
    return givenIn(await textOf(answer, what), nowMs, what)
  } catch (cause) {
    signal.throwIfAborted()
    if (overdue.aborted) throw new SyncError('source-unreachable', `${what}: no answer within ${ANSWER_MS} ms`)
    throw cause instanceof SyncError ? cause : connectionFailure(cause, what)
  }
}

const ANSWER_MS = 30_000

function addressOf({ apiUrl, installationId }: GitHubApp): string {
  return `${apiUrl.replace(/\/+$/, '')}/app/installations/${installationId}/access_tokens`
}

function refusalOf(answer: HttpAnswer, what: string): SyncError | undefined {
  const { status } = answer
  if (status === 201) return undefined
  const why = REFUSALS[status]
  if (why !== undefined) return new SyncError('credentials-rejected', `${what}: the API answers ${status}, ${why}`)
  const failure = failureOf(answer, what, true)
  // The request was about the app, so it says nothing about the repository.
  if (failure !== undefined && failure.code !== 'repository-not-found') return failure
  return new SyncError('source-unreachable', `${what}: the API answers ${status} without a token`)
}

const REFUSALS: Readonly<Record<number, string>> = {
  401: 'it does not accept the key as one of this app, or the clock of this machine is wrong',
  404: 'the app has no such installation',
  422: 'the installation may not read contents of repositories',
}

async function textOf(answer: HttpAnswer, what: string): Promise<string> {
  const parts: Uint8Array[] = []
  let left = ANSWER_BYTES
  for await (const part of answer.body) {
    left -= part.length
    if (left < 0)
      throw new SyncError('limit-exceeded', `${what}: the API answers with more than ${ANSWER_BYTES} bytes`, {
        fix: 'Check that the address is that of the API of GitHub; nothing there answers with so much',
      })
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The answer lists the repositories of the installation if they were selected one by one. */
const ANSWER_BYTES = 8_388_608

function givenIn(text: string, nowMs: number, what: string): Given {
  const answer = parseJson(text)
  const { token, expires_at: expiresAt } = isObject(answer) ? answer : {}
  const isToken = typeof token === 'string' && /^[\x21-\x7e]{1,16384}$/.test(token)
  const lifetimeMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) - nowMs : Number.NaN
  if (isToken && lifetimeMs > 0) return { token, lifetimeMs }
  const why = isToken ? 'the token has expired already; check the clock of this machine' : 'the answer has no token'
  throw new SyncError('source-unreachable', `${what}: ${why}`)
}
