import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { z } from 'zod'

/** A server over stdio that was started for this one client, which sends and takes what is on the wire and does no more. */
export class StdioClient implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #exit: Promise<unknown>
  /** Rejects when the process has ended, whoever waits for it then. */
  readonly #over = Promise.withResolvers<never>()
  readonly #waiting = new Map<number, PromiseWithResolvers<Message>>()
  /** Of what was told without a question. */
  readonly #told: Message[] = []
  #next = Promise.withResolvers<Message>()
  #lastId = 0

  private constructor(args: readonly string[], limitMs: number) {
    const options = { stdio: ['pipe', 'pipe', 'ignore'] as ['pipe', 'pipe', 'ignore'] }
    this.#child = spawn(process.execPath, args, { ...options, timeout: limitMs, killSignal: 'SIGKILL' })
    this.#exit = once(this.#child, 'exit').then(() =>
      this.#over.reject(new Error('The server has ended, or was ended for taking too long')),
    )
    this.#over.promise.catch(() => {})
    // Who asks a server that has ended is told by its end.
    this.#child.stdin.on('error', () => {})
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(MESSAGE.parse(JSON.parse(line))))
  }

  /** Starts Node with these arguments, and resolves when the server has answered `initialize`. It is killed after so long. */
  static async start(args: readonly string[], limitMs: number): Promise<StdioClient> {
    const client = new StdioClient(args, limitMs)
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } }
    await client.call('initialize', params)
    client.#send({ method: 'notifications/initialized' })
    return client
  }

  /** The result; throws what the server says in its place. */
  async call(method: string, params: object): Promise<unknown> {
    this.#lastId += 1
    const answer = Promise.withResolvers<Message>()
    this.#waiting.set(this.#lastId, answer)
    this.#send({ id: this.#lastId, method, params })
    const { result, error } = await Promise.race([answer.promise, this.#over.promise])
    if (error !== undefined) throw new Error(`${method}: ${error.code} ${error.message}`)
    return result
  }

  /** All pages of `skills/list`. */
  async list(): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    let cursor: string | undefined
    do {
      const page = PAGE.parse(await this.call('skills/list', cursor === undefined ? {} : { cursor }))
      entries.push(...page.skills)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return entries
  }

  /** The text of a resource. */
  async read(uri: string): Promise<string> {
    const { contents } = CONTENTS.parse(await this.call('resources/read', { uri }))
    return contents.map(({ text }) => text).join('')
  }

  /** What it tells next without being asked. */
  async next(): Promise<Message> {
    this.#next = Promise.withResolvers()
    return Promise.race([this.#next.promise, this.#over.promise])
  }

  /** How often it told something without being asked. */
  get told(): number {
    return this.#told.length
  }

  /** What the process has in memory; Linux alone says so. */
  async residentKiB(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    await this.#exit
  }

  #send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #take(message: Message): void {
    const asked = message.id === undefined ? undefined : this.#waiting.get(message.id)
    if (asked !== undefined) return asked.resolve(message)
    this.#told.push(message)
    this.#next.resolve(message)
  }
}

const MESSAGE = z.looseObject({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.looseObject({ uri: z.string().optional() }).optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
})
type Message = z.infer<typeof MESSAGE>

const PAGE = z.looseObject({
  skills: z.array(z.looseObject({ uri: z.string() })),
  nextCursor: z.string().optional(),
})
type Entry = z.infer<typeof PAGE>['skills'][number]

const CONTENTS = z.looseObject({ contents: z.array(z.looseObject({ text: z.string() })) })
