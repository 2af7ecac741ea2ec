import { matcher } from '../../../base/globs.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import type { MisfitDiagnostic, PathProblems } from '../../../serve/page/page-data.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { ContractDiagnostic } from '../../../sync/catalog/contract-diagnostics.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { findingProblem } from '../../../sync/model/verdict/skill-problems.ts'
import { decidedIn } from '../../../sync/model/verdict/skill-states.ts'
import type { SkillDecisions } from '../../../sync/model/verdict/skill-states.ts'
import type { SkillProblem } from '../../../sync/model/verdict/verdict.ts'
import type { SourceScans } from '../../../sync/store/scan-records.ts'
import { configuredIn } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { scanTexts } from '../scan-text.ts'
import { scanIn } from '../source-scan.ts'
import { verdictsIn } from '../verdicts.ts'

/** The context for judging the problems of a source, in addition to its snapshot. */
export interface Around {
  readonly catalog: Catalog
  readonly config: Config
  readonly decisions: SkillDecisions
  readonly scans: SourceScans
}

/** The verdicts about the skills of one source that have reasons, except unlisted skills; and what is of no skill. */
export function pathProblemsOf(snapshot: Snapshot, around: Around): PathProblems[] {
  const { source, skills, findings, docsFolder } = snapshot
  const configured = configuredIn(around.config, source)
  const isHidden = isBelowGlobs(matcher(configured.source.unlisted))
  const decided = decidedIn(snapshot, configured.source, around.decisions)
  const verdictOf = verdictsIn(snapshot, decided, around)
  const ofSkills = skills.flatMap((skill): PathProblems[] => {
    const { path, standing } = skill
    if (standing === 'unlisted' || isHidden(path)) return []
    const { state, reasons } = verdictOf(skill)
    const match = decided.out.get(path)
    // Names of skills in other sources, and of unlisted skills, are not revealed here.
    const isTold = match === undefined || (match.source === source && !isHidden(match.path))
    const told = isTold ? reasons : [untold(source, path, reasons[0]), ...reasons.slice(1)]
    const shown = state === 'waiting' ? told : [...told, ...scanProblems(source, skill, around.scans)]
    return shown.length === 0 ? [] : [{ source, path, state, reasons: shown }]
  })
  const others = [findings, docsFolder?.findings ?? []].flat().filter(({ path }) => !isHidden(path))
  const ofSource = others.map((finding) => findingProblem(source, finding.path, finding))
  return others.length === 0 ? ofSkills : [...ofSkills, { source, path: '', reasons: ofSource }]
}

/** The decision without the skill that it is about. */
function untold(source: SourceId, path: string, decision: SkillProblem | undefined): SkillProblem {
  const place = `${source}/${path}`
  if (decision?.code === 'skill-recalled') return { ...decision, place }
  const message = 'in no list, and clients do not find it, because it matches another skill that is disabled'
  return { code: 'disabled', place, message, fix: `skillsyncd why ${shellWord(place)} names it` }
}

/** True for a path if it, or a folder above it, matches one of the globs. */
export function isBelowGlobs(matches: (path: string) => boolean): (path: string) => boolean {
  return (path) => {
    const segments = path.split('/')
    return segments.some((_, index) => matches(segments.slice(0, index + 1).join('/')))
  }
}

/** The findings of the scanner, also in a skill that is disabled because of them. */
function scanProblems(source: SourceId, { path, digest }: Skill, scans: SourceScans): readonly SkillProblem[] {
  const scan = scanIn(scans, 'skill', digest)
  const place = `${source}/${path}`
  const fix = `skillsyncd why ${shellWord(place)} shows all that the scanner reported`
  const texts = scan === undefined ? [] : scanTexts(scan).findings
  return texts.map((message) => ({ code: 'scan-finding', place, message, fix }))
}

/** The problems that name only listed skills. Each message names all skills of its problem. */
export function listedContractDiagnostics(
  { listed: all }: Catalog,
  problems: readonly ContractDiagnostic[],
): readonly MisfitDiagnostic[] {
  if (problems.length === 0) return []
  const listed = new Set(all.map(({ source, skill }) => placeOf({ source, path: skill.path })))
  return problems
    .filter(({ skills }) => skills.every((skill) => listed.has(placeOf(skill))))
    .map(({ code, message, skills }) => ({ code, message, fix: MISFIT_MENDS[code], skills }))
}

function placeOf({ source, path }: { readonly source: string; readonly path: string }): string {
  return `${source}/${path}`
}

const MISFIT_MENDS: Readonly<Record<MisfitDiagnostic['code'], string>> = {
  'id-clash':
    'Give all but one another id, or disable them: skillsyncd disable SOURCE/PATH. docs/authors.md explains it',
  'dependency-missing': 'Add the missing skill, or remove its id from `depends_on`. docs/authors.md explains it',
  'dependency-cycle': 'Remove one of the ids from `depends_on`. docs/authors.md explains it',
}
