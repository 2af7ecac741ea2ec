import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { abortable } from '../../../base/abortable.ts'
import type { Marketplaces, MarketplaceView, ServedMarketplace } from '../../marketplace/marketplaces.ts'
import { ContentUnavailable } from '../../marketplace/read-whole.ts'
import type { Principal } from '../../principal.ts'
import type { HttpRoute, ReceivedRequest, Routes } from '../server/listener.ts'
import { readBody } from '../server/request-body.ts'
import { sendError, sendPieces } from '../server/response.ts'
import { StreamedResponse } from '../server/streamed-response.ts'
import { BadRequest, readCommand, readUploadRequest } from './fetch-request.ts'
import type { FetchRequest } from './fetch-request.ts'
import { advertisement, fatal, fetchAnswer, keepAlive, packBody, refsAnswer, errorAnswer } from './upload-pack.ts'
import type { ProtocolVersion } from './upload-pack.ts'

/**
 * The routes of a git remote that can be cloned and fetched (gitprotocol-http, the smart protocol). `nothingHere` is
 * the message of a 404: a pack that the caller does not see is as one that does not exist.
 */
export function marketplaceRoutes(marketplaces: Marketplaces, nothingHere: string): Routes {
  const endpoint = new GitEndpoint(marketplaces, nothingHere)
  const route = { scope: 'marketplace', audit: 'all' } as const
  const ofAll: HttpRoute = { ...route, answer: (...asked) => endpoint.answerAll(...asked) }
  const ofPack: HttpRoute = { ...route, answer: (...asked) => endpoint.answerPack(...asked) }
  return { '/marketplace.git/**': ofAll, '/packs/**': ofPack }
}

class GitEndpoint {
  readonly #marketplaces: Marketplaces
  readonly #nothingHere: string

  constructor(marketplaces: Marketplaces, nothingHere: string) {
    this.#marketplaces = marketplaces
    this.#nothingHere = nothingHere
  }

  async answerAll(request: IncomingMessage, response: ServerResponse, { name, principal }: ReceivedRequest) {
    const { name: marketplace } = this.#marketplaces.config
    return this.#answer(request, response, name, { name: marketplace, visible: principal?.packs })
  }

  async answerPack(request: IncomingMessage, response: ServerResponse, { name, principal }: ReceivedRequest) {
    const [, pack = '', below = ''] = /^([^/]+)\/marketplace\.git\/(.+)$/.exec(name) ?? []
    if (!this.#sees(principal, pack)) return this.#sendNothing(response)
    const marketplace = `${this.#marketplaces.config.name}-${pack}`
    return this.#answer(request, response, below, { name: marketplace, visible: new Set([pack]) })
  }

  #sees(principal: Principal | undefined, pack: string): boolean {
    return this.#marketplaces.hasPack(pack) && principal?.packs?.has(pack) !== false
  }

  #sendNothing(response: ServerResponse): void {
    sendError(response, { status: 404, code: -32000, message: this.#nothingHere })
  }

  async #answer(request: IncomingMessage, response: ServerResponse, below: string, view: MarketplaceView) {
    const { method, url = '' } = request
    const isUpload = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('service') === SERVICE
    const asked = `${method} ${below}`
    if (asked === 'GET info/refs' && isUpload) return this.#serving(response, view, this.#advertise(request, response))
    if (asked === `POST ${SERVICE}`) return this.#serving(response, view, this.#upload(request, response))
    return this.#sendNothing(response)
  }

  async #serving(response: ServerResponse, view: MarketplaceView, answer: Answer): Promise<void> {
    try {
      await answer(await this.#marketplaces.serve(view))
    } catch (error) {
      if (!(error instanceof ContentUnavailable) || response.headersSent) throw error
      const headers = { 'retry-after': '5' }
      sendError(response, { status: 503, code: -32603, message: error.message, headers })
    }
  }

  #advertise(request: IncomingMessage, response: ServerResponse): Answer {
    return async ({ revision }) => sendLines(response, 'advertisement', advertisement(revision, versionOf(request)))
  }

  #upload(request: IncomingMessage, response: ServerResponse): Answer {
    return async (served) => {
      const body = await bodyOf(request)
      if (body === undefined)
        return sendError(response, { status: 413, code: -32000, message: 'The request is too large, or is not whole' })
      try {
        await answerUpload(body, versionOf(request), served, response)
      } catch (error) {
        if (!(error instanceof BadRequest)) throw error
        sendLines(response, 'result', errorAnswer(error.message))
      }
    }
  }
}

type Answer = (served: ServedMarketplace) => Promise<void>

const SERVICE = 'git-upload-pack'

async function answerUpload(
  body: Buffer,
  version: ProtocolVersion,
  served: ServedMarketplace,
  response: ServerResponse,
): Promise<void> {
  if (version === 0) return sendFetch(readUploadRequest(body), version, served, response)
  const command = readCommand(body)
  if (command.name === 'fetch') return sendFetch(command.fetch, version, served, response)
  sendLines(response, 'result', refsAnswer(served.revision, command))
}

async function sendFetch(
  fetch: FetchRequest,
  version: ProtocolVersion,
  { revision, packs }: ServedMarketplace,
  response: ServerResponse,
): Promise<void> {
  const { head, send } = fetchAnswer(revision, packs, fetch, version)
  if (send === undefined) return sendLines(response, 'result', head)
  const streamed = new StreamedResponse(response, headersOf('result'))
  await streamed.write(Buffer.concat(head))
  const opening = packs.open(revision)
  try {
    await waitFor(opening, fetch.hasSideBand, streamed)
  } catch (error) {
    // The writing goes on for others.
    opening.then((late) => late[Symbol.asyncDispose]()).catch(() => {})
    if (!(error instanceof ContentUnavailable) || !fetch.hasSideBand) throw error
    await streamed.write(fatal(`${error.message}; try again`))
    return streamed.end()
  }
  await using open = await opening
  streamed.watch()
  for await (const bytes of packBody(open, send, fetch.hasSideBand)) await streamed.write(bytes)
  streamed.end()
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

function sendLines(response: ServerResponse, kind: 'advertisement' | 'result', lines: readonly Buffer[]): void {
  sendPieces(response, { status: 200, headers: headersOf(kind), pieces: lines })
}

function headersOf(kind: 'advertisement' | 'result'): Readonly<Record<string, string>> {
  return { 'content-type': `application/x-${SERVICE}-${kind}`, 'cache-control': 'no-cache' }
}

function versionOf({ headers }: IncomingMessage): ProtocolVersion {
  const asked = [headers['git-protocol'] ?? ''].flat().join(':').split(':')
  return asked.includes('version=2') ? 2 : 0
}

/** Reads the body, which git compresses when it is long. `undefined` if it is too large or cannot be unpacked. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  if (!(await readBody(request, MOST_BODY, (bytes) => chunks.push(bytes)))) return undefined
  const bytes = Buffer.concat(chunks)
  if (request.headers['content-encoding'] !== 'gzip') return bytes
  return unzipped(bytes, { maxOutputLength: MOST_BODY }).catch(() => undefined)
}

const unzipped = promisify(gunzip)

/** Room for 20,000 haves: git sends 16,384 at most in one request. */
const MOST_BODY = 2 ** 20
