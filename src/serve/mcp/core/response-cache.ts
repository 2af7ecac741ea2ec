import { runInSlices } from '../../../base/async/cooperative.ts'
import type { Steps } from '../../../base/async/cooperative.ts'
import type { CatalogFile } from '../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { declarationOf } from '../../../sync/model/decisions/approvals.ts'
import { contentOf, inTurn, isUnread, unreadReason } from '../../content.ts'
import { describeFile } from '../resources/files/file-entry.ts'
import type { LargeText } from '../resources/resource-family.ts'
import { getSkill, listSkills } from '../resources/skills.ts'
import type { CacheHint, Caller } from '../rpc/caller.ts'
import { SERVER_META } from '../rpc/listen-result.ts'
import type { Params } from '../rpc/params.ts'
import { INTERNAL_ERROR, RpcError } from '../rpc/rpc-error.ts'
import { TextCache } from '../rpc/text-cache.ts'
import { readingFor } from '../rpc/trace.ts'
import type { Serving } from './methods.ts'

/** The most frequent responses are cached as text: file contents, and entries of skills. */
const CONTENT_BYTES = 64 * 2 ** 20
const LISTING_BYTES = 32 * 2 ** 20

/**
 * Creates the content cache of all views. Its keys contain the digest, because equal digests mean equal bytes in each
 * catalog. It only holds verified content.
 */
export function contentCache(): TextCache {
  return new TextCache(CONTENT_BYTES)
}

/** A larger file costs more to send than to serialize. */
const MAX_CONTENT_BYTES = 2 ** 20

/** The `result` of a response as JSON, in pieces. */
type ResultText = readonly Uint8Array[]

/** A response as JSON, in pieces. Its result exists only as text, so `result` is `undefined`. */
export interface TextAnswer {
  readonly result: undefined
  readonly text: readonly Uint8Array[]
}

/** Returns the response to a request as the core would serialize it with this result. */
export function textAnswer(id: string | number, result: ResultText): TextAnswer {
  return {
    result: undefined,
    text: [BEGINNING, ...result, Buffer.from(`,"jsonrpc":"2.0","id":${JSON.stringify(id)}}`)],
  }
}

const BEGINNING = Buffer.from('{"result":')

/** True if the request uses only parameters that need no core. */
export function isPlainlyAsked(method: string, params: Params): boolean {
  return Object.hasOwn(PARAMS, method) && Object.keys(params).every((name) => name === PARAMS[method])
}

/** The methods answered from text, and the one parameter that each may have. */
const PARAMS: Readonly<Record<string, string>> = {
  'resources/read': 'uri',
  'skills/get': 'uri',
  'skills/list': 'cursor',
}

/**
 * Serializes results once for all clients, because a change makes all subscribers read at the same moment. The bytes
 * equal those of the core. Everything else is left to the core: refusals, other spellings of a URI, and additions of
 * surfaces.
 */
export class ResponseCache {
  readonly #serving: Serving
  /** A result that depends on the caller must not be cached for others. */
  readonly #endings: { readonly legacy: Endings; readonly modern: Endings; readonly modernPrivate: Endings }
  readonly #contents: TextCache
  #listings: Listings

