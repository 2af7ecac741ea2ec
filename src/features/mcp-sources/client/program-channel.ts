import { parseJson } from '../../../base/json-value.ts'
import { printable } from '../../../base/text/printable.ts'
import { NO_PROGRAM, ProcessGroup } from '../../../sync/git/program/process-group.ts'
import type { Ended } from '../../../sync/git/program/process-group.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { ConnectionOptions, ProgramAddress } from './address.ts'
import { Overlong, Unanswered } from './channel.ts'
import type { Channel, ChannelListener, ServerStream } from './channel.ts'
import { jsonWeightOf } from './json-weight.ts'
import { readMessage } from './message.ts'
import type { Outgoing } from './message.ts'

/** A channel to a local program, one message per line. Disposal leaves no process of the program running. */
export class ProgramChannel implements Channel {
  readonly name: string
  readonly isByRequest = false
  readonly #group: ProcessGroup
  readonly #limit: number
  #frames: LineFrames | undefined
  /** The lines since the last message that are none. */
  #strays = 0
  #lastStray = ''
  #hasSpoken = false
  #ended: Promise<void> = Promise.resolve()

  private constructor(name: string, group: ProcessGroup, limit: number) {
    this.name = name
    this.#group = group
    this.#limit = limit
  }

  static async open(address: ProgramAddress, { limits }: ConnectionOptions): Promise<ProgramChannel> {
    const { command, args, path, home } = address
    const env = { PATH: path, HOME: home, ...(await address.env()) }
    // The program must not depend on this process's working directory.
    const group = new ProcessGroup({ command, args, cwd: '/', env, fileBytes: undefined })
    return new ProgramChannel(command, group, limits.answerBytes)
  }

  get isAmid(): boolean {
    return this.#frames !== undefined && this.#frames.size > 0
  }

  get silence(): Channel['silence'] {
    const said = this.#lastWords(this.#group.stderr)
    return { said: said === '' ? '' : `; the program prints "${said}"`, fix: NO_MCP }
  }

  hear(ears: ChannelListener): void {
    const frames = new LineFrames(
      this.#limit,
      (line) => this.#take(line, ears),
      (start, end, came) => this.#refuse(idAtRim(start, end), came, ears),
    )
    this.#frames = frames
    this.#group.child.stdout.on('data', (bytes: Buffer) => {
      frames.push(bytes)
      if (frames.size > this.#limit && !this.#hasSpoken) ears.lost(this.#notSpoken(this.#longFirstLine))
      if (frames.size > 0) ears.came(undefined)
    })
    // A child process that outlives the program may keep its output open.
    this.#group.child.once('exit', () => void setTimeout(() => this.#group.letGo(), LAST_WORDS_MS).unref())
    this.#ended = this.#group.ended.then(
      (ended) => ears.lost(this.#failure(ended)),
      (cause: unknown) =>
        ears.lost(new SyncError('source-unreachable', `Cannot start "${this.name}"`, { cause, fix: NO_PROGRAM })),
    )
  }

  async send(message: Outgoing): Promise<void> {
    const { stdin } = this.#group.child
    if (stdin.writableLength > MOST_UNREAD_BYTES)
      throw new Unanswered(`Cannot reach "${this.name}": the program does not read what it is sent`, { fix: NO_MCP })
    // If the program has ended, the pending answers fail with the loss of the channel.
    stdin.write(`${JSON.stringify(message)}\n`)
  }

  speak(): void {}

  async listen(): Promise<ServerStream> {
    return { ended: this.#ended }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#group.child.stdin.end()
    await this.#group[Symbol.asyncDispose]()
  }

  /** Other output of a program is passed over, such as a banner, unless no message comes between many lines of it. */
  #take(line: string, ears: ChannelListener): void {
    const message = parseJson(line)
    if (readMessage(message) === undefined) {
      this.#strays += 1
      this.#lastStray = line
    } else {
      this.#strays = 0
      this.#hasSpoken = true
    }
    if (this.#strays > MOST_STRAYS) ears.lost(this.#notSpoken(`and prints other text, "${this.#lastWords('')}"`))
    else ears.heard(message)
  }

  /** The start of the last line that the program printed, and that is no message; of its standard error first. */
  #lastWords(stderr: string): string {
    const line = stderr.trim().split('\n').at(-1) ?? ''
    return printable(line === '' ? this.#lastStray : line)
  }

  get #longFirstLine(): string {
    return `its first line is over ${this.#limit} bytes`
  }

  #notSpoken(what: string): SyncError {
    const message = `Cannot open a session with "${this.name}": it sends no MCP message, ${what}`
    return new SyncError('protocol-not-spoken', message, { fix: NO_MCP })
  }

  #refuse(id: number | undefined, came: number, ears: ChannelListener): void {
    if (!this.#hasSpoken) return ears.lost(this.#notSpoken(this.#longFirstLine))
    const refusal = new Overlong(`Cannot read from "${this.name}": an answer is over ${this.#limit} bytes`, came)
    if (id === undefined) ears.lost(refusal)
    else ears.failed(id, refusal)
  }

  #failure({ status, stderr }: Ended): Unanswered {
    const said = this.#lastWords(stderr)
    const how = status === undefined ? 'the program was ended' : `the program ended with status ${status}`
    return new Unanswered(`Cannot reach "${this.name}": ${how}${said === '' ? '' : `, and says "${said}"`}`, {
      fix: NO_MCP,
    })
  }
}

