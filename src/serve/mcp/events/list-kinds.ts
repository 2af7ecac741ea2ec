import type { Principal } from '../../principal.ts'
import { opensContract, opensPrompts } from '../resources/forms.ts'
import type { Events } from './events.ts'

/**
 * The lists that a notification can be about. `skills`: the list of resources for all clients. `contract`: the part of
 * it for clients that see the `resource://` family. `prompts`: the list of prompts.
 */
export type ListPart = 'skills' | 'contract' | 'prompts'

export const EVERY_PART: ReadonlySet<ListPart> = new Set<ListPart>(['skills', 'contract', 'prompts'])

/** Returns the changed parts. */
export function listPartsOf({ listChanged, contractListChanged, promptsListChanged }: Events): ListPart[] {
  return [
    ...(listChanged ? (['skills'] as const) : []),
    ...(contractListChanged ? (['contract'] as const) : []),
    ...(promptsListChanged ? (['prompts'] as const) : []),
  ]
}

/** Returns the parts that a caller may be notified of. For the caller, no others exist. */
export function partsOpenTo(principal: Principal | undefined): ReadonlySet<ListPart> {
  const open: ListPart[] = ['skills']
  if (opensContract(principal)) open.push('contract')
  if (opensPrompts(principal)) open.push('prompts')
  return new Set(open)
}
