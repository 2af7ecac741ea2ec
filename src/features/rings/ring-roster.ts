import type { RingRoster } from '../../serve/view.ts'
import { membershipOf } from './membership.ts'
import type { Membership, RingMembers, RingPrincipal } from './membership.ts'
import type { RingConfig, RingHubConfig } from './ring-config.ts'

/** The rings of the configuration, for the views; `undefined` if there are none. */
export function rosterOf({ rings }: Pick<RingHubConfig, 'rings'>): RingRoster | undefined {
  if (rings.length === 0) return undefined
  const membersOf = memberships(rings)
  return { ids: rings.map(({ id }) => id), ringOf: (principal) => membersOf(principal).ring }
}

/** Finds the ring of a principal by its id, or of a client without a token, with the reason. */
export function memberships(rings: readonly RingConfig[]): (principal: string | undefined) => Membership {
  const members = rings.map(membersIn)
  return (principal) => membershipOf(members, principal === undefined ? undefined : ringPrincipalOf(principal))
}

function membersIn({ id, principals, share, isAnonymous }: RingConfig): RingMembers {
  return { id, named: new Set(principals), share, isAnonymous }
}

/** The id of the principal that a person names: a whole id, or the name of a token, which then has no digest. */
export function principalNamed(name: string): string {
  return name.includes(':') ? name : `token:${name}`
}

/**
 * The principal of an id. A token that is made again under the same name is the same machine, so the digest in its id does
 * not count.
 */
export function ringPrincipalOf(id: string): RingPrincipal {
  const [, name] = /^token:([^#]+)(?:#[0-9a-f]{12})?$/.exec(id) ?? []
  if (name !== undefined) return { key: `token:${name}`, names: [id, `token:${name}`, name] }
  return { key: id, names: [id, id.replace(/#[0-9a-f]{32}$/, '')] }
}
