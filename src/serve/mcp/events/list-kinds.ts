import type { Principal } from '../../principal.ts'
import type { Events } from './events.ts'
import { opensContract, opensPrompts } from '../resources/compatibility.ts'

/**
 * What a notification about a list can be of. `skills`: the list of resources, as everybody sees it. `contract`: what only those
 * see of it who are shown the `resource://` family. `prompts`: the list of prompts.
 */
export type ListPart = 'skills' | 'contract' | 'prompts'

export const EVERY_PART: ReadonlySet<ListPart> = new Set<ListPart>(['skills', 'contract', 'prompts'])

/** The parts that are another. */
export function listPartsOf({ listChanged, contractListChanged, promptsListChanged }: Events): ListPart[] {
  return [
    ...(listChanged ? (['skills'] as const) : []),
    ...(contractListChanged ? (['contract'] as const) : []),
    ...(promptsListChanged ? (['prompts'] as const) : []),
  ]
}

/** The parts that a caller may hear of: for it there are no others. */
export function partsOpenTo(principal: Principal | undefined): ReadonlySet<ListPart> {
  const open: ListPart[] = ['skills']
  if (opensContract(principal)) open.push('contract')
  if (opensPrompts(principal)) open.push('prompts')
  return new Set(open)
}
