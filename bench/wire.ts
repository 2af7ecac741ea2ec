import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** One connection. It writes bytes that were made before, and looks at no more of an answer than where it ends. */
export class Wire implements Disposable {
  readonly #socket: Socket
  #chunks: Buffer[] = []
  /** Of the answer that is coming; undefined before its head is there. */
  #missing: number | undefined
  #answered = Promise.withResolvers<Buffer>()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('error', (error) => this.#answered.reject(error))
    socket.on('close', () => this.#answered.reject(new Error('The server closed the connection')))
    this.#answered.promise.catch(() => {})
  }

  static async open(url: string): Promise<Wire> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    return new Wire(socket)
  }

  /** False once the server has closed it. */
  get isOpen(): boolean {
    return this.#socket.readyState === 'open'
  }

  /** The whole answer: its head, an empty line, its body. */
  async exchange(request: Buffer): Promise<Buffer> {
    this.#answered = Promise.withResolvers()
    this.#chunks = []
    this.#missing = undefined
    this.#socket.write(request)
    return this.#answered.promise
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    this.#chunks.push(bytes)
    this.#missing = this.#missing === undefined ? missingOf(Buffer.concat(this.#chunks)) : this.#missing - bytes.length
    if (this.#missing === 0) this.#answered.resolve(Buffer.concat(this.#chunks))
  }
}

/** How much of an answer is still to come; undefined where its head is not there yet. */
function missingOf(taken: Buffer): number | undefined {
  const end = taken.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  // An answer in chunks has no length, such as a stream of events: its head is all that is waited for.
  const length = Number(/content-length: (\d+)/i.exec(taken.toString('latin1', 0, end))?.[1] ?? 0)
  return end + 4 + length - taken.length
}

/** So many connections, not more than a listener can queue of them at once. */
export async function openWires(url: string, count: number): Promise<Wire[]> {
  const wires: Wire[] = []
  while (wires.length < count) {
    const wave = Array.from({ length: Math.min(100, count - wires.length) }, () => Wire.open(url))
    wires.push(...(await Promise.all(wave)))
  }
  return wires
}

/** A request with its length, ready to be written. */
export function requestOf(url: string, method: string, headers: Readonly<Record<string, string>>, body = ''): Buffer {
  const { host, pathname, search } = new URL(url)
  const all = { host, ...headers, ...(body !== '' && { 'content-length': String(Buffer.byteLength(body)) }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from([`${method} ${pathname}${search} HTTP/1.1`, ...lines, '', body].join('\r\n'))
}

/** Open streams, each of which is told something each round. */
export class Streams implements Disposable {
  readonly #sockets: Socket[] = []
  readonly #mark: string
  #waiting = 0
  #told = Promise.withResolvers<void>()

  /** What is told holds the mark, and nothing else does. */
  constructor(mark: string) {
    this.#mark = mark
  }

  /** Opens one for each of the requests; each has its head when this resolves. */
  async open(url: string, requests: readonly Buffer[]): Promise<void> {
    const { hostname, port } = new URL(url)
    for (let index = 0; index < requests.length; index += 100) {
      await Promise.all(
        requests.slice(index, index + 100).map(async (request) => {
          const socket = connect({ host: hostname, port: Number(port) })
          this.#sockets.push(socket)
          socket.write(request)
          const [head]: Buffer[] = await once(socket, 'data')
          if (!head?.toString().startsWith('HTTP/1.1 200')) throw new Error(`No stream: ${head?.toString()}`)
          this.#listen(socket)
        }),
      )
    }
  }

  /** Resolves when each of them was told once more. */
  async toldAll(): Promise<void> {
    this.#waiting = this.#sockets.length
    this.#told = Promise.withResolvers()
    return this.#told.promise
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #listen(socket: Socket): void {
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (!text.includes(this.#mark)) return
      text = ''
      this.#waiting -= 1
      if (this.#waiting === 0) this.#told.resolve()
    })
    socket.on('error', () => {})
  }
}
