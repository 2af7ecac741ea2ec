import { mendOf } from '../../sync/model/sync-error.ts'
import { printableLine } from '../base/log-line.ts'
import { DigestMismatch } from './era-client.ts'
import type { ProbeFetch, HttpRefusal } from './probe-fetch.ts'

/** The explanation of a failed step: the message says what happened, `mend` the likely cause and what to try. */
export interface FailureCause {
  readonly message: string
  readonly mend: string
}

/** A step exceeded its timeout. */
export class TooLate extends Error {
  override readonly name = 'TooLate'
}

/** There is no stream of notifications, or it ended. */
export class NoStream extends Error {
  override readonly name = 'NoStream'
}

/** The part of a step's set-up from which causes are derived. */
interface Taken {
  readonly fetch: Pick<ProbeFetch, 'failure' | 'refusal'>
  readonly hasToken: boolean
}

/** The likely cause of a failure, first from what came over the wire, then from the client's error. */
export function causeOf(step: string, error: unknown, { fetch, hasToken }: Taken): FailureCause {
  const { failure, refusal } = fetch
  if (failure !== undefined) return { message: failure.message, mend: mendOf(failure.code) }
  if (error instanceof DigestMismatch) return { message: error.message, mend: REWRITTEN }
  const told = refusal && refusalCause(refusal, hasToken)
  if (told !== undefined) return told
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof TooLate) return { message, mend: isStreamed(step) ? HELD_BACK : SILENT }
  if (error instanceof NoStream || (isStreamed(step) && /stream ended/.test(message))) return { message, mend: CUT }
  return { message: printableLine(message).slice(0, MOST_CHARACTERS), mend: OTHER }
}

/** True for a step whose answer is a stream of events in both eras, or that waits for one. */
function isStreamed(step: string): boolean {
  return step === 'subscribe' || step === 'stream'
}

const HELD_BACK =
  'A proxy before it holds streams of events back until they end: turn its buffering off for this address (nginx: proxy_buffering off), and compression'
const CUT =
  'A proxy before it refuses or ends streams of events: let GET through, and allow long answers (nginx: proxy_read_timeout 1h)'
const SILENT =
  'Something takes the connection and does not pass it on: a proxy that does not reach the daemon, or a firewall'
const REWRITTEN =
  'Something on the way changes what is sent: turn off rewriting, filters and injected scripts of the proxy for this address'
const OTHER = 'docs/troubleshooting.md has what proxies break, and the log of the daemon what it was asked'
const MOST_CHARACTERS = 500

function refusalCause(refusal: HttpRefusal, hasToken: boolean): FailureCause | undefined {
  const { status, type, location, text } = refusal
  const said = sentenceIn(refusal)
  const message = `it answers ${status}${said === '' ? '' : `: ${said}`}`
  if (status >= 300 && status < 400)
    return {
      message: `it answers ${status} and leads to "${printableLine(location ?? '')}"`,
      mend: 'Give that address instead',
    }
  if (type.toLowerCase().startsWith('text/html'))
    return { message: `${message}, a web page`, mend: PAGE.get(status) ?? PORTAL }
  if (status === 401) return { message, mend: hasToken ? TOKEN_REFUSED : TOKEN_MISSING }
  if (/Host header/.test(text)) return { message, mend: HOST }
  if (/header/i.test(text) && status === 400) return { message, mend: HEADERS }
  const mend = PAGE.get(status)
  return mend === undefined ? undefined : { message, mend }
}

const PORTAL =
  'A page stands before it that wants a person to sign in: let this address pass without, a token proves who asks'
const TOKEN_MISSING =
  'Give a token: --token-file FILE, or the variable SKILLSYNCD_TOKEN; skillsyncd token add makes one'
const TOKEN_REFUSED =
  'The token is not valid there: skillsyncd token list has those that are; a proxy may have replaced the Authorization header'
const HOST =
  'The daemon does not know the name it is reached by: set serve.http.public_url or allowed_hosts, and have the proxy pass the name on (nginx: proxy_set_header Host $host)'
const HEADERS =
  'A proxy before it drops or changes headers: Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method and Mcp-Name have to pass'
const NOT_REACHED =
  'A proxy answers in place of the daemon, which it does not reach: check the address that it passes requests on to'

const PAGE: ReadonlyMap<number, string> = new Map([
  [
    403,
    'The server that answers does not let this client in: the token lacks a scope, or a proxy has a rule against it',
  ],
  [404, 'Nothing speaks MCP at this path: it ends in /mcp, or /mcp/PACK, and a proxy before it has to keep the path'],
  [405, 'Nothing speaks MCP at this path, or a proxy lets no POST through'],
  [413, 'A proxy before it has a limit on the size of requests'],
  [429, 'Too much was asked; try again later'],
  [502, NOT_REACHED],
  [503, NOT_REACHED],
  [504, NOT_REACHED],
])

/** The message in a JSON body, or a short text as it is. */
function sentenceIn({ type, text }: HttpRefusal): string {
  if (type.toLowerCase().startsWith('text/html')) return ''
  const message = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? (type.includes('json') ? '' : text)
  return printableLine(message).slice(0, MOST_CHARACTERS)
}
