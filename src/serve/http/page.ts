import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Catalog } from '../../sync/model/catalog.ts'
import type { Principal } from '../principal.ts'
import type { Registry } from '../registry.ts'
import type { Access } from './access.ts'
import type { HttpAudit } from './http-audit.ts'
import { readBody } from './body.ts'
import type { Site } from './listener.ts'
import { PAGE_POLICY, catalogPage, loginPage, signedIn } from './page-html.ts'
import { PAGE_SESSION_S, PageSessions } from './page-sessions.ts'
import { sendError, sendPieces, sendStatus } from './send.ts'

/** What the page is made from. */
export interface PageParts {
  readonly registry: Registry
  readonly access: Access
  /** Whether a request is let in, and not one too many. */
  readonly admit: Site['admit']
  readonly title: string
  readonly hasInstaller: boolean
  /** The address of the server as clients know it, without a slash at its end. */
  readonly address: () => string
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  /** Is told who reads. */
  readonly audit?: Pick<HttpAudit, 'isReadBy'>
}

/** The catalog for people, at `/`. Where a token is needed it is given in a form once, and a cookie stands for it then. */
export class Page {
  readonly #parts: PageParts
  readonly #sessions: PageSessions
  #drawn: Drawn | undefined

  constructor(parts: PageParts) {
    this.#parts = parts
    this.#sessions = new PageSessions(parts.now)
  }

  /** `/` */
  async show(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { title, admit, audit } = this.#parts
    const decision = await admit(request, 'page')
    if (decision.principal !== undefined) audit?.isReadBy(response, decision.principal)
    if (decision.kind === 'granted') return this.#sendCatalog(response, undefined)
    const reader = this.#readerOf(request)
    // A token that was sent with the request and is wrong is told of as such, whoever is signed in.
    const isAsked = request.headers.authorization === undefined && decision.status === 401
    if (isAsked && reader !== undefined) {
      audit?.isReadBy(response, reader)
      return this.#sendCatalog(response, reader)
    }
    if (isAsked) return sendPage(response, 401, loginPage(title, false), decision.headers)
    sendError(response, decision.status, -32000, decision.message, { headers: decision.headers })
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
    if (decision.kind === 'denied') return sendPage(response, 401, loginPage(title, true))
    this.#closeThoseOf(request)
    const { principal } = decision
    const id = principal && this.#sessions.open(principal)
    this.#redirect(response, id === undefined ? undefined : `${id}; Max-Age=${PAGE_SESSION_S}`)
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

  #sendCatalog(response: ServerResponse, reader: Principal | undefined): void {
    const { top, bottom } = this.#catalogPage()
    const own = Buffer.from(reader === undefined ? '' : signedIn(reader.id))
    sendPieces(response, 200, PAGE_HEAD, [top, own, bottom], own.length)
  }

  #catalogPage(): Drawn {
    const { registry, title, hasInstaller, address } = this.#parts
    const { catalog } = registry
    if (this.#drawn?.catalog === catalog) return this.#drawn
    const { top, bottom } = catalogPage(catalog, { title, hasInstaller, address: address() })
    this.#drawn = { catalog, top: Buffer.from(top), bottom: Buffer.from(bottom) }
    return this.#drawn
  }

  #redirect(response: ServerResponse, cookie: string | undefined): void {
    const attributes = `Path=/; HttpOnly; SameSite=Strict${this.#isSecure ? '; Secure' : ''}`
    const header = cookie === undefined ? {} : { 'set-cookie': `${this.#cookieName}=${cookie}; ${attributes}` }
    sendStatus(response, 303, { location: './', 'cache-control': 'no-store', 'content-length': '0', ...header })
  }

  get #isSecure(): boolean {
    return this.#parts.address().startsWith('https:')
  }

  /** Over https in the form that no other host can set (RFC 6265bis, 4.1.3.2). */
  get #cookieName(): string {
    return this.#isSecure ? '__Host-skillsyncd' : 'skillsyncd'
  }

  #readerOf(request: IncomingMessage): Principal | undefined {
    for (const id of this.#sessionIdsIn(request)) {
      const reader = this.#sessions.find(id)
      if (reader !== undefined) return reader
    }
    return undefined
  }

  #closeThoseOf(request: IncomingMessage): void {
    for (const id of this.#sessionIdsIn(request)) this.#sessions.close(id)
  }

  /** Cookies ignore ports: whatever else runs on this host can set one of our name, and have it sent before ours. */
  #sessionIdsIn({ headers }: IncomingMessage): string[] {
    const name = `${this.#cookieName}=`
    const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim())
    const own = cookies.filter((cookie) => cookie.startsWith(name))
    return own.slice(0, MOST_COOKIES).map((cookie) => cookie.slice(name.length))
  }
}

/** The page of one catalog, which is the same bytes for all who look at it. */
interface Drawn {
  readonly catalog: Catalog
  readonly top: Buffer
  readonly bottom: Buffer
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

function sendPage(
  response: ServerResponse,
  status: number,
  text: string,
  more: Readonly<Record<string, string>> = {},
): void {
  sendPieces(response, status, { ...PAGE_HEAD, ...more }, [Buffer.from(text)])
}

const PAGE_HEAD = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With none at all a browser would send the form without its origin.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
}
