import { hash } from 'node:crypto'

/** A ring, as the operator chose its members. */
export interface RingMembers {
  readonly id: string
  /** The names of principals. */
  readonly named: ReadonlySet<string>
  /** The share of the principals that no ring names, from 0 to 1. The last ring has the rest, whatever its share. */
  readonly share: number
  /** True for the ring of requests without a token, and of clients of standard input and output. */
  readonly isAnonymous: boolean
}

/** The ring of a principal, and the reason for it. */
export type Membership = { readonly ring: string } & (
  | { readonly by: 'name' }
  /** `fraction`: the place of the principal among all, from 0 to 1. */
  | { readonly by: 'share' | 'rest'; readonly fraction: number }
  | { readonly by: 'no-token' }
)

/** A principal, as rings know it. */
export interface RingPrincipal {
  /** Stays the same as long as it is the same person or machine. */
  readonly key: string
  /** The names by which a ring may name it. */
  readonly names: readonly string[]
}

/**
 * Returns the ring of a principal; `undefined` stands for a client without a token. The result depends on the principal
 * and on the rings alone: no other principal changes it. A ring that grows keeps its members.
 */
export function membershipOf(rings: readonly RingMembers[], principal: RingPrincipal | undefined): Membership {
  const last = rings.at(-1)?.id ?? ''
  if (principal === undefined) return { ring: rings.find(({ isAnonymous }) => isAnonymous)?.id ?? last, by: 'no-token' }
  for (const { id: ring, named } of rings) {
    if (principal.names.some((name) => named.has(name))) return { ring, by: 'name' }
  }
  const fraction = fractionOf(principal.key)
  let end = 0
  for (const { id: ring, share } of rings.slice(0, -1)) {
    end += share
    if (fraction < end) return { ring, by: 'share', fraction }
  }
  return { ring: last, by: 'rest', fraction }
}

/** The place of a principal among all, from 0 up to but not including 1: the first 48 bits of a SHA-256. */
function fractionOf(key: string): number {
  return hash('sha256', `${DOMAIN}${key}`, 'buffer').readUIntBE(0, 6) / 2 ** 48
}

/** Keeps the places apart from other digests of ids. */
const DOMAIN = 'skillsyncd-ring\0'
