import { matcher } from '../../../base/globs.ts'
import type { PathDiagnostic, MisfitDiagnostic, PathDiagnostics } from '../../../serve/page/page-data.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { ContractDiagnostic } from '../../../sync/catalog/contract-diagnostics.ts'
import { describeSkillCode } from '../../../sync/model/code-descriptions.ts'
import { disabledIn } from '../../../sync/model/decisions/disabled-matches.ts'
import type { OutOfService } from '../../../sync/model/decisions/out-of-service.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import { strayLinks } from '../../../sync/model/snapshot.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import type { SourceScans } from '../../../sync/store/scan-records.ts'
import type { ConfiguredSource } from '../../config/config.ts'
import { archiveDiagnostics } from '../archive-diagnostics.ts'
import { disabledText, pendingText, skillOperand } from '../decision-text.ts'
import { scanTexts } from '../scan-text.ts'
import { scanIn } from '../source-scan.ts'
import { disabledBy } from '../status.ts'

/** The context for judging the problems of a source, in addition to its snapshot. */
export interface Around {
  readonly catalog: Catalog
  readonly configured: ConfiguredSource
  readonly outOfService: OutOfService
  /** The folders of its skills that wait for approval. */
  readonly pending: ReadonlySet<string>
  readonly scans: SourceScans
}

/** The standing and findings of each skill of one source, except unlisted skills. */
export function pathDiagnosticsOf(snapshot: Snapshot, around: Around): PathDiagnostics[] {
  const { catalog, configured, pending } = around
  const { source, skills, findings, docsFolder } = snapshot
  const isHidden = isBelowGlobs(matcher(configured.source.unlisted))
  const disabledHere = (skill: Skill): string | undefined => {
    const match = disabled.get(skill.path)
    // Names of skills in other sources, and of unlisted skills, are not revealed here.
    const isTold = match?.recall !== undefined || (match?.source === source && !isHidden(match.path))
    return match && (isTold ? disabledText(source, skill.path, disabledBy(match)) : DISABLED_ELSEWHERE)
  }
  const disabled = disabledIn(snapshot, around.outOfService)
  const links = strayLinks(skills)
  const ofArchives = Map.groupBy(archiveDiagnostics(catalog, configured), ({ path }) => path)
  const ofSkills = skills.flatMap((skill): PathDiagnostics[] => {
    if (skill.standing === 'unlisted' || isHidden(skill.path)) return []
    const decided = decidedOf(skill, disabledHere(skill), pending.has(skill.path), source)
    const found = withScan(
      decided ?? standingOf(skill, links.has(skill), ofArchives.get(skill.path)),
      skill,
      around.scans,
    )
    return found === undefined ? [] : [{ source, path: skill.path, ...found }]
  })
  const others = [findings, docsFolder?.findings ?? []].flat().filter(({ path }) => !isHidden(path))
  const ofSource: PathDiagnostics = { source, path: '', standing: 'source', diagnostics: others.map(withMend) }
  return others.length === 0 ? ofSkills : [...ofSkills, ofSource]
}

const DISABLED_ELSEWHERE =
  'disabled: in no list, and clients do not find it, because it matches another skill that is disabled'

/** True for a path if it, or a folder above it, matches one of the globs. */
export function isBelowGlobs(matches: (path: string) => boolean): (path: string) => boolean {
  return (path) => {
    const segments = path.split('/')
    return segments.some((_, index) => matches(segments.slice(0, index + 1).join('/')))
  }
}

type Found = Pick<PathDiagnostics, 'standing' | 'diagnostics'>

/** The operator's decision about the skill, or the decision that is due. */
function decidedOf(
  { path }: Skill,
  disabled: string | undefined,
  isPending: boolean,
  source: SourceId,
): Found | undefined {
  if (disabled !== undefined) {
    const mend =
      disabled === DISABLED_ELSEWHERE ? { mend: `skillsyncd why ${skillOperand(source, path)} names it` } : {}
    return { standing: 'disabled', diagnostics: [{ code: 'disabled', path, message: disabled, ...mend }] }
  }
  if (isPending)
    return { standing: 'pending', diagnostics: [{ code: 'pending', path, message: pendingText(source, path) }] }
  return undefined
}

function standingOf(
  { standing, findings }: Skill,
  isStrayLink: boolean,
  ofArchives: readonly SkillDiagnostic[] = [],
): Found | undefined {
  const found = [...findings, ...ofArchives].map((finding) =>
    // The message of a clash has the mend for its two places.
    finding.rule === 'name-clash' ? pathDiagnosticOf(finding) : withMend(finding),
  )
  if (isStrayLink) return { standing: 'link', diagnostics: found }
  if (standing === 'withheld' || standing === 'tools') return { standing, diagnostics: found }
  return found.length === 0 ? undefined : { standing: 'noted', diagnostics: found }
}

/** Adds the findings of the scanner, also to a skill that is out of service because of them. */
function withScan(found: Found | undefined, { path, digest }: Skill, scans: SourceScans): Found | undefined {
  const scan = scanIn(scans, 'skill', digest)
  if (scan === undefined || scan.findings.length === 0 || found?.standing === 'pending') return found
  const diagnostics = scanTexts(scan).findings.map((message): PathDiagnostic => ({ code: 'scan', path, message }))
  return { standing: found?.standing ?? 'noted', diagnostics: [...(found?.diagnostics ?? []), ...diagnostics] }
}

/** A diagnostic of a survey with the mend of its code, as `validate` prints it. */
function withMend(finding: SkillDiagnostic): PathDiagnostic {
  return { ...pathDiagnosticOf(finding), mend: describeSkillCode(finding.rule).mend }
}

function pathDiagnosticOf({ rule: code, path, message }: SkillDiagnostic): PathDiagnostic {
  return { code, path, message }
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
    .map(({ code, message, skills }) => ({ code, message, mend: MISFIT_MENDS[code], skills }))
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
