import { Malformed } from '../../../base/malformed.ts'
import { printable } from '../../../base/text/printable.ts'

/** A request of git for a pack, in either version of its protocol. */
export interface FetchRequest {
  readonly wants: readonly string[]
  readonly haves: readonly string[]
  /** True if the client sends no more haves, and expects the pack. */
  readonly isDone: boolean
  /** True if the client has a shallow clone. */
  readonly isShallow: boolean
  /** True if the client asks for another depth. */
  readonly isDeepened: boolean
  /** True if the pack is sent in frames that can also hold messages. Always in version 2. */
  readonly hasSideBand: boolean
}

/** The command of a request of version 2 (gitprotocol-v2). */
export type GitCommand =
  | { readonly name: 'ls-refs'; readonly prefixes: readonly string[]; readonly hasSymrefs: boolean }
  | { readonly name: 'fetch'; readonly fetch: FetchRequest }

/** Reads a request of version 2. Throws `Malformed`. */
export function readCommand(body: Buffer): GitCommand {
  let command: GitCommand['name'] | undefined
  const [head, args] = sectionsIn(body, (line, { isAfter, before }) => {
    if (!isAfter) return line !== ''
    command ??= commandIn(before)
    return command === 'ls-refs' || FETCH_ARGUMENT.test(line)
  })
  command ??= commandIn(head)
  return command === 'ls-refs' ? lsRefsOf(args) : { name: 'fetch', fetch: { ...askedIn(args), hasSideBand: true } }
}

function commandIn(head: readonly string[]): GitCommand['name'] {
  const format = head.find((line) => line.startsWith('object-format='))
  if (format !== undefined && format !== 'object-format=sha1') throw new Malformed(`there is no ${shown(format)} here`)
  const command = head.find((line) => line.startsWith('command='))?.slice('command='.length)
  if (command === 'ls-refs' || command === 'fetch') return command
  throw new Malformed(`unknown command "${shown(command ?? '')}"`)
}

function lsRefsOf(args: readonly string[]): GitCommand {
  const prefixes = args.flatMap((line) => (line.startsWith('ref-prefix ') ? [line.slice('ref-prefix '.length)] : []))
  return { name: 'ls-refs', prefixes, hasSymrefs: args.includes('symrefs') }
}

/** Only the arguments of promised features: no filter, no ref by name, no messages in all answers. */
const FETCH_ARGUMENT =
  /^(?:(?:want|have|shallow) [0-9a-f]{40}|done|thin-pack|no-progress|include-tag|ofs-delta|deepen [1-9][0-9]{0,9}|deepen-relative|deepen-(?:since|not) .+)$/

/** Reads a request of version 0 or 1 (gitprotocol-pack). Throws `Malformed`. */
export function readUploadRequest(body: Buffer): FetchRequest {
  // The first line ends with the capabilities.
  const [[first, ...rest]] = sectionsIn(body, (line, { before, isAfter }) =>
    UPLOAD_LINE.test(before.length === 0 && !isAfter ? line.slice(0, WANT) : line),
  )
  if (first === undefined) return { ...askedIn([]), hasSideBand: false }
  const [want, ...capabilities] = [first.slice(0, WANT), ...first.slice(WANT).trim().split(' ')]
  return { ...askedIn([want, ...rest]), hasSideBand: capabilities.includes('side-band-64k') }
}

const WANT = 'want '.length + 40

const UPLOAD_LINE = /^(?:(?:want|have|shallow) [0-9a-f]{40}|done|deepen [1-9][0-9]{0,9}|deepen-(?:since|not) .+)$/

function askedIn(lines: readonly string[]): Omit<FetchRequest, 'hasSideBand'> {
  const after = (word: string): string[] =>
    lines.flatMap((line) => (line.startsWith(word) ? [line.slice(word.length)] : []))
  return {
    wants: after('want '),
    haves: after('have '),
    isDone: lines.includes('done'),
    isShallow: lines.some((line) => line.startsWith('shallow ')),
    isDeepened: lines.some((line) => line.startsWith('deepen')),
  }
}

/** The part of a foreign line that an answer repeats. */
function shown(line: string): string {
  return printable(line.slice(0, 60))
}

/** The place of a line: after the first delimiter, or with the lines before it. */
interface LinePlace {
  readonly isAfter: boolean
  /** The lines of the first section so far. */
  readonly before: readonly string[]
}

/**
 * The lines of a request before and after its first delimiter, without their ends. Flushes only end sections. Stops at the
 * first line that is not allowed, or that is one too many: some bytes unpack to a million lines.
 */
function sectionsIn(
  body: Buffer,
  isAllowed: (line: string, place: LinePlace) => boolean,
): readonly [readonly string[], readonly string[]] {
  const sections: [string[], string[]] = [[], []]
  let isAfter = false
  let lines = 0
  for (let at = 0; at < body.length;) {
    lines += 1
    if (lines > MOST_LINES) throw new Malformed(`the request has more than ${MOST_LINES} lines`)
    const digits = body.toString('latin1', at, at + LENGTH_DIGITS)
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : NO_LENGTH
    if (length === NO_LENGTH || at + length > body.length) throw new Malformed('the request is not in lines of git')
    if (length === DELIMITER_LENGTH) isAfter = true
    if (length > NO_LENGTH) {
      const line = body.toString('utf8', at + LENGTH_DIGITS, at + length).replace(/\n$/, '')
      if (!isAllowed(line, { isAfter, before: sections[0] })) throw new Malformed(`unexpected line "${shown(line)}"`)
      sections[isAfter ? 1 : 0].push(line)
    }
    at += Math.max(length, LENGTH_DIGITS)
  }
  return sections
}

/** A client of git sends some hundred haves in a request, and at most some ten thousand. */
export const MOST_LINES = 2 ** 15

const LENGTH_DIGITS = 4
/** The lengths below this one mark a flush (0), a delimiter (1) and an end (2). */
const NO_LENGTH = 3
const DELIMITER_LENGTH = 1
