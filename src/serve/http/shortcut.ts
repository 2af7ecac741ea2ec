import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { SUPPORTED_PROTOCOL_VERSIONS, classifyInboundRequest } from '@modelcontextprotocol/server'
import type { Answers } from '../mcp/answers.ts'
import type { Era } from '../mcp/caller.ts'
import { MODERN_REVISION } from '../mcp/core.ts'
import type { Params } from '../mcp/params.ts'
import { SESSION_HEADER } from './mcp-legacy.ts'
import { sendJsonText } from './send.ts'
import type { Sessions } from './sessions.ts'

/**
 * The way past the core for a plain request whose answer is text already. Plain is one of which all that the core would look
 * at is seen at a glance; each other one, and each that is to be refused, takes the way through the core.
 */
export class Shortcut {
  readonly #answers: Answers
  readonly #sessions: Sessions
  readonly #envelopes = new Envelopes()

  constructor(answers: Answers, sessions: Sessions) {
    this.#answers = answers
    this.#sessions = sessions
  }

  /** Whether the request was answered; nothing was done if not. */
  async answer(body: unknown, { headers }: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const plain = plainRequestOf(body)
    if (plain === undefined) return false
    const era = this.#eraOf(plain, headers)
    if (era === undefined) return false
    const result = await this.#answers.resultOf(plain.method, plain.params, era)
    if (result === undefined) return false
    const pieces = ['{"result":', ...result, `,"jsonrpc":"2.0","id":${JSON.stringify(plain.id)}}`]
    sendJsonText(
      response,
      200,
      Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))),
    )
    return true
  }

  /** The era of a request that its wire has no fault to find with. */
  #eraOf({ method, params, meta }: PlainRequest, headers: IncomingHttpHeaders): Era | undefined {
    const revision = headers['mcp-protocol-version']
    if (meta === undefined) {
      const isKnown =
        revision === undefined || (typeof revision === 'string' && SUPPORTED_PROTOCOL_VERSIONS.includes(revision))
      const session = headers[SESSION_HEADER]
      return isKnown && typeof session === 'string' && this.#sessions.find(session) !== undefined ? 'legacy' : undefined
    }
    if (revision !== MODERN_REVISION || headers['mcp-method'] !== method) return undefined
    if (method === 'resources/read' && headers['mcp-name'] !== params['uri']) return undefined
    return this.#envelopes.isValid(meta) ? 'modern' : undefined
  }
}

interface PlainRequest {
  readonly id: string | number
  readonly method: string
  /** Without `_meta`. */
  readonly params: Params
  readonly meta: object | undefined
}

/** Which params each method has, all of them optional here. */
const PARAMS: ReadonlyMap<unknown, string> = new Map([
  ['resources/read', 'uri'],
  ['skills/get', 'uri'],
  ['skills/list', 'cursor'],
])

/** A request that has nothing but what such a request has. */
function plainRequestOf(body: unknown): PlainRequest | undefined {
  if (!isObject(body)) return undefined
  const { jsonrpc, id, method, params = {}, ...more } = body
  const param = PARAMS.get(method)
  if (param === undefined || typeof method !== 'string' || jsonrpc !== '2.0' || !isEmpty(more)) return undefined
  if (typeof id !== 'string' && !(typeof id === 'number' && Number.isSafeInteger(id))) return undefined
  if (!isObject(params)) return undefined
  const { _meta: meta, ...own } = params
  if (meta !== undefined && !isObject(meta)) return undefined
  for (const name of Object.keys(own)) if (name !== param) return undefined
  return { id, method, params: own, meta }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0
}

/** Most clients repeat theirs in each request, to the letter; more of them than this are looked at again. */
const MAX_ENVELOPES = 1_000
const MAX_ENVELOPE_LENGTH = 2_048

/** The `_meta` of requests of the modern era that were found valid. To look at one takes as long as to answer. */
class Envelopes {
  readonly #valid = new Set<string>()

  isValid(meta: object): boolean {
    const text = JSON.stringify(meta)
    if (this.#valid.has(text)) return true
    if (text.length > MAX_ENVELOPE_LENGTH || !isEnvelope(meta)) return false
    const [oldest] = this.#valid
    if (this.#valid.size >= MAX_ENVELOPES && oldest !== undefined) this.#valid.delete(oldest)
    this.#valid.add(text)
    return true
  }
}

function isEnvelope(meta: object): boolean {
  const body = { jsonrpc: '2.0', id: 0, method: 'skills/list', params: { _meta: meta } }
  const route = classifyInboundRequest({ httpMethod: 'POST', body })
  return route.kind === 'modern' && route.classification.revision === MODERN_REVISION
}
