import type { IncomingMessage } from 'node:http'

/** The reason to reject a request by its head alone. */
export interface HeadRefusal {
  readonly status: 400 | 431
  readonly message: string
}

/** Checks that the head of a request is complete and has one meaning, as the checks that follow require. */
export function refusalOfHead({ rawHeaders }: IncomingMessage): HeadRefusal | undefined {
  if (rawHeaders.length > 2 * MAX_HEADERS) return { status: 431, message: `There are more than ${MAX_HEADERS} headers` }
  // Node takes the first of several, a proxy before us perhaps the last (RFC 9112, section 3.2).
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host')
  return hosts.length > 1 ? { status: 400, message: 'There is more than one Host header' } : undefined
}

const MAX_HEADERS = 100
