import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { HostRoute } from './host-access.ts'

/** Makes a connection use the known addresses of its host, because a DNS lookup would occupy a thread. */
export function knownAddresses({ known }: HostRoute): { readonly lookup?: LookupFunction } {
  const [first] = known?.addresses ?? []
  if (known === undefined || first === undefined) return {}
  return {
    lookup: (host, options, done) => {
      if (host !== known.host) lookup(host, options, done)
      else if (options.all === true) done(null, [...known.addresses])
      else done(null, first.address, first.family)
    },
  }
}
