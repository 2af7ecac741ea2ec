import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpAccess } from '../../http/access/access.ts'
import type { HttpAudit } from '../../http/server/audit.ts'
import type { Site } from '../../http/server/listener.ts'
import { readBody } from '../../http/server/request-body.ts'
import { sendError, sendStatus } from '../../http/server/response.ts'
import type { Principal } from '../../principal.ts'
import { loginPage } from '../layout.ts'
import { upFrom } from '../urls.ts'
import { PAGE_SESSION_S } from './login-sessions.ts'
import type { PageSessions } from './login-sessions.ts'
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
  constructor(parts: LoginParts) {
    this.#parts = parts
  }

  /** Returns the admitted reader; `undefined` if the request was answered with the form or a refusal. */
  async readerOf(request: IncomingMessage, response: ServerResponse): Promise<Reader | undefined> {
    const { title, admit, audit } = this.#parts
    const decision = await admit(request, 'page')
    if (decision.principal !== undefined) audit?.isReadBy(response, decision.principal)
    if (decision.kind === 'granted') return { principal: decision.principal, isSignedIn: false }
    const reader = this.#signedInBy(request)
    // A wrong token in the request is always reported, even if the reader is signed in.
    const isAsked = request.headers.authorization === undefined && decision.status === 401
    if (isAsked && reader !== undefined) {
      audit?.isReadBy(response, reader)
      return { principal: reader, isSignedIn: true }
    }
    if (isAsked)
      sendPage(response, 401, loginPage(title, { up: upOf(request), to: askedIn(request) }), decision.headers)
    else refuseForm(response, decision)
    return undefined
  }

  /** Serves `/login`. */
  async signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, admit, title, audit } = this.#parts
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
      return sendPage(response, 401, loginPage(title, { up: './', to: destinationIn(form.fields), isRefused: true }))
    }
    this.#closeThoseOf(request)
    const { principal } = decision
    const id = principal && this.#parts.signedIn.open(principal)
    const cookie = id === undefined ? undefined : `${id}; Max-Age=${PAGE_SESSION_S}`
    this.#redirect(response, cookie, destinationIn(form.fields))
  }

  /** Serves `/logout`. */
  async signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await this.#formIn(request)
    if (!form.ok) return refuseForm(response, form)
    this.#closeThoseOf(request)
    this.#redirect(response, '; Max-Age=0')
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

  #redirect(response: ServerResponse, cookie: string | undefined, to = ''): void {
    const attributes = `Path=/; HttpOnly; SameSite=Strict${this.#isSecure ? '; Secure' : ''}`
    const header = cookie === undefined ? {} : { 'set-cookie': `${this.#cookieName}=${cookie}; ${attributes}` }
    sendStatus(response, 303, { location: `./${to}`, 'cache-control': 'no-store', 'content-length': '0', ...header })
  }

  get #isSecure(): boolean {
    return this.#parts.address().startsWith('https:')
  }

  /** Over https, the name has the prefix that no other host can set (RFC 6265bis, section 4.1.3.2). */
  get #cookieName(): string {
    return this.#isSecure ? '__Host-skillsyncd' : 'skillsyncd'
  }

  /** Returns the principal of a session cookie, valid as long as the session. */
  #signedInBy(request: IncomingMessage): Principal | undefined {
    for (const id of this.#sessionIdsIn(request)) {
      const reader = this.#parts.signedIn.find(id)
      if (reader !== undefined) return { ...reader, isOver: () => this.#parts.signedIn.find(id) === undefined }
    }
    return undefined
  }

  #closeThoseOf(request: IncomingMessage): void {
    for (const id of this.#sessionIdsIn(request)) this.#parts.signedIn.close(id)
  }

  /**
   * Cookies ignore ports: any other server on this host can set one with our name, and the browser may send it before
   * ours.
   */
  #sessionIdsIn({ headers }: IncomingMessage): string[] {
    const name = `${this.#cookieName}=`
    const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim())
    const own = cookies.filter((cookie) => cookie.startsWith(name))
    return own.slice(0, MOST_COOKIES).map((cookie) => cookie.slice(name.length))
  }
}

type Form = { readonly ok: true; readonly fields: URLSearchParams } | (Refused & { readonly ok: false })

interface Refused {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

function refuseForm(response: ServerResponse, { status, message, headers = {} }: Refused): void {
  sendError(response, { status, code: -32000, message, headers })
}

/** The number of cookies that a browser stores for one host, and far more than occur by accident. */
const MOST_COOKIES = 200

/** The longest token with each character encoded, and the name of its field. */
const FORM_BYTES = 25_000

function upOf({ url = '/' }: IncomingMessage): string {
  return upFrom(url.replace(/\?.*$/s, ''))
}

/** Returns the requested page, relative to the root. */
function askedIn({ url = '/' }: IncomingMessage): string {
  return isDestination(url.slice(1)) ? url.slice(1) : ''
}

function destinationIn(fields: URLSearchParams): string {
  const to = fields.get('to') ?? ''
  return isDestination(to) ? to : ''
}

/** True for a page of ours: after `./`, it cannot lead to another site. */
function isDestination(to: string): boolean {
  return (
    to.length <= MOST_DESTINATION && /^(?:skills\/|sources|changes|problems|connect|\?)[\w\-./%?=&+~!*'()]*$/.test(to)
  )
}

const MOST_DESTINATION = 4_096
