import type { Principal } from './principal.ts'

/**
 * Signs people in with an authorization server, by the authorization code flow of OpenID Connect. Its calls reject with
 * the reason of the signal if that aborts.
 */
export interface SignIn {
  readonly issuer: string
  /** Begins a sign-in. */
  readonly begin: (
    address: ClientAddress,
    goal: SignInGoal,
    signal: AbortSignal,
  ) => Promise<SignInBegun | SignInFailure>
  /** Ends the sign-in that the authorization server answered. */
  readonly finish: (
    address: ClientAddress,
    answer: SignInAnswer,
    signal: AbortSignal,
  ) => Promise<SignedIn | SignInFailure>
}

/** The addresses of this server that the authorization server knows. */
export interface ClientAddress {
  /** The address to which the authorization server sends the browser back. */
  readonly redirectUri: string
  /** The audience of access tokens, if none is configured. */
  readonly resource: string
}

/** The purpose of a sign-in. Its end returns what its start was given. */
export interface SignInGoal {
  /** The requested page. */
  readonly to: string
  /**
   * Names in base64url of the sessions that the new one replaces, not their secrets. Only the start knows them: their
   * cookie is strict, so the browser does not send it on the way back from the authorization server.
   */
  readonly replaces: readonly string[]
}

/** A sign-in that waits for the person. */
export interface SignInBegun {
  readonly kind: 'begun'
  /** The address at which the person signs in. */
  readonly url: string
  /**
   * The secret that binds the answer to this browser. Only its cookie keeps it, for `PENDING_SIGN_IN_S` seconds, so
   * that every hub behind one address can end the sign-in. It has the characters of a cookie value.
   */
  readonly pending: string
}

/** The time that a person has to sign in. */
export const PENDING_SIGN_IN_S = 600

/** The answer of the authorization server, as the browser brings it. */
export interface SignInAnswer {
  readonly query: URLSearchParams
  /** The secrets of this browser's cookies, of any origin. */
  readonly pending: readonly string[]
}

/** A person whom the authorization server named, with the goal that the cookie kept. It may open nothing yet. */
export interface SignedIn extends SignInGoal {
  readonly kind: 'signed-in'
  readonly principal: Principal
}

/** A sign-in that could not begin, or that ended without a person. */
export interface SignInFailure {
  readonly kind: 'failed'
  readonly why: SignInFault
  /** The reason that the authorization server gave: foreign text. */
  readonly said?: string
  /** The requested page, if the answer belongs to a sign-in of this browser. */
  readonly to?: string
  /** True if the code was not sent, so that the browser can bring the same answer again. */
  readonly isRepeatable?: boolean
}

/**
 * `not-expected`: the answer belongs to no sign-in that this browser began. `declined`: the person did not sign in, or
 * may not. `refused`: the authorization server does not accept the request of this client. `unavailable`: it cannot be
 * reached, or has an outage. `busy`: too many sign-ins end at once. `rejected`: what it issued cannot be accepted.
 * `no-access`: the person is known, and the page is not open to them.
 */
export type SignInFault = 'not-expected' | 'declined' | 'refused' | 'unavailable' | 'busy' | 'rejected' | 'no-access'
