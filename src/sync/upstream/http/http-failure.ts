import { CredentialRefused, SyncError } from '../../model/sync-error.ts'

/** The parts of an answer that identify a failure. */
export interface Head {
  readonly status: number
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
  if (isWebPage(answer)) {
    // Usually a portal or a proxy that wants the user to sign in, instead of the host behind it.
    return new SyncError('source-unreachable', `${what}: the answer is a web page, not one of git`)
  }
  return answer.status === 200 ? undefined : statusFailure(answer, what, sentCredentials)
}

/** Like `failureOf`, for an answer that must be in git's own protocol. */
export function gitFailureOf(answer: Asked, what: string, sentCredentials: boolean): SyncError | undefined {
  const failure = failureOf(answer, what, sentCredentials)
  if (failure !== undefined) return failure
  const expected = `application/x-${answer.service ?? 'git-upload-pack'}-${answer.method === 'GET' ? 'advertisement' : 'result'}`
  const type = (answer.header('content-type') ?? '').split(';')[0]?.trim()
  if (type === expected) return undefined
  return new SyncError(
    'unsupported',
    `${what}: it does not speak git's smart HTTP protocol; if it is an MCP server, write \`mcp:\` in place of \`url:\`, as skillsyncd add --mcp does`,
  )
}

/** Returns the failure for a status other than the expected one. */
export function statusFailure(answer: Head, what: string, sentCredentials: boolean): SyncError {
  const { status } = answer
  const retryAfterMs = retryAfterOf(answer)
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
  if (status === 429 || (status === 403 && retryAfterMs !== undefined)) {
    return new SyncError('rate-limited', `${what}: the host answers ${status} and requests a pause`, wait)
  }
  if (status === 401 || status === 403) {
    const message = `${what}: the host answers ${status} ${toWhat(sentCredentials)}`
    // A 403 concerns the permissions of the credential, not its validity.
    const isRefused = status === 401 && sentCredentials
    return isRefused ? new CredentialRefused(message) : new SyncError('credentials-rejected', message)
  }
  if (status === 404 || status === 410) {
    return new SyncError('repository-not-found', `${what}: the host answers ${status}`)
  }
  return new SyncError('source-unreachable', `${what}: the host answers ${status}`, wait)
}

/** Returns the failure for a proxy's refusal. The proxy answers before the host is contacted. */
export function proxyRefusal(status: number, what: string, sentCredentials: boolean): SyncError {
  if (status !== 407) return new SyncError('source-unreachable', `${what}: the proxy answers ${status}`)
  return new SyncError('credentials-rejected', `${what}: the proxy answers 407 ${toWhat(sentCredentials)}`)
}

function toWhat(sentCredentials: boolean): string {
  return sentCredentials ? 'to the credential that was sent' : 'and no credential was sent'
}

/** Converts a connection error. Node's error code distinguishes names, certificates and sockets. */
export function connectionFailure(cause: unknown, what: string): SyncError {
  const code = codeOf(cause) ?? 'no reason given'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_FAIL') {
    return new SyncError('dns-failed', `${what}: the host name does not resolve (${code})`, { cause })
  }
  if (TLS_CODES.test(code)) {
    return new SyncError('tls-failed', `${what}: no trusted connection${tlsReasonOf(code)} (${code})`, { cause })
  }
  return new SyncError('source-unreachable', `${what}: the connection failed (${code})`, { cause })
}

function tlsReasonOf(code: string): string {
  if (code === 'CERT_HAS_EXPIRED') return ', the certificate has expired'
  const isOfStranger = /SELF_SIGNED_CERT|^UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)/.test(code)
  return isOfStranger ? ', the certificate is not from a trusted authority' : ''
}

const TLS_CODES = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|.*SELF_SIGNED_CERT|UNABLE_TO_)/

/** True for an HTML page, which no client of ours requests. */
export function isWebPage(answer: Head): boolean {
  const isFound = answer.status === 200 || answer.status === 203
  return isFound && (answer.header('content-type') ?? '').toLowerCase().startsWith('text/html')
}

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
