import type { IncomingMessage, ServerResponse } from 'node:http'
import { filesToInstall } from '../../../sync/catalog/folder-skills.ts'
import type { InstallableSkill } from '../../../sync/catalog/install-names.ts'
import { readSkillUri } from '../../../sync/model/uris/skill-uri.ts'
import { bytesOf, isUnread, unreadReason } from '../../content.ts'
import type { ReadContent, UnreadContent } from '../../content.ts'
import { disconnectSignal } from '../../http/server/client-gone.ts'
import { hasRoom, sendBusy, sendError, sendPieces, sendStatus } from '../../http/server/response.ts'
import type { AnsweredFile } from '../../mcp/core/methods.ts'
import { mimeTypeOf } from '../../mime.ts'
import type { Principal } from '../../principal.ts'
import type { Announced, Discovery, DiscoveryDocument } from './discovery.ts'

/** The path of the files for installers (Agent Skills discovery 0.2.0). */
export const WELL_KNOWN = '/.well-known/agent-skills/'

/** Content of a response, with its digest and size known before it is read. */
interface Answerable extends Announced {
  readonly mimeType: string
  readonly part: AnsweredFile['part']
  readonly bytes: () => Promise<Uint8Array | UnreadContent>
}

/** Counts a file that a client got, or that could not be read for it. */
export type CountFile = (
  part: AnsweredFile['part'],
  request: IncomingMessage,
  asker: { readonly principal: Principal | undefined; readonly isFailed: boolean },
) => void

function partOf({ source, skill }: InstallableSkill, isDocument: boolean): AnsweredFile['part'] {
  return { source, path: skill.path, digest: skill.digest, isDocument }
}

/** Serves skills as files to programs that know only HTTP. Each path is looked up as it is; none is joined. */
export class WellKnownEndpoint {
  readonly #discovery: Discovery
  readonly #read: ReadContent
  readonly #count: CountFile

  /** `count` is called for each file that is sent, or cannot be read. */
  constructor(discovery: Discovery, read: ReadContent, count: CountFile = () => {}) {
    this.#discovery = discovery
    this.#read = read
    this.#count = count
  }

  /** `below`: the raw path after `WELL_KNOWN`. */
  async answer(
    below: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> {
    const signal = disconnectSignal(response)
    const found = await this.#find(below, signal)
    // The client may have left in the meantime. No further event reports that, so anything held for it would never be
    // released.
    signal.throwIfAborted()
    if (found === 'nothing')
      return sendError(response, { status: 404, code: -32000, message: 'Nothing is served at this path' })
    if (isUnread(found)) return sendUnread(response, found)
    const head = headOf(found, principal)
    if (isKnown(found, request.headers['if-none-match'])) return sendStatus(response, 304, head)
    const contentHead = { ...head, 'content-type': found.mimeType, 'content-length': String(found.size) }
    if (request.method === 'HEAD') return sendStatus(response, 200, contentHead)
    const end = await this.#send(found, contentHead, response)
    if (end !== 'no-room') this.#count(found.part, request, { principal, isFailed: end === 'unread' })
  }

  async #find(below: string, signal: AbortSignal): Promise<Answerable | 'nothing' | UnreadContent> {
    const { skills, listing } = await this.#discovery.installable()
    if (below === 'index.json') return document(listing)
    const archived = below.endsWith('.zip') ? skills.get(below.slice(0, -'.zip'.length)) : undefined
    if (archived !== undefined) return this.#archive(archived, signal)
    // The rules for URIs apply here too, because a path is no less hostile.
    const uri = readSkillUri(`skill://${below}`)
    if (!uri.ok || uri.trailingSlash) return 'nothing'
    const [name = '', ...path] = uri.canonical.slice('skill://'.length).split('/').map(decodeURIComponent)
    return this.#file(skills.get(name), path.join('/')) ?? 'nothing'
  }

  async #archive(skill: InstallableSkill, signal: AbortSignal): Promise<Answerable | UnreadContent> {
    const announced = await this.#discovery.announced(skill, signal)
    if (isUnread(announced)) return announced
    const part = partOf(skill, true)
    return { ...announced, mimeType: 'application/zip', part, bytes: () => this.#discovery.archiveOf(skill, signal) }
  }

  #file(skill: InstallableSkill | undefined, path: string): Answerable | undefined {
    if (skill === undefined) return undefined
    const listed = filesToInstall(skill).find(({ file }) => file.path === path)
    if (listed === undefined) return undefined
    const { sha256, size } = listed.file
    const part = partOf(skill, path === 'SKILL.md')
    return { sha256, size, mimeType: inertTypeOf(listed.name), part, bytes: () => bytesOf(listed, this.#read) }
  }

  async #send(
    found: Answerable,
    head: Readonly<Record<string, string>>,
    response: ServerResponse,
  ): Promise<'sent' | 'unread' | 'no-room'> {
    const bytes = hasRoom(response, found.size) ? await found.bytes() : 'no-room'
    if (bytes === 'no-room') sendBusy(response)
    else if (isUnread(bytes)) sendUnread(response, bytes)
    else sendPieces(response, { status: 200, headers: head, pieces: [bytes] })
    if (bytes === 'no-room') return bytes
    return isUnread(bytes) ? 'unread' : 'sent'
  }
}

function sendUnread(response: ServerResponse, unread: UnreadContent): void {
  const why = unreadReason(unread)
  if (unread === 'not-now')
    return sendError(response, { status: 503, code: -32603, message: why, headers: { 'retry-after': '1' } })
  // Refused content soon leaves the list, so it gets a 404 with the reason.
  if (unread === undefined) sendError(response, { status: 500, code: -32603, message: why })
  else sendError(response, { status: 404, code: -32000, message: why })
}

function document(listing: DiscoveryDocument): Answerable {
  return { ...listing, mimeType: 'application/json', part: undefined, bytes: async () => listing.json }
}

/** Foreign content is only data here: a browser that is sent to it must not run it in our origin. */
function headOf({ sha256 }: Announced, principal: Principal | undefined): Readonly<Record<string, string>> {
  return {
    etag: `"sha256:${sha256}"`,
    // A response that depends on the caller must not be cached for others.
    'cache-control': principal === undefined ? 'no-cache' : 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'content-disposition': 'attachment',
    'cross-origin-resource-policy': 'same-origin',
  }
}

/** RFC 9110, section 13.1.2: weak comparison; a list or a star is allowed. */
function isKnown({ sha256 }: Announced, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const tags = new Set(ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, '')))
  return tags.has('*') || tags.has(`"sha256:${sha256}"`)
}

/** Returns the type of a file, but plain text for types that a browser would run or render as a page. */
function inertTypeOf(name: string): string {
  const type = mimeTypeOf(name)
  if (ACTIVE.has(type)) return 'text/plain; charset=utf-8'
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}

const ACTIVE: ReadonlySet<string> = new Set([
  'text/html',
  'text/javascript',
  'text/css',
  'application/xml',
  'image/svg+xml',
])
