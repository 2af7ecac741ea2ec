import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpAccess } from '../../http/http-access.ts'
import type { Site } from '../../http/server/listener.ts'
import { readBody } from '../../http/server/request-body.ts'
import { sendError, sendStatus } from '../../http/server/response.ts'
import type { HttpAudit } from '../../mcp/transports/http-audit.ts'
import type { Principal } from '../../principal.ts'
import { upFrom } from '../urls.ts'
import { loginPage } from './login-page.ts'
import { PageCookies } from './page-cookies.ts'
import { PAGE_SESSION_S, sessionName } from './page-sessions.ts'
import type { PageSessions } from './page-sessions.ts'
import { sendPage } from './respond.ts'

/** The parts behind the login. */
export interface LoginParts {
  readonly access: HttpAccess
  /** Decides about a request by access and rate. */
  readonly admit: Site['admit']
  readonly title: string
  /** The URL of the server that clients use, without a trailing slash. */
  readonly address: () => string
  readonly signedIn: PageSessions
  /** The authorization server that readers can sign in with. */
  readonly issuer: string | undefined
  /** Receives the principal of the reader. */
  readonly audit?: Pick<HttpAudit, 'isReadBy'>
}

/** The reader of the page. */
export interface Reader {
  /** `undefined` if no token is required and none was given. */
  readonly principal: Principal | undefined
  /** True if a cookie replaces the token, so that the reader can sign out. */
  readonly isSignedIn: boolean
}

/**
 * Authenticates readers of the page. If a token is required, the reader enters it once in a form, and a cookie replaces
 * it after that.
 */
export class PageLogin {
  readonly #parts: LoginParts
  readonly #cookies: PageCookies

  constructor(parts: LoginParts) {
    this.#parts = parts
    this.#cookies = new PageCookies(parts.address)
  }

  /** Returns the admitted reader; `undefined` if the request was answered with the form or a refusal. */
  async readerOf(request: IncomingMessage, response: ServerResponse): Promise<Reader | undefined> {
    const { title, admit, audit, issuer } = this.#parts
    const decision = await admit(request, 'page')
    if (decision.principal !== undefined) audit?.isReadBy(response, decision.principal)
    if (decision.kind === 'granted') return { principal: decision.principal, isSignedIn: false }
    // A wrong token in the request is always reported, even if the reader is signed in.
    const isAsked = request.headers.authorization === undefined && decision.status === 401
    const reader = isAsked ? await this.#signedInBy(request) : undefined
    if (reader !== undefined) {
      audit?.isReadBy(response, reader)
      return { principal: reader, isSignedIn: true }
    }
    if (isAsked)
      sendPage(response, 401, loginPage(title, { up: upOf(request), to: askedIn(request), issuer }), decision.headers)
    else refuseForm(response, decision)
    return undefined
  }

