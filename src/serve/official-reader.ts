/**
 * A frontmatter as the official MCP SDK parses it. `refused`: the SDK rejects it; `unsaid`: the SDK reports another
 * error of the skill.
 */
export type OfficialReading =
  | { readonly kind: 'read'; readonly frontmatter: object }
  | { readonly kind: 'refused'; readonly line: number; readonly why: string }
  | { readonly kind: 'unsaid' }

/**
 * Parses the frontmatter of a SKILL.md as clients with the official SDK do: its parser accepts a subset of YAML. The
 * package does not export the parser, but builds catalog entries with it.
 */
export async function readOfficially(document: string): Promise<OfficialReading> {
  const { skillEntry, SkillCatalogError } = await import('@modelcontextprotocol/server/ext/skills')
  try {
    const { frontmatter } = await skillEntry('skill', { 'SKILL.md': document })
    return { kind: 'read', frontmatter }
  } catch (error) {
    if (!(error instanceof SkillCatalogError)) throw error
    return refusalIn(error.problems.map(({ message }) => message))
  }
}

function refusalIn(messages: readonly string[]): OfficialReading {
  for (const message of messages) {
    const [, line, why] = REFUSED.exec(message) ?? []
    if (why !== undefined) return { kind: 'refused', line: Number(line), why }
  }
  return { kind: 'unsaid' }
}

const REFUSED = /^SKILL\.md frontmatter: line (\d+): (.+)$/s
