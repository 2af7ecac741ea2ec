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
  const [head, args] = sectionsIn(body)
  const format = head.find((line) => line.startsWith('object-format='))
  if (format !== undefined && format !== 'object-format=sha1') throw new Malformed(`there is no ${shown(format)} here`)
  const command = head.find((line) => line.startsWith('command='))?.slice('command='.length)
  if (command === 'ls-refs') return lsRefsOf(args)
  if (command === 'fetch') return { name: 'fetch', fetch: fetchOf(args) }
  throw new Malformed(`unknown command "${shown(command ?? '')}"`)
}

function lsRefsOf(args: readonly string[]): GitCommand {
  const prefixes = args.flatMap((line) => (line.startsWith('ref-prefix ') ? [line.slice('ref-prefix '.length)] : []))
  return { name: 'ls-refs', prefixes, hasSymrefs: args.includes('symrefs') }
}

function fetchOf(args: readonly string[]): FetchRequest {
  const unknown = args.find((line) => !FETCH_ARGUMENT.test(line))
  if (unknown !== undefined) throw new Malformed(`unexpected line "${shown(unknown)}"`)
  return { ...askedIn(args), hasSideBand: true }
}

/** Only the arguments of promised features: no filter, no ref by name, no messages in all answers. */
const FETCH_ARGUMENT =
  /^(?:(?:want|have|shallow) [0-9a-f]{40}|done|thin-pack|no-progress|include-tag|ofs-delta|deepen [1-9][0-9]{0,9}|deepen-relative|deepen-(?:since|not) .+)$/

/** Reads a request of version 0 or 1 (gitprotocol-pack). Throws `Malformed`. */
export function readUploadRequest(body: Buffer): FetchRequest {
  const [first, ...rest] = sectionsIn(body)[0]
  if (first === undefined) return { ...askedIn([]), hasSideBand: false }
  const [want, ...capabilities] = [first.slice(0, WANT), ...first.slice(WANT).trim().split(' ')]
  const args = [want, ...rest]
  const unknown = args.find((line) => !UPLOAD_LINE.test(line))
  if (unknown !== undefined) throw new Malformed(`unexpected line "${shown(unknown)}"`)
  return { ...askedIn(args), hasSideBand: capabilities.includes('side-band-64k') }
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

/** The lines of a request before and after its first delimiter, without their ends. Flushes only end sections. */
function sectionsIn(body: Buffer): readonly [readonly string[], readonly string[]] {
  const sections: [string[], string[]] = [[], []]
  let isAfter = false
  for (let at = 0; at < body.length;) {
    const digits = body.toString('latin1', at, at + LENGTH_DIGITS)
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : NO_LENGTH
    if (length === NO_LENGTH || at + length > body.length) throw new Malformed('the request is not in lines of git')
    if (length === DELIMITER_LENGTH) isAfter = true
    if (length > NO_LENGTH) {
      const text = body.toString('utf8', at + LENGTH_DIGITS, at + length)
      sections[isAfter ? 1 : 0].push(text.replace(/\n$/, ''))
    }
    at += Math.max(length, LENGTH_DIGITS)
  }
  return sections
}

const LENGTH_DIGITS = 4
/** The lengths below this one mark a flush (0), a delimiter (1) and an end (2). */
const NO_LENGTH = 3
const DELIMITER_LENGTH = 1
