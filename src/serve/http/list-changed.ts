import type { ListPart } from '../mcp/hub.ts'

/** That the list is another in these parts. */
export function listChangedOf(parts: readonly ListPart[]): string {
  if (parts.length > 1) return BOTH
  return parts.includes('contract') ? CONTRACT : SKILLS
}

/** The parts that such a message is of; none for any other message. */
export function partsOfListChanged(json: string): readonly ListPart[] {
  return PARTS.get(json) ?? []
}

// One message in three spellings. To a client they say the same, and one that was not sent tells us of what it was.
const SKILLS = '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}'
const CONTRACT = '{"method":"notifications/resources/list_changed","jsonrpc":"2.0"}'
const BOTH = '{"jsonrpc":"2.0", "method":"notifications/resources/list_changed"}'

const PARTS: ReadonlyMap<string, readonly ListPart[]> = new Map([
  [SKILLS, ['skills']],
  [CONTRACT, ['contract']],
  [BOTH, ['skills', 'contract']],
])
