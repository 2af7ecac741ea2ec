/** A frontmatter as the official SDK of MCP reads it. `refused`: not at all; `unsaid`: something else is wrong with the skill. */
export type OfficialReading =
  | { readonly kind: 'read'; readonly frontmatter: object }
  | { readonly kind: 'refused'; readonly line: number; readonly why: string }
  | { readonly kind: 'unsaid' }

/**
 * Reads the frontmatter of a SKILL.md as clients made with the official SDK do: its reader takes a part of YAML. The package has it
 * in no export, and builds entries of catalogs by it.
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
