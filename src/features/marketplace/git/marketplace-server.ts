import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { abortable } from '../../../base/async/abortable.ts'
import { codeOf } from '../../../base/error-code.ts'
import { Malformed } from '../../../base/malformed.ts'
import type { FeatureServer, ServerParts } from '../../../daemon/cli/feature.ts'
import { HolderTurns } from '../../../serve/http/server/holder-turns.ts'
import type { HttpRoute, ReceivedRequest, Routes } from '../../../serve/http/server/listener.ts'
import { readBody } from '../../../serve/http/server/request-body.ts'
import { sendError, sendPieces } from '../../../serve/http/server/response.ts'
import type { ShareHolderOf } from '../../../serve/http/server/share-holder.ts'
import { StreamedResponse } from '../../../serve/http/server/streamed-response.ts'
import type { Serving } from '../../../serve/mcp/core/methods.ts'
import { isOver } from '../../../serve/principal.ts'
import type { Principal } from '../../../serve/principal.ts'
import { viewOfRing } from '../../../serve/view.ts'
import type { MarketplaceSettings } from '../marketplace-config.ts'
import type { MarketplaceRevision } from '../marketplace-revision.ts'
import { Marketplaces } from '../marketplaces.ts'
import type { MarketplaceHost, MarketplaceParts, MarketplaceScope, ServedMarketplace } from '../marketplaces.ts'
import { ContentUnavailableError } from '../read-whole.ts'
import { readCommand, readUploadRequest } from './fetch-request.ts'
import type { GitCommand } from './fetch-request.ts'
import { advertisement, errorAnswer, fatal, fetchAnswer, keepAlive, packBody, refsAnswer } from './upload-pack.ts'
import type { ProtocolVersion } from './upload-pack.ts'

/** The parts of a daemon that serves the marketplace. */
export interface MarketplaceServerParts {
  readonly config: MarketplaceSettings
  readonly marketplace: Omit<MarketplaceHost, 'config'>
}

/** Serves the marketplace as a git remote. What was written for clients outlives a reload. */
export function marketplaceServer({ registry, now, onError }: ServerParts): FeatureServer<MarketplaceServerParts> {
  const marketplaces = new Marketplaces(registry)
  return {
    routesOf: ({ config, marketplace: host }) => [
      ({ serving, holderOf, nothingHere }) => {
        const { marketplace } = config.serve
        marketplaces.use(marketplace && { ...host, config: marketplace, ...servedFrom(serving), now })
        marketplaces.prepare(onError)
        return marketplace === undefined ? {} : marketplaceRoutes(marketplaces, holderOf, nothingHere)
      },
    ],
    [Symbol.asyncDispose]: async () => marketplaces[Symbol.asyncDispose](),
  }
}

function servedFrom({ registry, read, views }: Serving): Pick<MarketplaceParts, 'catalogIn' | 'read' | 'packs'> {
  return {
    catalogIn: (ring) => (views?.registryOf(viewOfRing(ring)) ?? registry).catalog,
    read,
    packs: () => views?.packs ?? [],
  }
}

/**
 * The routes of a git remote that can be cloned and fetched (gitprotocol-http, the smart protocol). `nothingHere` is
 * the message of a 404: a pack that the caller does not see is as one that does not exist.
 */
function marketplaceRoutes(marketplaces: Marketplaces, holderOf: ShareHolderOf, nothingHere: string): Routes {
  const endpoint = new GitEndpoint(marketplaces, holderOf, nothingHere)
  const route = { scope: 'marketplace', audit: 'all' } as const
  const ofAll: HttpRoute = { ...route, answer: (...asked) => endpoint.answerAll(...asked) }
  const ofPack: HttpRoute = { ...route, answer: (...asked) => endpoint.answerPack(...asked) }
  return { '/marketplace.git/**': ofAll, '/packs/**': ofPack }
}

class GitEndpoint {
  readonly #marketplaces: Marketplaces
  readonly #holderOf: ShareHolderOf
  readonly #turns = new HolderTurns()
  readonly #nothingHere: string