/** The next step for a program that does not answer as a server. */
const NO_MCP =
  'Check `command` and `args` of the source: that program must speak MCP over its standard input and output, and print nothing else there'

/** A program with this many lines that are no messages, one after the other, is no server. */
const MOST_STRAYS = 1000

/** For pending requests and answers, each a few hundred bytes. */
const MOST_UNREAD_BYTES = 2 ** 20

/** The time for the program's last output to arrive after its exit. */
const LAST_WORDS_MS = 500

/** Finds the id of a message that is too long to parse: it is before the result, or after it. */
function idAtRim(start: string, end: string): number | undefined {
  const id = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,/.exec(start)
  const last =
    /\}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?,\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(
      end,
    )
  const found = id?.[1] ?? last?.[1]
  return found === undefined ? undefined : Number(found)
}

/**
 * Splits a stream of bytes into lines, each limited in its bytes and in its JSON weight. A longer line is skipped; the
 * callback gets its start, its end and its size.
 */
export class LineFrames {
  readonly #limit: number
  readonly #whole: (line: string) => void
  readonly #over: (start: string, end: string, size: number) => void
  #parts: Buffer[] = []
  #size = 0
  /** The last bytes of a line that is being skipped. */
  #end = Buffer.alloc(0)

  constructor(limit: number, whole: (line: string) => void, over: (start: string, end: string, size: number) => void) {
    this.#limit = limit
    this.#whole = whole
    this.#over = over
  }

  /** The size in bytes of the line whose end did not come yet. */
  get size(): number {
    return this.#size
  }

  push(bytes: Buffer): void {
    let from = 0
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
      this.#take(bytes.subarray(from, at))
      this.#close()
      from = at + 1
    }
    this.#take(bytes.subarray(from))
  }

  #take(part: Buffer): void {
    if (part.length === 0) return
    this.#size += part.length
    if (this.#size > this.#limit) this.#skip(part)
    else this.#parts.push(part)
  }

  #skip(part: Buffer): void {
    // Of the buffered parts only the start is needed.
    if (this.#parts.length > 1) this.#parts = this.#parts.slice(0, 1)
    if (this.#parts.length === 0) this.#parts.push(Buffer.from(part.subarray(0, RIM_BYTES)))
    this.#end = Buffer.concat([this.#end, part.subarray(-RIM_BYTES)]).subarray(-RIM_BYTES)
  }

  #close(): void {
    const [parts, size, end] = [this.#parts, this.#size, this.#end]
    this.#parts = []
    this.#size = 0
    this.#end = Buffer.alloc(0)
    if (size > this.#limit)
      return this.#over(parts[0]?.toString('latin1', 0, RIM_BYTES) ?? '', end.toString('latin1'), size)
    const line = Buffer.concat(parts)
    if (jsonWeightOf(line) <= this.#limit) this.#whole(line.toString('utf8'))
    else this.#over(line.toString('latin1', 0, RIM_BYTES), line.subarray(-RIM_BYTES).toString('latin1'), size)
  }
}

const NEWLINE = 0x0a

/** Large enough for what JSON-RPC puts before and after a result. */
const RIM_BYTES = 256
