import type { IncomingMessage, ServerResponse } from 'node:http'
import { filesToInstall } from '../../../sync/catalog/folder-skills.ts'
import { readSkillUri } from '../../../sync/model/skill-uri.ts'
import { bytesOf, isUnread, whyUnread } from '../../content.ts'
import type { ReadFile, Unread } from '../../content.ts'
import type { Announced, Discovery, Listing } from './discovery.ts'
import type { Installed } from './install-names.ts'
import { mimeTypeOf } from '../../mime.ts'
import type { Principal } from '../../principal.ts'
import { disconnected } from '../../http/server/client-gone.ts'
import { hasRoom, sendBusy, sendError, sendPieces, sendStatus } from '../../http/server/response.ts'

/** Below this the skills are answered for installers (Agent Skills discovery 0.2.0). */
export const WELL_KNOWN = '/.well-known/agent-skills/'

/** Bytes that are answered with, announced before they are read. */
interface Answerable extends Announced {
  readonly mimeType: string
  readonly bytes: () => Promise<Uint8Array | Unread>
}

/** Skills as files, for programs that know HTTP alone. Each path is looked up as it is; none is joined. */
export class WellKnownEndpoint {
  readonly #discovery: Discovery
  readonly #read: ReadFile

  constructor(discovery: Discovery, read: ReadFile) {
    this.#discovery = discovery
    this.#read = read
  }

  /** `below`: what follows the folder in the path, as it was asked for. */
  async answer(
    below: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> {
    const signal = disconnected(response)
    const found = await this.#find(below, signal)
    // Nobody is told again that the client left meanwhile: what would be held for it would be held for good.
    signal.throwIfAborted()
    if (found === 'nothing') return sendError(response, 404, -32000, 'Nothing is served at this path')
    if (isUnread(found)) return sendUnread(response, found)
    const head = headOf(found, principal)
    if (isKnown(found, request.headers['if-none-match'])) return sendStatus(response, 304, head)
    const contentHead = { ...head, 'content-type': found.mimeType, 'content-length': String(found.size) }
    if (request.method === 'HEAD') return sendStatus(response, 200, contentHead)
    await this.#send(found, contentHead, response)
  }

  async #find(below: string, signal: AbortSignal): Promise<Answerable | 'nothing' | Unread> {
    const { skills, listing } = await this.#discovery.installable()
    if (below === 'index.json') return document(listing)
    const archived = below.endsWith('.zip') ? skills.get(below.slice(0, -'.zip'.length)) : undefined
    if (archived !== undefined) return this.#archive(archived, signal)
    // The rules for what a URI can name hold here too: a path is no less hostile.
    const uri = readSkillUri(`skill://${below}`)
    if (!uri.ok || uri.trailingSlash) return 'nothing'
    const [name = '', ...path] = uri.canonical.slice('skill://'.length).split('/').map(decodeURIComponent)
    return this.#file(skills.get(name), path.join('/')) ?? 'nothing'
  }

  async #archive(skill: Installed, signal: AbortSignal): Promise<Answerable | Unread> {
    const announced = await this.#discovery.announced(skill, signal)
    if (isUnread(announced)) return announced
    return { ...announced, mimeType: 'application/zip', bytes: () => this.#discovery.archiveOf(skill, signal) }
  }

  #file(skill: Installed | undefined, path: string): Answerable | undefined {
    const listed = skill && filesToInstall(skill).find(({ file }) => file.path === path)
    if (listed === undefined) return undefined
    const { sha256, size } = listed.file
    return { sha256, size, mimeType: inertTypeOf(listed.name), bytes: () => bytesOf(listed, this.#read) }
  }

  async #send(found: Answerable, head: Readonly<Record<string, string>>, response: ServerResponse): Promise<void> {
    if (!hasRoom(response, found.size)) return sendBusy(response)
    const bytes = await found.bytes()
    if (isUnread(bytes)) return sendUnread(response, bytes)
    sendPieces(response, 200, head, [bytes])
  }
}

function sendUnread(response: ServerResponse, unread: Unread): void {
  const why = whyUnread(unread)
  if (unread === 'not-now') return sendError(response, 503, -32603, why, { headers: { 'retry-after': '1' } })
  // What is refused is soon no longer listed: it is answered as nothing is, with the reason.
  if (unread === undefined) sendError(response, 500, -32603, why)
  else sendError(response, 404, -32000, why)
}

function document(listing: Listing): Answerable {
  return { ...listing, mimeType: 'application/json', bytes: async () => listing.json }
}

/** What others wrote is data here: a browser that is sent to it runs none of it in our name. */
function headOf({ sha256 }: Announced, principal: Principal | undefined): Readonly<Record<string, string>> {
  return {
    etag: `"sha256:${sha256}"`,
    // What depends on who asks is nothing to be kept for others.
    'cache-control': principal === undefined ? 'no-cache' : 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'content-disposition': 'attachment',
    'cross-origin-resource-policy': 'same-origin',
  }
}

/** RFC 9110, 13.1.2: compared weakly, and a list or a star may be given. */
function isKnown({ sha256 }: Announced, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const tags = new Set(ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, '')))
  return tags.has('*') || tags.has(`"sha256:${sha256}"`)
}

/** The type of a file, but for those that a browser would make a page or a program of. */
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
