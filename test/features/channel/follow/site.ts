import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { canonicalJson } from '../../../../src/base/canonical-json.ts'
import { objectPath } from '../../../../src/features/channel/content/channel-entry.ts'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { signCheckpoint } from '../../../../src/sync/transparency-log/checkpoint.ts'
import { LogHashes } from '../../../../src/sync/transparency-log/log-hashes.ts'
import { treeRoot } from '../../../../src/sync/transparency-log/merkle-tree.ts'
import { signerOf, verifierText } from '../../../../src/sync/transparency-log/signed-note.ts'
import type { NoteSigner } from '../../../../src/sync/transparency-log/signed-note.ts'
import {
  bundleOf,
  entriesPath,
  tileBytes,
  tilePath,
  tilesBetween,
} from '../../../../src/sync/transparency-log/tiles.ts'
import type { Sample } from '../../../sync/store/samples.ts'
import { sample } from '../../../sync/store/samples.ts'
import { portOf } from '../../../sync/upstream/front.ts'

/** The name of the channels of the tests. */
export const ORIGIN = 'skills.example.com/channel'

/** The signer with the key of this number. */
export function signerNumber(number: number, name = ORIGIN): NoteSigner {
  return signerOf(name, Buffer.alloc(32, number))
}

export const SIGNER = signerNumber(1)

export const KEY = verifierText(SIGNER)

/** The files of a channel by their paths, as a web server has them. */
export type ReadFile = (path: string) => Promise<Uint8Array | undefined>

/** Answers a request in place of the server, and returns true; or returns false to leave it to the server. */
export type Meddle = (request: IncomingMessage, response: ServerResponse, path: string) => boolean

/** A web server of files with entity tags on loopback. */
export interface FileServer extends AsyncDisposable {
  /** Ends with a slash. */
  readonly url: string
  /** The paths that were requested, with the status of the answer. */
  readonly requests: { readonly path: string; readonly status: number; readonly headers: IncomingMessage['headers'] }[]
  /** The number of connections since the start. */
  readonly connections: () => number
  meddle: Meddle
}

export async function startFileServer(read: ReadFile): Promise<FileServer> {
  let connections = 0
  const requests: FileServer['requests'] = []
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/^\/channel\//, '')
    response.on('close', () =>
      requests.push({ path, status: response.headersSent ? response.statusCode : 0, headers: request.headers }),
    )
    if (!started.meddle(request, response, path)) void answer(path, request, response)
  })
  const answer = async (path: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = await read(path)
    const nothing = { 'content-type': 'text/plain', 'content-length': 8 }
    if (bytes === undefined) return void response.writeHead(404, nothing).end('nothing\n')
    const etag = `"${sha256(bytes)}"`
    if (request.headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end()
    response.writeHead(200, { etag, 'content-type': 'application/octet-stream', 'content-length': bytes.length })
    response.end(bytes)
  }
  server.on('connection', () => (connections += 1))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const started: FileServer = {
    url: `http://127.0.0.1:${portOf(server)}/channel/`,
    requests,
    connections: () => connections,
    meddle: () => false,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
  return started
}

/** A channel that is made by hand, object by object, so that any part of it can be wrong. */
export class CraftedChannel {
  readonly files = new Map<string, Uint8Array>()
  readonly #hashes = new LogHashes()
  readonly #entries: Uint8Array[] = []

  readonly read: ReadFile = async (path) => this.files.get(path)

  get size(): number {
    return this.#entries.length
  }

  get entries(): readonly Uint8Array[] {
    return this.#entries
  }

  object(content: Uint8Array | object): string {
    const bytes = content instanceof Uint8Array ? content : Buffer.from(canonicalJson(content))
    const digest = sha256(bytes)
    this.files.set(objectPath(digest), bytes)
    return digest
  }

  /** The object of a source with these skills, as JSON; the files of samples are added. */
  source(skills: readonly object[], edit: object = {}): string {
    const list = { items: [this.object(skills)] }
    const commit = '1'.repeat(40)
    const url = 'https://git.example.com/team.git'
    return this.object({ source: 'team', url, ref: 'refs/heads/main', commit, findings: [], skills: list, ...edit })
  }

  /** Appends an entry for these samples, and signs the log. */
  async publish(...samples: readonly Sample[]): Promise<string> {
    for (const { bytes } of samples) for (const file of bytes.values()) this.object(Buffer.from(file))
    return this.publishSources(this.source(samples.map(({ skill }) => skill)))
  }

  async publishSources(...sources: readonly string[]): Promise<string> {
    return this.publishHead({ format: 1, sources: { items: sources } })
  }

  async publishHead(head: object, at = AT): Promise<string> {
    const digest = this.object(head)
    await this.append(encodeEntry({ at, head: digest }))
    return digest
  }

  /** Appends any bytes as an entry, and signs the log. */
  async append(...entries: readonly Uint8Array[]): Promise<void> {
    const before = this.size
    for (const entry of entries) {
      this.#entries.push(entry)
      this.#hashes.append(entry)
    }
    for (const tile of tilesBetween(before, this.size)) {
      this.files.set(tilePath(tile), await tileBytes(tile, this.#hashes.read))
      if (tile.level > 0) continue
      const bundle = this.#entries.slice(tile.index * 256, tile.index * 256 + tile.width)
      this.files.set(entriesPath(tile), bundleOf(bundle))
    }
    await this.sign()
  }

  async writeTo(folder: string): Promise<void> {
    for (const [path, bytes] of this.files) {
      const file = join(folder, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, bytes)
    }
  }

  /** Signs the log as it is, or as it was at another size. */
  async sign(size = this.size, signer = SIGNER): Promise<void> {
    const root = await treeRoot(size, this.#hashes.read)
    this.files.set('checkpoint', Buffer.from(signCheckpoint({ origin: signer.name, size, root }, [signer])))
  }
}

export const AT = '2026-06-15T12:00:00.000Z'

/** A skill whose SKILL.md has the frontmatter that it declares. */
export function skillNamed(name: string, body = '', more: Readonly<Record<string, string>> = {}): Sample {
  return sample(name, { 'SKILL.md': `---\nname: ${name}\ndescription: A sample\n---\n${body}\n`, ...more })
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