  constructor(serving: Serving, contents = contentCache()) {
    this.#serving = serving
    this.#contents = contents
    this.#endings = {
      legacy: endings('', ''),
      modern: modernEndings(serving.cache),
      modernPrivate: modernEndings({ ...serving.cache, cacheScope: 'private' }),
    }
    this.#listings = listingsOf(serving.registry.catalog)
  }

  /**
   * Returns the result; `undefined` if the core must handle the request. Throws an `RpcError` for a refusal whose file
   * may be gone when the core looks it up.
   */
  async resultOf(method: string, params: Params, caller: Caller): Promise<ResultText | undefined> {
    const { catalog } = this.#serving.registry
    const { uri, cursor } = params
    const ending = this.#endingsFor(caller)
    switch (method) {
      case 'resources/read':
        return typeof uri === 'string' ? this.#read(catalog, uri, ending, caller) : undefined
      case 'skills/get':
        if (typeof uri !== 'string' || fileAt(catalog, uri) === undefined) return undefined
        return this.#listing(catalog, `get ${uri}`, () => getSkill(catalog, params), ending)
      case 'skills/list':
        if (cursor !== undefined && typeof cursor !== 'string') return undefined
        return this.#listing(
          catalog,
          cursor === undefined ? 'list' : `list ${cursor}`,
          () => listSkills(catalog, params, this.#serving.pages),
          ending,
        )
      default:
        return undefined
    }
  }

  #endingsFor({ era, principal }: Caller): Endings {
    if (era === 'legacy') return this.#endings.legacy
    return principal === undefined ? this.#endings.modern : this.#endings.modernPrivate
  }

  async #read(catalog: Catalog, uri: string, ending: Endings, caller: Caller): Promise<ResultText | undefined> {
    const listed = fileAt(catalog, uri)
    if (listed === undefined) return this.#inPieces(catalog, uri, ending, caller)
    if (listed.file.size > MAX_CONTENT_BYTES) return undefined
    if (this.#serving.isRefused?.(listed.skill) === true) return undefined
    // The key includes the size, which the listing promises too.
    const key = `${listed.file.sha256} ${listed.file.size} ${proverOf(listed)}`
    const content = this.#contents.get(key) ?? (await this.#contents.add(key, () => this.#verifiedText(listed, caller)))
    if (content === undefined) return undefined
    const { mimeType } = describeFile(listed)
    const head = `{"contents":[{"uri":${JSON.stringify(uri)},"mimeType":${JSON.stringify(mimeType)},`
    return [Buffer.from(head), content, ending.read]
  }

  /** To serialize the index of thousands of skills in one step would block others too long. */
  async #inPieces(catalog: Catalog, uri: string, ending: Endings, caller: Caller): Promise<ResultText | undefined> {
    // The core reports the failure.
    const large = await this.#largeText(catalog, uri, caller)?.catch(() => undefined)
    if (large === undefined) return undefined
    const { mimeType, pieces } = large
    const head = `{"contents":[{"uri":${JSON.stringify(uri)},"mimeType":${JSON.stringify(mimeType)},"text":"`
    const escaped = await runInSlices(escaping(pieces), caller.turn)
    return [Buffer.from(head), ...escaped, Buffer.from('"}'), ending.read]
  }

  #largeText(catalog: Catalog, uri: string, caller: Caller): Promise<LargeText> | undefined {
    const read = readingFor(caller, this.#serving.read)
    for (const family of this.#serving.forms.families) {
      const text = family.largeText(catalog, uri, read)
      if (text !== undefined) return text
    }
    return undefined
  }

  /** Returns `"text":"…"}`: the part of a response that is equal for each URI with this content. */
  async #verifiedText(listed: CatalogFile, caller: Caller): Promise<string | undefined> {
    const content = await contentOf(listed, inTurn(readingFor(caller, this.#serving.read), caller.turn))
    if (!isUnread(content)) return JSON.stringify(content).slice(1)
    // The content contradicts its skill, which may have left the catalog by now: the core would no longer find it.
    if (content !== undefined && content !== 'not-now')
      throw new RpcError(INTERNAL_ERROR, unreadReason(content), { uri: listed.uri })
    return undefined
  }

  async #listing(catalog: Catalog, key: string, make: () => object, ending: Endings): Promise<ResultText | undefined> {
    if (this.#listings.catalog !== catalog) this.#listings = listingsOf(catalog)
    const { texts } = this.#listings
    const listing = texts.get(key) ?? (await texts.add(key, async () => withoutEnd(make)))
    return listing && [listing, ending.listing]
  }
}

/** The serialized entries of one catalog, dropped with it. */
interface Listings {
  readonly catalog: Catalog
  readonly texts: TextCache
}

function listingsOf(catalog: Catalog): Listings {
  return { catalog, texts: new TextCache(LISTING_BYTES) }
}

/** Returns the file at a URI in its listed spelling. */
function fileAt(catalog: Catalog, uri: string): CatalogFile | undefined {
  return catalog.folders.has(uri) ? undefined : catalog.files.get(uri)
}

/** Content of another MCP server is verified against its own entry; all other content by its digest alone. */
function proverOf({ uri, skill }: CatalogFile): string {
  return skill.upstream === undefined ? '' : `${uri} ${declarationOf(skill)}`
}

/** Serializes a result up to the point where the era may add to it; `undefined` if it is refused. */
function withoutEnd(make: () => object): string | undefined {
  try {
    return JSON.stringify(make()).slice(0, -1)
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}

/** Escapes a text for use between the quotes of JSON. */
function* escaping(pieces: readonly string[]): Steps<readonly Buffer[]> {
  const escaped: Buffer[] = []
  for (const piece of pieces) {
    escaped.push(Buffer.from(JSON.stringify(piece).slice(1, -1)))
    yield
  }
  return escaped
}

/** The last part of a result. */
interface Endings {
  readonly read: Buffer
  readonly listing: Buffer
}

/**
 * Returns the additions of the modern era in the core's order: the core has its own hints for `resources/read`, and
 * uses ours for the rest.
 */
function modernEndings(cache: CacheHint): Endings {
  const { ttlMs, cacheScope } = cache
  const hint = membersOf({ ttlMs, cacheScope })
  const meta = membersOf({ _meta: SERVER_META })
  return endings(`,"resultType":"complete",${hint},${meta}`, `,${membersOf(cache)},"resultType":"complete",${meta}`)
}

function endings(ofRead: string, ofListing: string): Endings {
  return { read: Buffer.from(`]${ofRead}}`), listing: Buffer.from(`${ofListing}}`) }
}

function membersOf(value: object): string {
  return JSON.stringify(value).slice(1, -1)
}