  constructor(marketplaces: Marketplaces, holderOf: ShareHolderOf, nothingHere: string) {
    this.#marketplaces = marketplaces
    this.#holderOf = holderOf
    this.#nothingHere = nothingHere
  }

  async answerAll(request: IncomingMessage, response: ServerResponse, { name, principal, view }: ReceivedRequest) {
    return this.#answer(request, new GitResponse(response, principal), name, { ...view, pack: undefined })
  }

  async answerPack(request: IncomingMessage, response: ServerResponse, { name, principal, view }: ReceivedRequest) {
    const [, pack = '', below = ''] = /^([^/]+)\/marketplace\.git\/(.+)$/.exec(name) ?? []
    const sent = new GitResponse(response, principal)
    if (!this.#marketplaces.hasPack(pack) || view.packs?.has(pack) === false) return sent.refuse(404, this.#nothingHere)
    return this.#answer(request, sent, below, { pack, packs: new Set([pack]), ring: view.ring })
  }

  async #answer(request: IncomingMessage, response: GitResponse, below: string, scope: MarketplaceScope) {
    const { method, url = '' } = request
    const service = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('service')
    try {
      if (method === 'GET' && below === 'info/refs' && service === SERVICE)
        return response.advertise((await this.#marketplaces.serve(scope)).revision, versionOf(request))
      if (method !== 'POST' || below !== SERVICE) return response.refuse(404, this.#nothingHere)
      const packed = await bodyOf(request)
      // The bodies of many requests at once would otherwise be in memory unpacked, faster than they are read.
      const holder = this.#holderOf(request, response.principal)
      const asked = await this.#turns.next(holder, async () => readAsked(request, await packed.bytes()))
      // The body may have taken long: what is served then counts, and whether the token is still valid.
      if (response.isOver) return response.refuse(401, 'The token is not valid')
      const now = async (): Promise<ServedMarketplace> => this.#marketplaces.serve(scope)
      const served = await now()
      if (asked.name === 'fetch') return await response.sendFetch(asked, served, now)
      return response.sendLines('result', refsAnswer(served.revision, asked))
    } catch (error) {
      if (error instanceof Malformed) return response.sendLines('result', errorAnswer(error.message))
      if (error instanceof RefusedBody) return response.refuse(error.status, error.message)
      if (!(error instanceof ContentUnavailableError)) throw error
      return response.refuse(503, error.message, { 'retry-after': '10' })
    }
  }
}

const SERVICE = 'git-upload-pack'

/** A command, with the version that it is answered in. */
type Asked = GitCommand & { readonly version: ProtocolVersion }

function readAsked(request: IncomingMessage, body: Buffer): Asked {
  const version = versionOf(request)
  if (version === 2) return { ...readCommand(body), version }
  return { name: 'fetch', fetch: readUploadRequest(body), version }
}

function versionOf({ headers }: IncomingMessage): ProtocolVersion {
  const asked = [headers['git-protocol'] ?? ''].flat().join(':').split(':')
  return asked.includes('version=2') ? 2 : 0
}

/** A body as it arrived. `bytes` unpacks it. */
interface ArrivedBody {
  readonly bytes: () => Promise<Buffer>
}

/** Reads the body, which git compresses when it is long. Throws `RefusedBody`, and so does `bytes`. */
async function bodyOf(request: IncomingMessage): Promise<ArrivedBody> {
  const chunks: Buffer[] = []
  if (!(await readBody(request, MOST_BODY, (bytes) => chunks.push(bytes)))) throw new RefusedBody(413, TOO_LARGE)
  const bytes = Buffer.concat(chunks)
  if (request.headers['content-encoding'] !== 'gzip') return { bytes: async () => bytes }
  return { bytes: async () => unpack(bytes) }
}

async function unpack(bytes: Buffer): Promise<Buffer> {
  return unzipped(bytes, { maxOutputLength: MOST_BODY }).catch((cause: unknown) => {
    const isLarge = codeOf(cause) === 'ERR_BUFFER_TOO_LARGE'
    throw isLarge ? new RefusedBody(413, TOO_LARGE) : new RefusedBody(400, 'The request cannot be unpacked')
  })
}

const unzipped = promisify(gunzip)

/** Room for 20,000 haves. A client that has more than that in common with nothing here is refused. */
const MOST_BODY = 2 ** 20

const TOO_LARGE = 'The request is too large'

class RefusedBody extends Error {
  override readonly name = 'RefusedBody'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** A response to a client of git. */
class GitResponse {
  readonly #response: ServerResponse
  readonly #principal: Principal | undefined

  constructor(response: ServerResponse, principal: Principal | undefined) {
    this.#response = response
    this.#principal = principal
  }

  get principal(): Principal | undefined {
    return this.#principal
  }

  /** True if the token of the caller has expired or was revoked. */
  get isOver(): boolean {
    return isOver(this.#principal)
  }

  refuse(status: number, message: string, headers: Readonly<Record<string, string>> = {}): void {
    sendError(this.#response, { status, code: -32000, message, headers })
  }

  advertise(revision: MarketplaceRevision, version: ProtocolVersion): void {
    this.sendLines('advertisement', advertisement(revision, version))
  }

  sendLines(kind: 'advertisement' | 'result', lines: readonly Buffer[]): void {
    sendPieces(this.#response, { status: 200, headers: this.#headers(kind), pieces: lines })
  }

  /** `now` returns the marketplace of that moment: a pack that took long to write may be outdated by then. */
  async sendFetch(
    { fetch, version }: Extract<Asked, { readonly name: 'fetch' }>,
    served: ServedMarketplace,
    now: () => Promise<ServedMarketplace>,
  ): Promise<void> {
    const { head, send } = fetchAnswer(served, fetch, version)
    if (send === undefined) return this.sendLines('result', head)
    const streamed = new StreamedResponse(this.#response, this.#headers('result'))
    await streamed.write(Buffer.concat(head))
    const opening = served.open()
    const checked = opening.then(async () => this.#expectCurrent(served, await now()))
    try {
      await waitFor(checked, fetch.hasSideBand, streamed)
    } catch (error) {
      // The writing goes on for others.
      opening.then((late) => late[Symbol.asyncDispose]()).catch(() => {})
      if (!(error instanceof ContentUnavailableError) || !fetch.hasSideBand) return this.#cut(error)
      await streamed.write(fatal(`${error.message}; try again`))
      return streamed.end()
    }
    await using open = await opening
    streamed.watch()
    for await (const bytes of packBody(open, send, fetch.hasSideBand)) await streamed.write(bytes)
    streamed.end()
  }

  #expectCurrent({ revision }: ServedMarketplace, { revision: current }: ServedMarketplace): void {
    if (revision.tip !== current.tip) throw new ContentUnavailableError('The marketplace has changed')
    if (this.isOver) throw new ContentUnavailableError('The token is no longer valid')
  }

  /** Without the side band, only a closed connection shows that the pack will not come. */
  #cut(error: unknown): void {
    if (!(error instanceof ContentUnavailableError)) throw error
    this.#response.destroy()
  }

  #headers(kind: 'advertisement' | 'result'): Readonly<Record<string, string>> {
    return {
      'content-type': `application/x-${SERVICE}-${kind}`,
      // A response that depends on the caller must not be cached for others.
      'cache-control': this.#principal === undefined ? 'no-cache' : 'private, no-cache',
    }
  }
}

/** Waits for the pack. Frames without content show the client meanwhile that the server still works. */
async function waitFor(opening: Promise<unknown>, hasSideBand: boolean, streamed: StreamedResponse): Promise<void> {
  const beat = (): void => void streamed.write(keepAlive()).catch(() => {})
  const timer = hasSideBand ? setInterval(beat, KEEP_ALIVE_MS) : undefined
  try {
    await abortable(opening, streamed.gone)
  } finally {
    clearInterval(timer)
  }
}

/** As often as git does by default (`uploadpack.keepAlive`). */
const KEEP_ALIVE_MS = 5_000
