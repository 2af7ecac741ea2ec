import type { IncomingMessage } from 'node:http'

/** `session`: the reader is signed in. `pending`: the browser began a sign-in with the authorization server. */
export type PageCookie = 'session' | 'pending'

/** The cookies of the page. Scripts cannot read them, and over https only the browser's own host can set them. */
export class PageCookies {
  readonly #address: () => string

  /** `address`: the URL of the server that clients use. */
  constructor(address: () => string) {
    this.#address = address
  }

  /** The header that sets a cookie for some seconds; zero removes it. */
  headerOf(cookie: PageCookie, value: string, seconds: number): string {
    const attributes = `Path=/; HttpOnly; SameSite=${SAME_SITE[cookie]}${this.#isSecure ? '; Secure' : ''}`
    return `${this.#nameOf(cookie)}=${value}; Max-Age=${seconds}; ${attributes}`
  }

  /**
   * Returns all values of a cookie. Cookies ignore ports: any other server on this host can set one with our name, and
   * the browser may send it before ours.
   */
  valuesIn({ headers }: IncomingMessage, cookie: PageCookie): string[] {
    const name = `${this.#nameOf(cookie)}=`
    const cookies = (headers.cookie ?? '').split(';').map((text) => text.trim())
    const own = cookies.filter((text) => text.startsWith(name))
    return own.slice(0, MOST_COOKIES).map((text) => text.slice(name.length))
  }

  get #isSecure(): boolean {
    return this.#address().startsWith('https:')
  }

  /** Over https, the name has the prefix that no other host can set (RFC 6265bis, section 4.1.3.2). */
  #nameOf(cookie: PageCookie): string {
    return `${this.#isSecure ? '__Host-' : ''}${NAMES[cookie]}`
  }
}

const NAMES: Readonly<Record<PageCookie, string>> = { session: 'skillsyncd', pending: 'skillsyncd-sign-in' }

/** The authorization server sends the browser back from another site, with which a strict cookie would not come. */
const SAME_SITE: Readonly<Record<PageCookie, string>> = { session: 'Strict', pending: 'Lax' }

/** The number of cookies that a browser stores for one host, and far more than occur by accident. */
const MOST_COOKIES = 200
