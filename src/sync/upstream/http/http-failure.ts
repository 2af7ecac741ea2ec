import { printable } from '../../../base/text/printable.ts'
import { CredentialRefused, RequestForbidden, SyncError } from '../../model/sync-error.ts'

/** The parts of an answer that identify a failure. */
export interface Head {
  readonly status: number
  /** The start of the body, if the answer is known to be a failure. */
  readonly text?: string
  header(name: string): string | undefined
}

interface Asked extends Head {
  readonly method: string
  readonly service?: GitService
}

/** The services of a git host: the one that sends objects, and the one that takes them. */
export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** Returns the failure of a git host's answer, by its status and headers; `undefined` for a usable answer. */
export function failureOf(answer: Head, what: string, sentCredentials: boolean): SyncError | undefined {
  if (isSignInPage(answer)) {
    const message = `${what}: the host answers with a page to sign in ${toWhat(sentCredentials)}`
    return new SyncError('credentials-rejected', message)
  }
  if (isWebPage(answer)) {
    // Usually a portal or a proxy that wants the user to sign in, instead of the host behind it.
    return new SyncError('source-unreachable', `${what}: the answer is a web page, not one of git`)
  }
  return answer.status === 200 ? undefined : statusFailure(answer, what, sentCredentials)
}

/** Like `failureOf`, for an answer that must be in git's own protocol. */
export function gitFailureOf(answer: Asked, what: string, sentCredentials: boolean): SyncError | undefined {
  const failure = failureOf(answer, what, sentCredentials)
  if (failure !== undefined) {
    const isRefusal = failure.code === 'source-unreachable' && isRefusing(answer.status)
    const code = isRefusal ? 'protocol-not-spoken' : failure.code
    if (MCP_STATUSES.has(answer.status) && looksLikeMcp(answer, what))
      return new SyncError(code, `${failure.message}; this looks like an MCP server: ${ADD_MCP}`)
    return isRefusal ? new SyncError(code, failure.message, { fix: refusalFix(answer) }) : failure
  }
  const expected = `application/x-${answer.service ?? 'git-upload-pack'}-${answer.method === 'GET' ? 'advertisement' : 'result'}`
  const type = (answer.header('content-type') ?? '').split(';')[0]?.trim()
  if (type === expected) return undefined
  const hint = looksLikeMcp(answer, what) ? 'this looks like an MCP server' : 'if it is an MCP server'
  const spoken = `${what}: it does not speak git's smart HTTP protocol${saidIn(answer)}; ${hint}: ${ADD_MCP}`
  return new SyncError('protocol-not-spoken', spoken)
}

const ADD_MCP = 'write `mcp:` in place of `url:`, as skillsyncd add --mcp URL does'

/** The statuses with which MCP servers answer a GET that they do not know. */
const MCP_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 406])

/** True if an answer that is not git's own, or the end of the address in `what`, is that of an MCP server. */
function looksLikeMcp(answer: Asked, what: string): boolean {
  const isJsonRpc = /"jsonrpc"\s*:\s*"2\.0"/.test(answer.text ?? '')
  return isJsonRpc || answer.header('mcp-session-id') !== undefined || MCP_ADDRESS.test(what)
}

