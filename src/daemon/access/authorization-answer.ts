import type { SignInFault } from '../../serve/sign-in.ts'
import type { SignInEndpoints } from './issuer.ts'

/** An error that the authorization server answered with in place of a code. */
export interface AuthorizationError {
  readonly why: Extract<SignInFault, 'declined' | 'refused' | 'unavailable'>
  /** The cause for the log, if an operator can remove it: never foreign text. */
  readonly cause: string | undefined
  /** Its own words for the person: foreign text. */
  readonly said: string
}

/** Reads the error of an answer (RFC 6749, 4.1.2.1); `undefined` if there is none. */
export function authorizationErrorIn(query: URLSearchParams): AuthorizationError | undefined {
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
export function isAmbiguous(query: URLSearchParams): boolean {
  return PARAMETERS.some((name) => query.getAll(name).length > 1)
}

const PARAMETERS = ['state', 'code', 'iss', 'error', 'error_description']

/** Prevents a mix-up with another authorization server (RFC 9207, 2.4). */
export function isResponseOfIssuer(query: URLSearchParams, issuer: string, { namesIssuer }: SignInEndpoints): boolean {
  const named = query.get('iss')
  return named === null ? !namesIssuer : named === issuer
}
