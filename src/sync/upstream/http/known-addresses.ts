import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { Route } from './host-access.ts'

/** Has a connection use the addresses that are known of its host: to look up its name would take a thread. */
export function knownAddresses({ known }: Route): { readonly lookup?: LookupFunction } {
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
