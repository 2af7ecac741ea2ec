import { ask } from '../../serve/http/ask.ts'
import type { Answer, Asking } from '../../serve/http/ask.ts'

/** A client with a cookie jar before one server: it asks at `origin`, and names `address`, which a proxy would pass on. */
export class Visitor {
  /** The server that the next requests go to; there may be several behind the address. */
  origin: string
  readonly #address: URL
  /** The cookies by name. Tests take some away, or put others in their place. */
  readonly cookies = new Map<string, string>()
  /** The names of those that a browser withholds from a navigation that another site began. */
  readonly #strict = new Set<string>()

  constructor(origin: string, address: string = origin) {
    this.origin = origin
    this.#address = new URL(address)
  }

  /** Asks for a path, and keeps the cookies of the answer. To the end of a sign-in, the authorization server leads. */
  async open(path: string, asking: Asking = {}): Promise<Answer> {
    const isFromOtherSite = path.replace(/\?.*$/s, '').endsWith('/login/callback')
    const sent = [...this.cookies].filter(([name]) => !isFromOtherSite || !this.#strict.has(name))
    const cookie = sent.map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { host: this.#address.host, ...(cookie !== '' && { cookie }), ...asking.headers }
    const answer = await ask(this.origin, path, { ...asking, headers })
    for (const text of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      if (/; Max-Age=0(?:;|$)/.test(text)) this.cookies.delete(name)
      else this.cookies.set(name, value)
      if (/; SameSite=Strict(?:;|$)/.test(text)) this.#strict.add(name)
    }
    return answer
  }

  /** Sends a form of the page itself. */
  async send(path: string, fields: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: this.#address.origin }
    return this.open(path, { method: 'POST', headers, body: new URLSearchParams(fields).toString() })
  }

  /** Begins a sign-in, and has the authorization server send the person back: the address that the browser would open. */
  async approve(start = '/login/start'): Promise<string> {
    const { headers } = await this.open(start)
    const answer = await fetch(headers.location ?? '', { method: 'POST', redirect: 'manual' })
    const back = new URL(answer.headers.get('location') ?? '')
    if (back.origin !== this.#address.origin) throw new Error(`The browser is sent to ${back.origin}`)
    return back.pathname + back.search
  }

  /** Signs in to the end. */
  async signIn(start?: string): Promise<Answer> {
    return this.open(await this.approve(start))
  }
}
