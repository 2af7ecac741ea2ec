import { noArchiveReason } from '../../serve/mcp/resources/derived/archive-cache.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { SkillDiagnostic } from '../../sync/skill/skill-diagnostic.ts'
import type { ConfiguredSource } from '../config/config.ts'

/**
 * Findings for the operator about archives that a source is meant to offer and cannot, each with the skill and the
 * reason.
 */
export function archiveDiagnostics(catalog: Catalog, { source, archives }: ConfiguredSource): SkillDiagnostic[] {
  if (archives.length === 0) return []
  const served = [...catalog.skills.values()].filter((skill) => skill.source === source.id)
  return served.flatMap((entry) =>
    archives.flatMap((format): SkillDiagnostic[] => {
      const why = noArchiveReason(catalog, entry, format)
      const { path } = entry.skill
      const message = `there is no ${format} of the skill: ${why}`
      return why === undefined ? [] : [{ rule: 'archive-refused', path, message }]
    }),
  )
}
