import { OperatorError } from '../runtime/operator-error.ts'

interface Ringed {
  readonly rings: readonly { readonly id: string }[]
}

/** The first ring takes each commit at once: nothing is promoted to it, and a hold of it is that of the source. */
export function expectLaterRing(ring: string, { rings }: Ringed): void {
  expectRings({ rings })
  const later = rings.slice(1).map(({ id }) => id)
  if (later.includes(ring)) return
  throw new OperatorError(
    'bad-request',
    `"${ring}" is no ring after the first; there are ${later.join(', ')}; skillsyncd hold without --ring holds the first one`,
  )
}

/** Throws if the configuration has no rings. */
export function expectRings({ rings }: Ringed): void {
  if (rings.length > 0) return
  throw new OperatorError('bad-request', 'There are no rings; name some in `rings` of the configuration')
}
