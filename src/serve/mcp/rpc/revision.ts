import { isObject } from '../../../base/json-object.ts'
import type { Caller } from './caller.ts'
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from './rpc-error.ts'

/** The revision of a client that names none (2025-11-25, transports: protocol version header). */
const ASSUMED = '2025-03-26'

/**
 * Returns the revision whose forms a session receives: the older of the negotiated revision and that of the header of
 * the request, because a proxy between the two may have changed either. Revisions are dates.
 */
export function servedRevision(negotiated: string | undefined, header: string | string[] | undefined): string {
  const known = [negotiated, header].filter((revision) => typeof revision === 'string')
  return known.toSorted()[0] ?? ASSUMED
}

/** Returns the revision that a response to `initialize` negotiates. */
export function negotiatedIn(message: object): string | undefined {
  const result = 'result' in message ? message.result : undefined
  const revision = isObject(result) ? result['protocolVersion'] : undefined
  return typeof revision === 'string' ? revision : undefined
}

/**
 * Returns the response in the forms of the caller's revision: the results are made for the newest one, and a client may
 * refuse a whole result for one form that it does not know.
 */
export function inRevision<Message extends object>(
  message: Message,
  { era, revision: known }: Pick<Caller, 'era' | 'revision'>,
  method: string,
): Message {
  if (era === 'modern') return message
  if ('error' in message) return { ...message, error: withLegacyCode(message.error, method) }
  const revision = method === 'initialize' ? negotiatedIn(message) : known
  if (revision === undefined || revision >= '2025-11-25' || !('result' in message)) return message
  return isObject(message.result) ? { ...message, result: olderResult(message.result, method, revision) } : message
}

/**
 * Sets the error code of an unknown resource. The SDK uses the code of the newest revision in both eras, but revisions
 * up to 2025-11-25 require -32002. Only this error of these methods has the URI in its data.
 */
function withLegacyCode(error: unknown, method: string): unknown {
  if (!OF_RESOURCES.has(method) || !isObject(error) || error['code'] !== INVALID_PARAMS) return error
  return isObject(error['data']) && 'uri' in error['data'] ? { ...error, code: RESOURCE_NOT_FOUND } : error
}

const OF_RESOURCES: ReadonlySet<string> = new Set(['resources/read', 'resources/subscribe'])

/** Returns a result without the forms that came after the revision. */
function olderResult(result: Result, method: string, revision: string): Result {
  const list = LISTS[method]
  if (list !== undefined)
    return { ...result, [list]: itemsOf(result[list]).map((item) => olderItem(item, list, revision)) }
  if (method === 'initialize' && revision < '2025-03-26')
    return { ...result, capabilities: without(result['capabilities'], ['completions']) }
  if (method !== 'tools/call' || revision >= '2025-06-18') return result
  return { ...withoutFields(result, ['structuredContent']), content: itemsOf(result['content']).filter(isOlderBlock) }
}

/** The lists of the methods that list things. */
const LISTS: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}

function olderItem(item: unknown, list: string, revision: string): unknown {
  return without(item, [
    ...(revision < '2025-11-25' ? ['icons'] : []),
    ...(revision < '2025-06-18' ? ['title', 'outputSchema', '_meta'] : []),
    // Resources had other annotations before.
    ...(revision < '2025-03-26' && list === 'tools' ? ['annotations'] : []),
  ])
}

type Result = Readonly<Record<string, unknown>>

/** The text of an answer names each file that a link leads to. */
function isOlderBlock(block: unknown): boolean {
  return !isObject(block) || block['type'] !== 'resource_link'
}

function itemsOf(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list : []
}

function without(value: unknown, newer: readonly string[]): unknown {
  return isObject(value) ? withoutFields(value, newer) : value
}

function withoutFields(value: Result, newer: readonly string[]): Result {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !newer.includes(name)))
}
