import { noArchiveReason } from '../../serve/mcp/resources/derived/archive-cache.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { ConfiguredSource } from '../config/config.ts'
import type { SourceDiagnostic } from './status.ts'

/**
 * Findings for the operator about archives that a source is meant to offer and cannot, each with the skill and the
 * reason.
 */
export function archiveDiagnostics(catalog: Catalog, { source, archives }: ConfiguredSource): SourceDiagnostic[] {
  if (archives.length === 0) return []
  const served = [...catalog.skills.values()].filter((skill) => skill.source === source.id)
  return served.flatMap((entry) =>
    archives.flatMap((format): SourceDiagnostic[] => {
      const why = noArchiveReason(catalog, entry, format)
      const { path, standing } = entry.skill
      const message = `there is no ${format} of the skill: ${why}`
      return why === undefined ? [] : [{ rule: 'archive-refused', path, message, standing }]
    }),
  )
}
