import type { ListPart } from '../events/list-kinds.ts'

/** Returns the notifications for changed lists: one message for resources, and one for prompts. */
export function listsChangedOf(parts: readonly ListPart[]): string[] {
  return [
    ...ofResources(parts.includes('skills'), parts.includes('contract')),
    ...(parts.includes('prompts') ? [PROMPTS] : []),
  ]
}

/** Returns the parts that such a message stands for; empty for any other message. */
export function partsOfListChanged(json: string): readonly ListPart[] {
  return PARTS.get(json) ?? []
}

function ofResources(skills: boolean, contract: boolean): string[] {
  if (skills) return [contract ? BOTH : SKILLS]
  return contract ? [CONTRACT] : []
}

// One message in three spellings. They are equal to a client, but for an unsent message the spelling tells us its
// parts.
const SKILLS = '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}'
const CONTRACT = '{"method":"notifications/resources/list_changed","jsonrpc":"2.0"}'
const BOTH = '{"jsonrpc":"2.0", "method":"notifications/resources/list_changed"}'

const PROMPTS = '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}'

const PARTS: ReadonlyMap<string, readonly ListPart[]> = new Map([
  [SKILLS, ['skills']],
  [CONTRACT, ['contract']],
  [BOTH, ['skills', 'contract']],
  [PROMPTS, ['prompts']],
])
