import { baseName } from '../../base/paths.ts'
import { noArchiveReason } from '../../serve/mcp/resources/derived/archive-cache.ts'
import type { ArchiveFormat } from '../../serve/mcp/resources/derived/archive-cache.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { folderSkillOf } from '../../sync/catalog/folder-skills.ts'
import { isInLists, isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import { strayLinks } from '../../sync/model/snapshot.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { surveyProblems } from '../../sync/model/verdict/skill-problems.ts'
import { isListed, verdictStateOf } from '../../sync/model/verdict/skill-states.ts'
import type { DecidedSkills } from '../../sync/model/verdict/skill-states.ts'
import { NO_WAYS } from '../../sync/model/verdict/verdict.ts'
import type { SkillProblem, Verdict, Ways } from '../../sync/model/verdict/verdict.ts'
import { isYaml } from '../../sync/skill/entry-faults.ts'
import type { SkillDiagnostic } from '../../sync/skill/skill-diagnostic.ts'
import { unportableReason } from '../../sync/skill/skill-path.ts'
import { configuredIn } from '../config/config.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import { disabledBy, outProblem, waitingProblem } from './decision-text.ts'

/** Judges the skills of one source, with the reasons: what the survey found, and what people, scans and hubs decided. */
export function verdictsIn(
  snapshot: Snapshot,
  decided: DecidedSkills,
  { config, catalog }: { readonly config: Config; readonly catalog: Catalog },
): (skill: Skill) => Verdict {
  const { source } = snapshot
  const configured = configuredIn(config, source)
  const links = strayLinks(snapshot.skills)
  const ofArchives = Map.groupBy(archiveDiagnostics(catalog, source, config.serve.archives), ({ path }) => path)
  return (skill) => {
    const { path } = skill
    const state = verdictStateOf(skill, decided)
    const match = decided.out.get(path)
    const reasons = [
      ...(match === undefined ? [] : [outProblem(source, path, disabledBy(match))]),
      ...(decided.waiting.has(path) ? [waitingProblem(source, path)] : []),
      ...(links.has(skill) ? [strayLink(source, path)] : []),
      ...surveyProblems(source, skill, ofArchives.get(path)),
    ]
    return { state, ways: state === 'served' || state === 'partly' ? waysOf(skill, configured) : NO_WAYS, reasons }
  }
}

function waysOf(skill: Skill, { source }: ConfiguredSource): Ways {
  const isHere = !isOfUpstream(skill)
  const isNamed = skill.standing === 'served' || folderSkillOf(source.id, skill).length > 0
  const isFile = isNamed && unportableReason(skill) === undefined
  return {
    listed: isListed(skill),
    tools: isInLists(skill),
    folder: isFile && (isHere || (source.kind === 'mcp' && source.folders)),
    marketplace: isFile && isHere && isYaml(skill),
    channel: isHere,
  }
}

function strayLink(source: string, path: string): SkillProblem {
  const message = `it is a link that leads nowhere, and a skill called "${baseName(path)}" is served`
  return { code: 'stray-link', place: `${source}/${path}`, message, fix: 'Remove the link' }
}

/**
 * Findings for the operator about archives that a source is meant to offer and cannot, each with the skill and the
 * reason.
 */
function archiveDiagnostics(catalog: Catalog, source: SourceId, archives: readonly ArchiveFormat[]): SkillDiagnostic[] {
  if (archives.length === 0) return []
  const served = [...catalog.skills.values()].filter((skill) => skill.source === source)
  return served.flatMap((entry) =>
    archives.flatMap((format): SkillDiagnostic[] => {
      const why = noArchiveReason(catalog, entry, format)
      const { path } = entry.skill
      const message = `there is no ${format} of the skill: ${why}`
      return why === undefined ? [] : [{ rule: 'archive-refused', path, message }]
    }),
  )
}
