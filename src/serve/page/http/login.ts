import type { IncomingMessage, ServerResponse } from 'node:http'
import { upFrom } from '../urls.ts'
import { loginPage } from '../layout.ts'
import type { Principal } from '../../principal.ts'
import type { Access } from '../../http/access/access.ts'
import { readBody } from '../../http/server/request-body.ts'
import type { HttpAudit } from '../../http/server/audit.ts'
import type { Site } from '../../http/server/listener.ts'
import { sendPage } from './respond.ts'
import { PAGE_SESSION_S } from './login-sessions.ts'
import type { PageSessions } from './login-sessions.ts'
import { sendError, sendStatus } from '../../http/server/response.ts'

/** What signing in is made from. */
export interface LoginParts {
  readonly access: Access
  /** Whether a request is let in, and not one too many. */
  readonly admit: Site['admit']
  readonly title: string
  /** The address of the server as clients know it, without a slash at its end. */
  readonly address: () => string
  readonly signedIn: PageSessions
  /** Is told who reads. */
  readonly audit?: Pick<HttpAudit, 'isReadBy'>
}

/** Who looks at the page. */
export interface Reader {
  /** Undefined where no token is needed and none was given. */
  readonly principal: Principal | undefined
  /** Whether a cookie stands for the token, so that there is something to sign out of. */
  readonly isSignedIn: boolean
}

/** The door of the page. Where a token is needed it is given in a form once, and a cookie stands for it then. */
export class PageLogin {
  readonly #parts: LoginParts
  constructor(parts: LoginParts) {
    this.#parts = parts
  }

  /** Who is let in; undefined for whom the request was answered with the form, or a refusal. */
  async readerOf(request: IncomingMessage, response: ServerResponse): Promise<Reader | undefined> {
    const { title, admit, audit } = this.#parts
    const decision = await admit(request, 'page')
    if (decision.principal !== undefined) audit?.isReadBy(response, decision.principal)
    if (decision.kind === 'granted') return { principal: decision.principal, isSignedIn: false }
    const reader = this.#signedInBy(request)
    // A token that was sent with the request and is wrong is told of as such, whoever is signed in.
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

  /** `/login` */
  async signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, admit, title, audit } = this.#parts
    const tried = await admit(request, 'page')
    // Not for the want of a token, which is about to be given: for one too many, or one that stands in the address.
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

  /** `/logout` */
  async signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await this.#formIn(request)
    if (!form.ok) return refuseForm(response, form)
    this.#closeThoseOf(request)
    this.#redirect(response, '; Max-Age=0')
  }

  /** What was filled in, on a page of ours. */
  async #formIn(request: IncomingMessage): Promise<Form> {
    const { headers } = request
    // Pages of any site on loopback are let through to us; a form has to be our own. A browser names the origin of each.
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
      // What is left of the body is not read, so the connection cannot be used again.
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

  /** Over https in the form that no other host can set (RFC 6265bis, 4.1.3.2). */
  get #cookieName(): string {
    return this.#isSecure ? '__Host-skillsyncd' : 'skillsyncd'
  }

  /** Whom a cookie of the request stands for, as long as it does. */
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

  /** Cookies ignore ports: whatever else runs on this host can set one of our name, and have it sent before ours. */
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
  sendError(response, status, -32000, message, { headers })
}

/** As many as a browser keeps of one host, and a multiple of what comes about by accident. */
const MOST_COOKIES = 200

/** The longest token, each character of it encoded, and its name. */
const FORM_BYTES = 25_000

function upOf({ url = '/' }: IncomingMessage): string {
  return upFrom(url.replace(/\?.*$/s, ''))
}

/** What was asked for, as it is seen from the root. */
function askedIn({ url = '/' }: IncomingMessage): string {
  return isDestination(url.slice(1)) ? url.slice(1) : ''
}

function destinationIn(fields: URLSearchParams): string {
  const to = fields.get('to') ?? ''
  return isDestination(to) ? to : ''
}

/** Whether it is a page of ours: behind `./` it leads nowhere else. */
function isDestination(to: string): boolean {
  return (
    to.length <= MOST_DESTINATION && /^(?:skills\/|sources|changes|problems|connect|\?)[\w\-./%?=&+~!*'()]*$/.test(to)
  )
}

const MOST_DESTINATION = 4_096
