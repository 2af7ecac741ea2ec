import { mendOf } from '../../../sync/model/sync-error.ts'
import type { SyncError } from '../../../sync/model/sync-error.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { DigestMismatchError } from './era-client.ts'
import type { ProbeFetch, HttpRefusal } from './probe-fetch.ts'

/** The explanation of a failed step: the message says what happened, `fix` the likely cause and what to try. */
export interface FailureCause {
  readonly message: string
  readonly fix: string
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
  if (failure !== undefined) return { message: failure.message, fix: failureFix(failure) }
  if (error instanceof DigestMismatchError) return { message: error.message, fix: REWRITTEN }
  const told = refusal && refusalCause(refusal, hasToken)
  if (told !== undefined) return told
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof TooLate) return { message, fix: isStreamed(step) ? HELD_BACK : SILENT }
  if (error instanceof NoStream || (isStreamed(step) && /stream ended/.test(message))) return { message, fix: CUT }
  return { message: printableLine(message).slice(0, MOST_CHARACTERS), fix: OTHER }
}

/** The address is no source, so that no key of the configuration concerns it. */
function failureFix(failure: SyncError): string {
  return failure.code === 'tls-failed' ? AUTHORITY : mendOf(failure)
}

const AUTHORITY =
  'Name an authority of your own: NODE_EXTRA_CA_CERTS=FILE skillsyncd doctor --connect, with its certificates in PEM form; each client needs it in its own settings too'

/** True for a step whose answer is a stream of events in both eras, or that waits for one. */
function isStreamed(step: string): boolean {
  return step === 'subscribe' || step === 'stream'
}

const HELD_BACK =
  'A proxy in front of the daemon holds streams of events back until they end: turn off its buffering for this address (nginx: proxy_buffering off), and compression'
const CUT =
  'A proxy in front of the daemon refuses or ends streams of events: permit GET, and allow long answers (nginx: proxy_read_timeout 1h)'
const SILENT =
  'Something accepts the connection and does not forward it: a proxy that does not reach the daemon, or a firewall'
const REWRITTEN =
  'Something on the way changes what is sent: turn off rewriting, filters and injected scripts of the proxy for this address'
const OTHER =
  'docs/troubleshooting.md lists the usual faults of proxies, and the log of the daemon the received requests'
const MOST_CHARACTERS = 500

function refusalCause(refusal: HttpRefusal, hasToken: boolean): FailureCause | undefined {
  const { status, type, location, text } = refusal
  const said = sentenceIn(refusal)
  const message = `it answers ${status}${said === '' ? '' : `: ${said}`}`
  if (status >= 300 && status < 400)
    return {
      message: `it answers ${status} and leads to "${printableLine(location ?? '')}"`,
      fix: 'Give that address instead',
    }
  if (type.toLowerCase().startsWith('text/html'))
    return { message: `${message}, a web page`, fix: PAGE.get(status) ?? PORTAL }
  if (status === 401) return { message, fix: hasToken ? TOKEN_REFUSED : TOKEN_MISSING }
  if (/Host header/.test(text)) return { message, fix: HOST }
  if (/header/i.test(text) && status === 400) return { message, fix: HEADERS }
  const fix = PAGE.get(status)
  return fix === undefined ? undefined : { message, fix }
}

const PORTAL =
  'A proxy requires a person to sign in: exempt this address from it, because a token identifies the client'
const TOKEN_MISSING =
  'Give a token: --token-file FILE, or the variable SKILLSYNCD_TOKEN; skillsyncd hub token add makes one'
const TOKEN_REFUSED =
  'The token is not valid there: skillsyncd hub token list shows the valid ones; a proxy may have replaced the Authorization header'
const HOST =
  'The daemon does not accept this host name: set serve.http.public_url or allowed_hosts, and let the proxy forward the name (nginx: proxy_set_header Host $host)'
const HEADERS =
  'A proxy in front of the daemon drops or changes headers: Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method and Mcp-Name must pass unchanged'
const NOT_REACHED =
  'A proxy answers in place of the daemon, which it does not reach: check the address that it forwards requests to'

const PAGE: ReadonlyMap<number, string> = new Map([
  [
    403,
    'The server that answers does not let this client in: the token lacks a scope, or a proxy has a rule against it',
  ],
  [404, 'There is no MCP server at this path: it ends in /mcp, or /mcp/PACK, and a proxy must not change it'],
  [405, 'There is no MCP server at this path, or a proxy refuses POST'],
  [413, 'A proxy in front of the daemon limits the size of requests'],
  [429, 'Too many requests; try again later'],
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
