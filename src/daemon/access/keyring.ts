import type { Clock } from '../../base/async/clock.ts'
import { bareHost } from '../../base/host-name.ts'
import type { GitHost } from '../../sync/git/objects/git-host.ts'
import { CredentialRefused } from '../../sync/model/sync-error.ts'
import { PLAIN_WAY } from '../../sync/upstream/http/host-access.ts'
import type { HostRoute, HostAccess } from '../../sync/upstream/http/host-access.ts'
import { BlankSecretError, basicOf, headersOf, TOKEN_USERNAME } from '../config/auth.ts'
import type { CredentialHelper } from '../config/auth.ts'
import type { ReachedHost } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { readAuthorities } from './ca-file.ts'
import { askHelper, notifyHelper } from './credential-helper.ts'
import type { HelperAnswer } from './credential-helper.ts'
import { GithubAppTokens } from './github-app-tokens.ts'
import type { HostNames } from './host-names.ts'
import { proxyTo } from './proxy.ts'

/** The end of the use of a host, such as the outcome of a pull: `failed`, with the error, or another kind. */
export interface HostUseEnd {
  readonly kind: string
  readonly error?: unknown
}

/** An answer of a helper, and the id of the source or the publication whose host it was sent to. */
interface HelperUse {
  readonly answer: HelperAnswer
  readonly url: URL
  readonly id: string
}

export interface KeyringOptions {
  readonly environment: Environment
  /** Receives every secret that is read, before it is used. */
  readonly redactor: Redactor
  readonly clock: Clock
  /** `undefined` if each connection resolves names by itself. */
  readonly names: Pick<HostNames, 'addressesOf'> | undefined
  /** The maximum time of a fetch. */
  readonly fetchMs: number
}

/** The credentials of all pulls, or of all publications. It reads secrets at each use, and keeps temporary tokens in memory. */
export class Keyring {
  readonly #options: KeyringOptions
  readonly #appTokens: GithubAppTokens
  /** The answers of helpers for the running pulls. */
  readonly #answers = new Map<string, HelperAnswer>()
  /**
   * The headers that were last sent to each address with each access, and the pull that reused them when the secret was
   * blank.
   */
  readonly #sent = new Map<string, { readonly headers: HostAccess['headers']; readonly blankIn?: symbol }>()
  /** The credentials that helpers were notified to store, so that they are not notified again. */
  readonly #stored = new Map<string, string>()

  constructor(options: KeyringOptions) {
    this.#options = options
    this.#appTokens = new GithubAppTokens(options)
  }

  /** The access of one pull to its host. A helper runs once for the whole pull, as in git. */
  wayTo(configured: ReachedHost): GitHost['way'] {
    const url = URL.parse(configured.source.url)
    if (url === null || !/^https?:$/.test(url.protocol)) return async () => PLAIN_WAY
    this.#answers.delete(configured.source.id)
    const pull = Symbol(configured.source.id)
    return async (signal) => ({
      route: await this.#routeTo(url, configured, signal),
      headers: await this.#headersOrLast(pull, configured, () => this.#headersFor(url, configured, signal)),
    })
  }

  /** A blank secret may be in the middle of a write: one pull reuses the headers that were sent before. */
  async #headersOrLast(
    pull: symbol,
    { source, access }: ReachedHost,
    read: () => Promise<HostAccess['headers']>,
  ): Promise<HostAccess['headers']> {
    // Headers are never sent to an address that did not receive them before.
    const key = JSON.stringify([source.url, access])
    try {
      const headers = await read()
      if (access.kind !== 'helper' && access.kind !== 'github-app') this.#sent.set(key, { headers })
      return headers
    } catch (error) {
      const sent = this.#sent.get(key)
      const isFirst = sent !== undefined && (sent.blankIn ?? pull) === pull
      if (!(error instanceof BlankSecretError) || !isFirst) throw error
      this.#sent.set(key, { headers: sent.headers, blankIn: pull })
      return sent.headers
    }
  }

  /** Processes the end of a pull: a refused credential is not used again, and an accepted one may be stored. */
  async heard({ source, access }: ReachedHost, outcome: HostUseEnd, signal: AbortSignal): Promise<void> {
    const isRefused = outcome.kind === 'failed' && outcome.error instanceof CredentialRefused
    if (isRefused && access.kind === 'github-app') this.#appTokens.forget(access)
    const answer = this.#answers.get(source.id)
    this.#answers.delete(source.id)
    if (access.kind !== 'helper' || answer === undefined) return
    const url = new URL(source.url)
    if (isRefused) await this.#erase(access, { answer, url, id: source.id }, signal)
    else if (outcome.kind !== 'failed') await this.#store(access, { answer, url, id: source.id }, signal)
  }

  async #headersFor(url: URL, configured: ReachedHost, signal: AbortSignal): Promise<HostAccess['headers']> {
    const { environment, redactor } = this.#options
    const { access, source } = configured
    switch (access.kind) {
      case 'github-app': {
        const route = await this.#routeTo(new URL(access.apiUrl), configured, signal)
        const token = await this.#appTokens.tokenFor(access, route, signal)
        return { authorization: basicOf(TOKEN_USERNAME, token, redactor) }
      }
      case 'helper': {
        const answer = this.#answers.get(source.id) ?? (await askHelper(access, this.#asking(url, signal)))
        this.#answers.set(source.id, answer)
        return answer.headers
      }
      // Over ssh, the git program authenticates.
      case 'ssh':
        return {}
      case 'none':
      case 'basic':
      case 'bearer':
      case 'header':
        return headersOf(access, environment, redactor)
      default:
        return access satisfies never
    }
  }

  async #routeTo(url: URL, configured: ReachedHost, signal: AbortSignal): Promise<HostRoute> {
    const { environment, redactor, names } = this.#options
    const { ca } = configured
    const proxy = await proxyTo(url, configured.proxy, environment, redactor)
    // The git program resolves names in its own process.
    const isOurs = configured.source.kind !== 'git' || configured.source.backend !== 'system'
    const host = bareHost(proxy === undefined ? url : new URL(proxy.url))
    const known = names && isOurs ? { host, addresses: await names.addressesOf(host, signal) } : undefined
    return { ca: ca === undefined ? undefined : await readAuthorities(ca), proxy, ...(known && { known }) }
  }

  async #erase(helper: CredentialHelper, { answer, url, id }: HelperUse, signal: AbortSignal) {
    this.#stored.delete(id)
    await notifyHelper(helper, 'erase', answer, this.#asking(url, signal))
  }

  async #store(helper: CredentialHelper, { answer, url, id }: HelperUse, signal: AbortSignal) {
    const told = answer.description.join('\n')
    if (answer.isEphemeral || this.#stored.get(id) === told) return
    await notifyHelper(helper, 'store', answer, this.#asking(url, signal))
    this.#stored.set(id, told)
  }

  #asking(url: URL, signal: AbortSignal) {
    const { environment, redactor, clock } = this.#options
    return { url, environment, redactor, now: clock.now(), signal }
  }
}
