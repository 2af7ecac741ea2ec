import { SyncError } from '../../model/sync-error.ts'
import type { Way } from './host-access.ts'

// An import would have Node load its `fetch` too, which takes ten times as long.
const { validateHeaderValue } = process.getBuiltinModule('node:http')

/** What a request to `url` proves who we are with, for the source at `own`: nothing where it goes to another origin. */
export function credentialHeaders({ headers }: Way, url: string, own: string): Way['headers'] {
  if (new URL(url).origin !== new URL(own).origin) return {}
  for (const [name, value] of Object.entries(headers)) expectHeader(name, value, own)
  return headers
}

function expectHeader(name: string, value: string, url: string): void {
  try {
    validateHeaderValue(name, value)
  } catch {
    // Without the cause: it has the value in it.
    throw new SyncError(
      'credentials-rejected',
      `Cannot reach "${url}": the credential is no text that a header can hold`,
    )
  }
}
