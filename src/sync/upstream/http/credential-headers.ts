import { SyncError } from '../../model/sync-error.ts'
import type { HostAccess } from './host-access.ts'

// An import would make Node load its `fetch` too, which takes ten times as long.
const { validateHeaderValue } = process.getBuiltinModule('node:http')

/** Returns the credential headers of the source at `own` for a request to `url`; none if it goes to another origin. */
export function credentialHeaders({ headers }: HostAccess, url: string, own: string): HostAccess['headers'] {
  if (new URL(url).origin !== new URL(own).origin) return {}
  for (const [name, value] of Object.entries(headers)) expectHeader(name, value, own)
  return headers
}

function expectHeader(name: string, value: string, url: string): void {
  try {
    validateHeaderValue(name, value)
  } catch {
    // Without the cause, because its message contains the value.
    throw new SyncError(
      'credentials-rejected',
      `Cannot reach "${url}": the credential is not text that a header can hold`,
    )
  }
}
