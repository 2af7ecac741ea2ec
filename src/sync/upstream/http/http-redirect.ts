import { printable } from '../../../base/text/printable.ts'
import { SyncError } from '../../model/sync-error.ts'
import { isSignInAddress } from './http-failure.ts'
import type { Head } from './http-failure.ts'

/** The maximum number of consecutive redirects. */
export const MAX_REDIRECTS = 5

/** True if the answer is a redirect. */
export function isRedirect({ status }: Head): boolean {
  return status >= 300 && status < 400 && status !== 304
}

/**
 * Returns the target of a redirect, which must have the same origin. Only a GET is repeated; a POST is refused with any
 * target.
 */
export function redirectOf(answer: Head, method: string, asked: URL, url: string): URL {
  const next = URL.parse(answer.header('location') ?? '', asked.href)
  if (next !== null && isSignInAddress(next, asked)) throw signInRedirect(answer, next, `Cannot reach "${url}"`)
  if (method !== 'GET') throw refusedRedirect(answer, url, `it answers a ${method}`)
  if (next === null) throw refusedRedirect(answer, url, 'it names no address')
  if (next.origin !== asked.origin) throw refusedRedirect(answer, url, `it leads to "${next.origin}"`)
  // They would be sent instead of the source's credential.
  next.username = ''
  next.password = ''
  return next
}

/** Creates the error for a redirect to a page to sign in: a credential is missing, or is not enough. */
export function signInRedirect({ status }: Head, { origin, pathname }: URL, what: string): SyncError {
  const page = printable(`${origin}${pathname}`.slice(0, 200))
  return new SyncError(
    'credentials-rejected',
    `${what}: its redirect (${status}) leads to a page to sign in, "${page}"`,
  )
}

/** A redirect that is not followed. */
export class RedirectRefusedError extends SyncError {
  constructor(message: string) {
    super('source-unreachable', message)
  }
}

function refusedRedirect({ status }: Head, url: string, why: string): RedirectRefusedError {
  return new RedirectRefusedError(`Cannot reach "${url}": its redirect (${status}) is refused, ${why}`)
}

/** Creates the error for a host that redirects again and again. */
export function tooManyRedirects(url: string): SyncError {
  return new SyncError('source-unreachable', `Cannot reach "${url}": more than ${MAX_REDIRECTS} redirects`)
}

/** Returns the repository's address from the address of its ref listing. */
export function baseOf(url: URL): string {
  return url.href.replace(/\/info\/refs(?:\?.*)?$/, '')
}
