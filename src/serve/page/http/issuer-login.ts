import type { IncomingMessage, ServerResponse } from 'node:http'
import { disconnectSignal } from '../../http/server/client-gone.ts'
import { sendStatus } from '../../http/server/response.ts'
import { hasScope } from '../../principal.ts'
import { PENDING_SIGN_IN_S } from '../../sign-in.ts'
import type { ClientAddress, SignIn, SignInFailure, SignInFault } from '../../sign-in.ts'
import { signInFailedPage, signedInPage } from './login-page.ts'
import { PageCookies } from './page-cookies.ts'
import { destinationIn, refuseForm } from './page-login.ts'
import type { LoginParts, PageLogin } from './page-login.ts'
import { sendPage } from './respond.ts'

/** The parts behind the sign-in with the authorization server. */
export interface IssuerLoginParts extends Pick<LoginParts, 'admit' | 'title' | 'address' | 'audit'> {
  /** The URL of MCP that clients use. */
  readonly resource: () => string
  readonly signIn: SignIn
  /** Knows and opens the sessions. */
  readonly login: Pick<PageLogin, 'sessionsOf' | 'open'>
}

/**
 * Signs readers in with the authorization server. The state of a sign-in is in a cookie of the browser alone, so any
 * hub behind the address can end it.
 */
export class IssuerLogin {
  readonly #parts: IssuerLoginParts
  readonly #cookies: PageCookies

  constructor(parts: IssuerLoginParts) {
    this.#parts = parts
    this.#cookies = new PageCookies(parts.address)
  }

  /** Serves `/login/start`: sends the browser to the authorization server. */
  async begin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!(await this.#isAdmitted(request, response))) return
    const { signIn, login } = this.#parts
    const to = destinationIn(paramsOf(request))
    // A cookie has at most 4 KiB with its name and attributes.
    const goal = { to: to.length <= MOST_KEPT ? to : '', replaces: await login.sessionsOf(request) }
    const begun = await signIn.begin(this.#address, goal, disconnectSignal(response))
    if (begun.kind === 'failed') return this.#sendFailure(response, { ...begun, to })
    response.setHeader('set-cookie', this.#cookies.headerOf('pending', begun.pending, PENDING_SIGN_IN_S))
    sendStatus(response, 303, {
      location: begun.url,
      'cache-control': 'no-store',
      'content-length': '0',
      'referrer-policy': 'no-referrer',
    })
  }

  /** Serves `/login/callback`, to which the authorization server sends the browser back. */
  async finish(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!(await this.#isAdmitted(request, response))) return
    const { signIn, login, title, audit } = this.#parts
    const pending = this.#cookies.valuesIn(request, 'pending')
    const answer = { query: paramsOf(request), pending }
    const ended = await signIn.finish(this.#address, answer, disconnectSignal(response))
    // An unexpected answer, to which any site can send the browser, must not end the sign-in that was begun.
    const isOpen = ended.kind === 'failed' && (ended.why === 'not-expected' || ended.isRepeatable === true)
    if (isOpen) return this.#sendFailure(response, ended)
    const over = this.#cookies.headerOf('pending', '', 0)
    response.setHeader('set-cookie', over)
    if (ended.kind === 'failed') return this.#sendFailure(response, ended)
    const { principal } = ended
    audit?.isReadBy(response, principal)
    const to = destinationIn(new URLSearchParams({ to: ended.to }))
    if (!hasScope(principal, 'page')) return this.#sendFailure(response, { kind: 'failed', why: 'no-access', to })
    response.setHeader('set-cookie', [over, await login.open(request, principal, ended.replaces)])
    // A redirect would still belong to the navigation from the other site, with which the strict cookie is not sent.
    // The address of this page holds the code, so no request from it may name it.
    sendPage(response, 200, signedInPage(title, { up: UP, to }), { 'referrer-policy': 'no-referrer' })
  }

  /** True unless the request was refused. A missing token is no reason, but the rate limit is. */
  async #isAdmitted(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const decision = await this.#parts.admit(request, 'page')
    if (decision.kind === 'granted' || decision.status === 401) return true
    refuseForm(response, decision)
    return false
  }

  /** Never depends on the Host header: an attacker could choose where the code is sent. */
  get #address(): ClientAddress {
    const { address, resource } = this.#parts
    return { redirectUri: `${address()}/login/callback`, resource: resource() }
  }

  #sendFailure(response: ServerResponse, failure: SignInFailure): void {
    const retryAfter = RETRY_AFTER[failure.why]
    const head = { 'referrer-policy': 'no-referrer', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) }
    const to = destinationIn(new URLSearchParams({ to: failure.to ?? '' }))
    sendPage(response, STATUS[failure.why], signInFailedPage(this.#parts.title, failure, { up: UP, to }), head)
  }
}

/** The relative path from both routes to the root. */
const UP = '../'

const MOST_KEPT = 2_048

const STATUS: Readonly<Record<SignInFault, number>> = {
  'not-expected': 400,
  declined: 403,
  refused: 502,
  unavailable: 503,
  busy: 503,
  rejected: 502,
  'no-access': 403,
}

const RETRY_AFTER: Partial<Readonly<Record<SignInFault, string>>> = { unavailable: '10', busy: '5' }

function paramsOf({ url = '/' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at === -1 ? '' : url.slice(at))
}