  /** Serves `/login`. */
  async signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, admit, title, audit, issuer } = this.#parts
    const tried = await admit(request, 'page')
    // A missing token is no reason to refuse here, because the form contains it. The rate limit and a token in the URL
    // are.
    if (tried.kind === 'denied' && (tried.status === 429 || tried.status === 400)) return refuseForm(response, tried)
    const form = await this.#formIn(request)
    if (!form.ok) return refuseForm(response, form)
    const decision = await access.decideToken(form.fields.get('token') ?? '', 'page')
    if (decision.principal !== undefined) audit?.isReadBy(response, decision.principal)
    if (decision.kind === 'denied' && decision.status === 503) return refuseForm(response, decision)
    if (decision.kind === 'denied') {
      const to = destinationIn(form.fields)
      return sendPage(response, 401, loginPage(title, { up: './', to, isRefused: true, issuer }))
    }
    const { principal } = decision
    if (principal === undefined) await this.#close(request)
    redirect(response, principal && (await this.open(request, principal)), destinationIn(form.fields))
  }

  /** Returns the names of the sessions of the request, which are no secrets. */
  async sessionsOf(request: IncomingMessage): Promise<readonly string[]> {
    const ids = await this.#parts.signedIn.openAmong(this.#cookies.valuesIn(request, 'session'))
    return ids.slice(0, MOST_REPLACED).map(sessionName)
  }

  /** Opens a session in place of those of the request and of those named. Returns the header of its cookie. */
  async open(request: IncomingMessage, principal: Principal, replaces: readonly string[] = []): Promise<string> {
    await this.#close(request, replaces)
    return this.#cookies.headerOf('session', await this.#parts.signedIn.open(principal), PAGE_SESSION_S)
  }

  /** Serves `/logout`. */
  async signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await this.#formIn(request)
    if (!form.ok) return refuseForm(response, form)
    await this.#close(request)
    redirect(response, this.#cookies.headerOf('session', '', 0))
  }

  /** Reads the fields of a form that a page of ours sent. */
  async #formIn(request: IncomingMessage): Promise<Form> {
    const { headers } = request
    // Pages of any site on loopback may call this server, but a form must be our own. A browser sends the origin of
    // each.
    if (!this.#isOwn(headers)) {
      return {
        ok: false,
        status: 403,
        message: 'The Origin header is missing, or names another site; behind a proxy, set serve.http.public_url',
      }
    }
    if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(headers['content-type'] ?? '')) {
      return { ok: false, status: 415, message: 'The content type must be application/x-www-form-urlencoded' }
    }
    const chunks: Buffer[] = []
    if (!(await readBody(request, FORM_BYTES, (bytes) => chunks.push(bytes)))) {
      const message = `The body is over ${FORM_BYTES} bytes`
      // The rest of the body is not read, so the connection cannot be reused.
      return { ok: false, status: 413, message, headers: { connection: 'close' } }
    }
    return { ok: true, fields: new URLSearchParams(Buffer.concat(chunks).toString('utf8')) }
  }

  #isOwn({ origin, host }: IncomingMessage['headers']): boolean {
    if (origin === undefined) return false
    return origin === new URL(this.#parts.address()).origin || origin === `http://${host}`
  }

  /** Returns the principal of a session cookie, valid as long as the session. */
  async #signedInBy(request: IncomingMessage): Promise<Principal | undefined> {
    const { signedIn } = this.#parts
    const [id = ''] = await signedIn.openAmong(this.#cookies.valuesIn(request, 'session'))
    const reader = signedIn.find(id)
    return reader && { ...reader, isOver: () => signedIn.find(id) === undefined }
  }

  /** Ends the sessions of the request, and those named. */
  async #close(request: IncomingMessage, replaces: readonly string[] = []): Promise<void> {
    await this.#parts.signedIn.close(this.#cookies.valuesIn(request, 'session'), replaces)
  }
}

type Form = { readonly ok: true; readonly fields: URLSearchParams } | (Refused & { readonly ok: false })

interface Refused {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

function redirect(response: ServerResponse, cookie: string | undefined, to = ''): void {
  const header = cookie === undefined ? {} : { 'set-cookie': cookie }
  sendStatus(response, 303, { location: `./${to}`, 'cache-control': 'no-store', 'content-length': '0', ...header })
}

/** Refuses a request of the login with its reason, in the JSON of every other refusal. */
export function refuseForm(response: ServerResponse, { status, message, headers = {} }: Refused): void {
  sendError(response, { status, code: -32000, message, headers })
}

/** A browser has one session. Others have been set by servers on other ports of this host. */
const MOST_REPLACED = 8

/** The longest token with each character encoded, and the name of its field. */
const FORM_BYTES = 25_000

function upOf({ url = '/' }: IncomingMessage): string {
  return upFrom(url.replace(/\?.*$/s, ''))
}

/** Returns the requested page, relative to the root. */
function askedIn({ url = '/' }: IncomingMessage): string {
  return isDestination(url.slice(1)) ? url.slice(1) : ''
}

/** Returns the page to go on to, relative to the root: the field `to`, or the root if that leads to no page of ours. */
export function destinationIn(fields: URLSearchParams): string {
  const to = fields.get('to') ?? ''
  return isDestination(to) ? to : ''
}

/** True for a page of ours: after `./`, it cannot lead to another site, or above the path of `public_url`. */
function isDestination(to: string): boolean {
  if (to.length > MOST_DESTINATION || !DESTINATION.test(to)) return false
  // Proxies decode slashes before they resolve the segments `.` and `..`, which browsers also recognize as `%2e`.
  const path = to.replace(/\?.*$/s, '').replaceAll(/%(?:2f|5c)/gi, '/')
  return URL.parse(path, 'https://hub.invalid/path/')?.pathname === `/path/${path}`
}

const DESTINATION = /^(?:skills\/|sources|changes|problems|connect|\?)[\w\-./%?=&+~!*'()]*$/

const MOST_DESTINATION = 4_096
