import { SyncError } from '../../model/sync-error.ts'
import type { Head } from './http-failure.ts'

/** One behind the other. */
export const MAX_REDIRECTS = 5

/** Whether it sends whoever asked elsewhere. */
export function isRedirect({ status }: Head): boolean {
  return status >= 300 && status < 400 && status !== 304
}

/**
 * Where a redirect leads, which may be elsewhere at the same origin and nowhere else. No request but a GET is asked again:
 * a POST is not, wherever it would go.
 */
export function redirectOf(answer: Head, method: string, asked: URL, url: string): URL {
  if (method !== 'GET') throw refusedRedirect(answer, url, `it answers a ${method}`)
  const next = URL.parse(answer.header('location') ?? '', asked.href)
  if (next === null) throw refusedRedirect(answer, url, 'it names no address')
  if (next.origin !== asked.origin) throw refusedRedirect(answer, url, `it leads to "${next.origin}"`)
  // They would be sent in place of our own.
  next.username = ''
  next.password = ''
  return next
}

/** A redirect that is not followed. */
export class RedirectRefused extends SyncError {
  constructor(message: string) {
    super('source-unreachable', message)
  }
}

function refusedRedirect({ status }: Head, url: string, why: string): RedirectRefused {
  return new RedirectRefused(`Cannot reach "${url}": its redirect (${status}) is refused, ${why}`)
}

/** A host that sends whoever asks from one place to the next. */
export function tooManyRedirects(url: string): SyncError {
  return new SyncError('source-unreachable', `Cannot reach "${url}": more than ${MAX_REDIRECTS} redirects`)
}

/** The repository's address in that of its listing. */
export function baseOf(url: URL): string {
  return url.href.replace(/\/info\/refs(?:\?.*)?$/, '')
}