/** The usual path of such an address. Deeper in a path, a repository may have this name. */
const MCP_ADDRESS = /^[^"]*"https?:\/\/[^"/]+\/(?:mcp|sse)\/?"/i

/** The statuses for a method or a type of content, which a git host hardly has, and an MCP server has for any GET. */
const MCP_REFUSALS: ReadonlySet<number> = new Set([405, 406])

function refusalFix({ status }: Head): string {
  const ask = 'Ask the operator of the host'
  if (!MCP_REFUSALS.has(status)) return ask
  return `${ask}; if it is an MCP server, name it so: skillsyncd add --mcp URL`
}

/** True for a status by which the host refuses the request as such: the same request will be refused again. */
function isRefusing(status: number): boolean {
  return (status >= 400 && status < 500 && !PASSING.has(status)) || status === 501 || status === 505
}

/** The statuses from 400 to 499 that say nothing about the request. */
const PASSING: ReadonlySet<number> = new Set([407, 408, 421, 423, 425])

/** Returns the failure for a status other than the expected one. */
export function statusFailure(answer: Head, what: string, sentCredentials: boolean): SyncError {
  const { status } = answer
  const pause = pauseIn(answer)
  const said = saidIn(answer)
  if (status === 429 || (status === 403 && pause !== undefined)) {
    return new SyncError('rate-limited', `${what}: the host answers ${status} and requests a pause${said}`, pause)
  }
  if (status === 401 || status === 403) {
    const message = `${what}: the host answers ${status} ${toWhat(sentCredentials)}${said}`
    // It concerns the permissions of the credential, not its validity.
    if (status === 403) return new RequestForbidden(message)
    return sentCredentials ? new CredentialRefused(message) : new SyncError('credentials-rejected', message)
  }
  if (status === 404 || status === 410) {
    return new SyncError('repository-not-found', `${what}: the host answers ${status}${said}`)
  }
  return new SyncError('source-unreachable', `${what}: the host answers ${status}${said}`, pause)
}

/** Returns the first line of a failed answer as a part of a message; nothing of a web page. */
function saidIn({ text = '' }: Head): string {
  const json = /^\s*\{/.test(text) ? /"message"\s*:\s*"([^"\\]*)"/.exec(text)?.[1] : undefined
  const line = (json ?? text).split(/[\r\n]+/).find((one) => one.trim() !== '') ?? ''
  return line === '' || /^\s*</.test(text) ? '' : `: it says "${printable(line.trim().slice(0, SAID_CHARACTERS))}"`
}

const SAID_CHARACTERS = 200

const PROXY = 'Ask the operator of the proxy to let this host through, or set `proxy: none` for it'

/** Returns the failure for a proxy's refusal. The proxy answers before the host is contacted. */
export function proxyRefusal(status: number, what: string, sentCredentials: boolean): SyncError {
  // From 500 on, the proxy did not reach the host.
  if (status !== 407)
    return new SyncError(
      'source-unreachable',
      `${what}: the proxy answers ${status}`,
      status < 500 ? { fix: PROXY } : {},
    )
  const fix = 'Check the user and the password of the proxy, in `proxy` or in the variable with its address'
  return new SyncError('credentials-rejected', `${what}: the proxy answers 407 ${toWhat(sentCredentials)}`, { fix })
}

function toWhat(sentCredentials: boolean): string {
  return sentCredentials ? 'to the credential that was sent' : 'and no credential was sent'
}

/** The next step for a proxy that cannot be reached. */
export const PROXY_ADDRESS =
  'Correct the address of the proxy, in `proxy` of the source or in HTTP_PROXY and HTTPS_PROXY; `proxy: none` goes without one'

/** Converts a connection error. `fix`: the next step, if it is not that of the code. Node's error code distinguishes names, certificates and sockets. */
export function connectionFailure(cause: unknown, what: string, fix?: string): SyncError {
  const code = codeOf(cause) ?? 'no reason given'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_FAIL') {
    return new SyncError('dns-failed', `${what}: the host name does not resolve (${code})`, { cause, fix })
  }
  if (TLS_CODES.test(code)) {
    const authority = isUntrusted(code) ? AUTHORITY : undefined
    const why = `no trusted connection${tlsReasonOf(code)} (${code})`
    return new SyncError('tls-failed', `${what}: ${why}`, { cause, fix: authority })
  }
  return new SyncError('source-unreachable', `${what}: the connection failed (${code})`, { cause, fix })
}

function tlsReasonOf(code: string): string {
  if (code === 'CERT_HAS_EXPIRED') return ', the certificate has expired'
  return isUntrusted(code) ? ', the certificate is not from a trusted authority' : ''
}

function isUntrusted(code: string): boolean {
  return /SELF_SIGNED_CERT|^UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)/.test(code)
}

/** The next step for an authority that Node does not know, where a source of the configuration is asked. */
const AUTHORITY =
  'Name the authority: `ca: FILE` of the source, with its certificates in PEM form; or NODE_EXTRA_CA_CERTS=FILE in the environment of the daemon and of this command'

const TLS_CODES = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|.*SELF_SIGNED_CERT|UNABLE_TO_)/

/** True for an HTML page, which no client of ours requests. */
export function isWebPage(answer: Head): boolean {
  const isFound = answer.status === 200 || answer.status === 203
  return isFound && (answer.header('content-type') ?? '').toLowerCase().startsWith('text/html')
}

