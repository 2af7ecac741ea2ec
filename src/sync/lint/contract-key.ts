import type { SkillDiagnostic } from '../skill-md/skill-diagnostic.ts'
import type { FrontmatterPath } from './document-positions.ts'

/**
 * The key at the start of a finding about the contract: `x-personal-mcp.references["my api"].path: …`. Empty if the
 * finding names no key, or it cannot be read.
 */
export function contractKeyOf({ message }: Pick<SkillDiagnostic, 'message'>): FrontmatterPath {
  const path: (string | number)[] = []
  SEGMENT.lastIndex = 0
  for (let found = SEGMENT.exec(message); found !== null; found = SEGMENT.exec(message)) {
    const { name, index, text } = found.groups ?? {}
    path.push(index === undefined ? (name ?? unquote(text ?? '""')) : Number(index))
    if (message.startsWith(': ', SEGMENT.lastIndex)) return path
  }
  return []
}

/** One step of the path: `.name`, `[2]` or `["any text"]`. */
const SEGMENT = /(?:^|\.)(?<name>[\w-]{1,64})|\[(?<index>\d{1,9})\]|\[(?<text>"(?:[^"\\]|\\.){0,400}")\]/y

function unquote(json: string): string {
  try {
    return String(JSON.parse(json))
  } catch (error) {
    if (error instanceof SyntaxError) return json
    throw error
  }
}
