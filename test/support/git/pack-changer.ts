import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { GitServer } from './git-server.ts'
import { runGit, type Repository } from './repository.ts'

/**
 * A proxy before a git server that changes what a client of protocol 1 fetches: isomorphic-git, since our own reader speaks
 * protocol 2. The pack it sends is whole by its checksum and by every id in it.
 */
export class PackChanger implements AsyncDisposable {
  /** Bodies of the fetches of protocol 1 that came through. */
  readonly fetches: string[] = []
  /** The pack in place of the server's own; undefined to pass that on. */
  pack: Uint8Array | undefined
  /** Resolves before an answer to a fetch of protocol 1 is passed on. */
  gate: Promise<void> = Promise.resolve()
  readonly #server: Server
  readonly #git: GitServer

  private constructor(server: Server, git: GitServer) {
    this.#server = server
    this.#git = git
    server.on('request', (incoming, response) => void this.#pass(incoming, response).catch(() => response.destroy()))
  }

  static async before(git: GitServer): Promise<PackChanger> {
    const server = createServer()
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return new PackChanger(server, git)
  }

  /** The address of a repository of the server, through this. */
  url(name: string): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy does not listen on a port')
    return `http://127.0.0.1:${address.port}/${name}.git`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()))
  }

  async #pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming)
    const isFetch = incoming.method === 'POST' && incoming.headers['git-protocol'] === undefined
    if (isFetch) this.fetches.push(body.toString('latin1'))
    const answer = await this.#asked(incoming, body)
    const whole = await buffer(answer)
    if (isFetch) await this.gate
    const headers = { ...answer.headers, 'content-length': undefined, 'transfer-encoding': undefined }
    const changed = isFetch && this.pack !== undefined ? withPack(whole, this.pack) : whole
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value)
    response.writeHead(answer.statusCode ?? 502).end(changed)
  }

  async #asked(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { method, headers, url = '' } = incoming
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(`${this.#git.origin}${url}`, { method, headers }, resolve)
      outgoing.once('error', reject)
      outgoing.end(body)
    })
  }
}

/** A pack of the commit at HEAD in which one file has other bytes, and so another id than the one that its folder names. */
export async function packWithFlipped(repository: Repository, path: string): Promise<Uint8Array> {
  const print = async (args: readonly string[], input: string | Buffer = '') =>
    runGit(['--git-dir', repository.folder, ...args], { input })
  const bytes = await print(['cat-file', 'blob', `HEAD:${path}`])
  const blob = (await print(['rev-parse', `HEAD:${path}`])).toString().trim()
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 2) ^ 1, bytes.length - 2)
  const flipped = (await print(['hash-object', '-w', '--stdin'], bytes)).toString().trim()
  const objects = (await print(['rev-list', '--objects', '--max-count=1', 'HEAD'])).toString()
  const ids = objects.split('\n').flatMap((line) => (line === '' ? [] : [line.slice(0, 40)]))
  const wanted = ids.map((id) => (id === blob ? flipped : id))
  return print(['pack-objects', '--stdout', '--no-reuse-object', '--window=0'], `${wanted.join('\n')}\n`)
}

/** An answer of protocol 1 with another pack in band 1. */
function withPack(answer: Buffer, pack: Uint8Array): Buffer {
  const kept: Buffer[] = []
  for (let at = 0; at < answer.length;) {
    const length = Number.parseInt(answer.toString('latin1', at, at + 4), 16)
    const end = at + Math.max(length, 4)
    const isBand = length > 4 && [1, 2].includes(answer.readUInt8(at + 4))
    // Marks of the end come anew below.
    if (!isBand && !(length === 0 && kept.some((line) => line.includes('NAK')))) kept.push(answer.subarray(at, end))
    at = end
  }
  for (let at = 0; at < pack.length; at += BAND_BYTES) {
    const part = pack.subarray(at, at + BAND_BYTES)
    kept.push(Buffer.from((part.length + 5).toString(16).padStart(4, '0')), Buffer.from([1]), Buffer.from(part))
  }
  return Buffer.concat([...kept, Buffer.from('0000')])
}

const BAND_BYTES = 60_000