/** True for a page to sign in, which some hosts send in place of a 401. */
export function isSignInPage(answer: Head): boolean {
  return (
    answer.status === 203 || (isWebPage(answer) && /<input[^>]*\btype\s*=\s*["']?password\b/i.test(answer.text ?? ''))
  )
}

/**
 * True if a redirect leads to a page to sign in, by the words of such addresses. That of git's own service leads to its
 * listing of refs.
 */
export function isSignInAddress(next: URL, asked: URL): boolean {
  const names = [...next.searchParams.keys()].join(' ')
  return (
    !next.pathname.endsWith('/info/refs') &&
    SIGN_IN.test(`${next.host}${next.pathname} ${names}`) &&
    !SIGN_IN.test(asked.href)
  )
}

const SIGN_IN =
  /log[-_]?[io]n|sign[-_]?in|(?<![a-z])(?:sso|saml2?|oauth2?|openid|authorize|authenticate|auth|adfs|idp|cas)(?![a-z])|return_?(?:to|url)|redirect_uri|relaystate/i

/**
 * Returns the pause that a host requests: by a delay, by the end of a window whose requests are spent, or in words.
 * `undefined` if it requests none.
 */
function pauseIn(answer: Head): { readonly retryAfterMs?: number } | undefined {
  const after = retryAfterOf(answer)
  if (after !== undefined) return { retryAfterMs: after }
  const [remaining, reset] = [REMAINING, RESET].map((names) => firstOf(answer, names))
  const [, left] = /(?:^|[\s;,])(?:r|remaining)\s*=\s*(\d+)/i.exec(answer.header('ratelimit') ?? '') ?? []
  const [, until] = /(?:^|[\s;,])(?:t|reset)\s*=\s*(\d+)/i.exec(answer.header('ratelimit') ?? '') ?? []
  const isSpent = Number(remaining ?? left ?? 1) <= 0
  const isWindow = isSpent || answer.status === 429
  const waitMs = isWindow ? untilReset(reset ?? until, answer.header('date')) : undefined
  if (waitMs !== undefined) return { retryAfterMs: waitMs }
  // The largest host asks for a minute at least in this case.
  if (/rate limit|too many requests|abuse detection/i.test(answer.text ?? '')) return { retryAfterMs: 60_000 }
  return isSpent ? {} : undefined
}

const REMAINING = ['x-ratelimit-remaining', 'ratelimit-remaining', 'x-rate-limit-remaining']
const RESET = ['x-ratelimit-reset', 'ratelimit-reset', 'x-rate-limit-reset']

/** The headers by which a host requests a pause. */
export const PAUSE_HEADERS: readonly string[] = ['retry-after', 'date', 'ratelimit', ...REMAINING, ...RESET]

function firstOf(answer: Head, names: readonly string[]): string | undefined {
  return names.map((name) => answer.header(name)).find((value) => value !== undefined)
}

/** Parses the end of a window: seconds from now, or a time in seconds or milliseconds, on the host's own clock. */
function untilReset(reset: string | undefined, date: string | undefined): number | undefined {
  if (reset === undefined || !/^\d{1,16}(?:\.\d{1,9})?$/.test(reset)) return undefined
  const value = Number(reset)
  if (value < FIRST_TIME) return Math.min(value * 1000, LONGEST_PAUSE_MS)
  const waitMs = (value < FIRST_TIME * 1000 ? value * 1000 : value) - Date.parse(date ?? '')
  return waitMs > 0 ? Math.min(waitMs, LONGEST_PAUSE_MS) : undefined
}

/** A number of seconds below this is no time since 1970, but a delay. */
const FIRST_TIME = 1_000_000_000
/** A host that names a time of another year has a wrong clock, or counts in another unit. */
const LONGEST_PAUSE_MS = 86_400_000

/** Parses seconds or a date. The date is relative to the host's own clock, which may differ from ours. */
function retryAfterOf(answer: Head): number | undefined {
  const value = answer.header('retry-after')
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const waitMs = Date.parse(value) - Date.parse(answer.header('date') ?? '')
  return Number.isNaN(waitMs) ? undefined : Math.max(waitMs, 0)
}

/** Finds the error code. A name with several addresses gives one error for all, and errors may be wrapped. */
function codeOf(error: unknown): string | undefined {
  let at = error
  for (let depth = 0; depth < 4 && at instanceof Error; depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  }
  return undefined
}
