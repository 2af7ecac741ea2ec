import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'

/** Answers a request: JSON, the bytes of a package, or undefined where the registry has no such thing. */
type Answer = (request: IncomingMessage, registry: string) => object | Buffer | undefined

/** An npm registry on loopback. */
export class NpmRegistry implements AsyncDisposable {
  readonly url: string
  readonly #close: () => Promise<void>

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url
    this.#close = close
  }

  static async start(answer: Answer): Promise<NpmRegistry> {
    // npm keeps what an address has sent, and an earlier registry may have had the same port.
    const path = `${randomUUID()}/`
    const server = createServer((request, response) => {
      request.resume()
      request.url = request.url?.replace(path, '')
      const found = answer(request, `http://${request.headers.host}/${path}`)
      if (found === undefined) response.writeHead(405).end()
      else if (Buffer.isBuffer(found)) response.writeHead(200).end(found)
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    return new NpmRegistry(`http://127.0.0.1:${port}/${path}`, async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

/** Serves one package under a name, as a registry does once it was published with a lock. */
export function publishing(name: string, manifest: Manifest, archive: Buffer): Answer {
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
  return ({ url = '' }, registry) => {
    if (url.endsWith('.tgz')) return archive
    const dist = { integrity, tarball: `${registry}package.tgz` }
    // Without the mark, which registries set, npm passes over a lock in the archive.
    const published = { ...manifest, name, dist, _hasShrinkwrap: true }
    return { name, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: published } }
  }
}

/** As in `package.json`. */
interface Manifest {
  readonly version: string
}
