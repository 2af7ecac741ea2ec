import type { Principal } from './principal.ts'

/** Signs people in with an authorization server, by the authorization code flow of OpenID Connect. */
export interface SignIn {
  readonly issuer: string
  /** Begins a sign-in. `to`: the requested page, which the end of the sign-in returns. */
  readonly begin: (address: ClientAddress, to: string) => Promise<SignInBegun | SignInFailure>
  /** Ends the sign-in that the authorization server answered. */
  readonly finish: (address: ClientAddress, answer: SignInAnswer) => Promise<SignedIn | SignInFailure>
}

/** The addresses of this server that the authorization server knows. */
export interface ClientAddress {
  /** The address to which the authorization server sends the browser back. */
  readonly redirectUri: string
  /** The audience of access tokens, if none is configured. */
  readonly resource: string
}

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

export interface SignedIn {
  readonly kind: 'signed-in'
  readonly principal: Principal
  /** The requested page, as the cookie kept it. */
  readonly to: string
}

export interface SignInFailure {
  readonly kind: 'failed'
  readonly why: SignInFault
  /** The reason that the authorization server gave: foreign text. */
  readonly said?: string
  /** The requested page, if the answer belongs to a sign-in of this browser. */
  readonly to?: string
}

/**
 * `not-expected`: the answer belongs to no sign-in that this browser began. `declined`: the authorization server
 * answered with an error. `unavailable`: it cannot be reached. `rejected`: what it issued cannot be accepted. `no-access`: the person is
 * known, and the page is not open to them.
 */
export type SignInFault = 'not-expected' | 'declined' | 'unavailable' | 'rejected' | 'no-access'
