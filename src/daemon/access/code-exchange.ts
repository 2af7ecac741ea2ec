import { z } from 'zod'
import { codeOf } from '../../base/error-code.ts'
import { parseJson } from '../../base/json-value.ts'
import { PLAIN_WAY } from '../../sync/upstream/http/host-access.ts'
import { exchange } from '../../sync/upstream/http/http-exchange.ts'
import type { HttpAnswer } from '../../sync/upstream/http/http-exchange.ts'
import { textWithin } from '../runtime/response-text.ts'
import type { SignInEndpoints } from './issuer.ts'

/** The tokens that an authorization server issued for a code. */
export interface IssuedTokens {
  readonly kind: 'issued'
  readonly idToken: string
  readonly accessToken: string
}

/**
 * `expired`: the code is unknown, used, too old, or for another client or redirect URI. `unreachable`: a later sign-in
 * may succeed.
 */
export interface NotIssued {
  readonly kind: 'expired' | 'unreachable' | 'refused'
  /** The reason, without secrets. */
  readonly cause: string
}

/** The request for the tokens of a code. */
export interface CodeRequest {
  readonly clientId: string
  /** `undefined` for a public client. */
  readonly secret: string | undefined
  readonly code: string
  /** The secret whose hash the authorization request contained (RFC 7636). */
  readonly verifier: string
  readonly redirectUri: string
}

const TIMEOUT_MS = 10_000
const MOST_BYTES = 262_144

/**
 * Exchanges a code for its tokens (RFC 6749, 4.1.3). Rejects with the reason of the signal if that aborts, and never
 * with a failed request.
 */
export async function exchangeCode(
  endpoints: Pick<SignInEndpoints, 'token' | 'authMethods'>,
  asked: CodeRequest,
  signal: AbortSignal,
): Promise<IssuedTokens | NotIssued> {
  try {
    return await exchangeWithin(AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]), endpoints, asked)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof Error)) throw error
    return { kind: 'unreachable', cause: `the connection failed (${codeOf(error) ?? error.name})` }
  }
}

async function exchangeWithin(
  signal: AbortSignal,
  { token: address, authMethods }: Pick<SignInEndpoints, 'token' | 'authMethods'>,
  asked: CodeRequest,
): Promise<IssuedTokens | NotIssued> {
  const { headers, fields } = proofOf(asked, authMethods)
  const { code, verifier, redirectUri } = asked
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...fields,
  })
  const answer = await exchange(address, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: Buffer.from(form.toString()),
    route: PLAIN_WAY.route,
    // After the first request the code may be used up: the second would end a sign-in that had succeeded.
    isSentOnce: true,
    signal,
  })
  const text = await textWithin(MOST_BYTES, answer)
  if (text === undefined) return refused(`its answer is over ${MOST_BYTES} bytes`)
  return answer.status === 200 ? issuedIn(text) : notIssued(answer, text)
}

interface Proof {
  readonly headers: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>
}

/** The proof of the client's identity (RFC 6749, 2.3.1). Every server accepts the header, unless it says otherwise. */
function proofOf({ clientId, secret }: CodeRequest, authMethods: readonly string[]): Proof {
  if (secret === undefined) return { headers: {}, fields: { client_id: clientId } }
  const isInForm = !authMethods.includes('client_secret_basic') && authMethods.includes('client_secret_post')
  if (isInForm) return { headers: {}, fields: { client_id: clientId, client_secret: secret } }
  const pair = Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString('base64')
  return { headers: { authorization: `Basic ${pair}` }, fields: {} }
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

function issuedIn(text: string): IssuedTokens | NotIssued {
  const { data, success } = TOKENS.safeParse(parseJson(text))
  if (!success) return refused('its answer has no ID token and bearer token')
  return { kind: 'issued', idToken: data.id_token, accessToken: data.access_token }
}

/** RFC 6749, 5.2. Only known codes go on: the text of the others is foreign. */
function notIssued({ status }: HttpAnswer, text: string): NotIssued {
  if (status >= 500 || status === 429) return { kind: 'unreachable', cause: `it answers ${status}` }
  const { data } = ERROR.safeParse(parseJson(text))
  if (data?.error === 'invalid_grant') return { kind: 'expired', cause: `it answers ${status}, invalid_grant` }
  return refused(`it answers ${status}${data === undefined ? '' : `, ${data.error}`}`)
}

function refused(cause: string): NotIssued {
  return { kind: 'refused', cause }
}

const TOKENS = z.object({
  id_token: z.string(),
  access_token: z.string(),
  token_type: z.string().regex(/^bearer$/i),
})

const ERROR = z.object({
  error: z.enum([
    'invalid_request',
    'invalid_client',
    'invalid_grant',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
  ]),
})
