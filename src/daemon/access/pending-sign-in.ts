import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { PENDING_SIGN_IN_S } from '../../serve/sign-in.ts'
import type { SignInGoal } from '../../serve/sign-in.ts'

/**
 * A sign-in that a browser began. Its whole state is the value of a cookie: a secret, the time of the start, the
 * sessions to replace and the requested page.
 */
export class PendingSignIn {
  readonly cookie: string
  readonly goal: SignInGoal

  private constructor(cookie: string, goal: SignInGoal) {
    this.cookie = cookie
    this.goal = goal
  }

  /** `nowS`: the time by the clock of the wall, which hubs behind one address share. */
  static begin({ replaces, to }: SignInGoal, nowS: number): PendingSignIn {
    const secret = randomBytes(32).toString('base64url')
    return new PendingSignIn(`${secret}.${nowS}.${replaces.join('~')}.${to}`, { replaces, to })
  }

  /** `undefined` if the cookie is not one of ours, or is too old. Anyone can make one that is well-formed. */
  static read(cookie: string, nowS: number): PendingSignIn | undefined {
    const [, startedS, replaces = '', to = ''] = COOKIE.exec(cookie) ?? []
    if (startedS === undefined || Math.abs(nowS - Number(startedS)) > PENDING_SIGN_IN_S) return undefined
    return new PendingSignIn(cookie, { replaces: replaces.split('~').filter((session) => session !== ''), to })
  }

  get state(): string {
    return this.#derived('state')
  }

  get nonce(): string {
    return this.#derived('nonce')
  }

  /** The verifier of PKCE (RFC 7636). */
  get verifier(): string {
    return this.#derived('verifier')
  }

  get challenge(): string {
    return createHash('sha256').update(this.verifier).digest('base64url')
  }

  isAnsweredWith(state: string): boolean {
    const [expected, given] = [Buffer.from(this.state), Buffer.from(state)]
    return given.length === expected.length && timingSafeEqual(expected, given)
  }

  /**
   * Derives a value of the flow from the whole cookie: the state then binds the start, the sessions and the destination
   * too, without a key that hubs would have to share.
   */
  #derived(use: 'state' | 'nonce' | 'verifier'): string {
    return createHmac('sha256', this.cookie).update(use).digest('base64url')
  }
}

const COOKIE = /^[\w-]{43}\.(\d{1,15})\.([\w~-]*)\.(.*)$/s
