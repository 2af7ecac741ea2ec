import type { Principal } from '../../principal.ts'
import { opensPrompts, opensScope } from '../resources/forms.ts'
import type { ResourceScope } from '../resources/resource-family.ts'

/**
 * The lists that a notification can be about. `skills`: the list of resources for all clients. `contract`: the part of
 * it for clients that see the `resource://` family. `prompts`: the list of prompts.
 */
export type ListPart = ResourceScope | 'prompts'

export const EVERY_PART: ReadonlySet<ListPart> = new Set<ListPart>(['skills', 'contract', 'prompts'])

/** Returns the parts that a caller may be notified of. For the caller, no others exist. */
export function partsOpenTo(principal: Principal | undefined): ReadonlySet<ListPart> {
  const isOpen = (part: ListPart): boolean =>
    part === 'prompts' ? opensPrompts(principal) : opensScope(principal, part)
  return new Set([...EVERY_PART].filter(isOpen))
}
