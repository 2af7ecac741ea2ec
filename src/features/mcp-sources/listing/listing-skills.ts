import { inSlices, runInSlices } from '../../../base/async/cooperative.ts'
import { matcher } from '../../../base/globs.ts'
import { isObject } from '../../../base/json-object.ts'
import type { JsonObject } from '../../../base/json-value.ts'
import { baseName, folderOf, foldersAbove, joinPath, relativeTo } from '../../../base/paths.ts'
import { digestOf } from '../../../sync/model/digest.ts'
import { placing } from '../../../sync/model/serving-paths.ts'
import { EXECUTABLES } from '../../../sync/model/skill.ts'
import type { Skill, SkillFile, UpstreamNames } from '../../../sync/model/skill.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { pathOf, readUpstreamUri } from '../../../sync/model/uris/upstream-uri.ts'
import { worstStanding } from '../../../sync/model/worst-standing.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import { frontmatterOf } from '../../../sync/skill/frontmatter.ts'
import type { SkillDiagnostic, SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import { firstDiagnostics } from '../../../sync/survey/cap-diagnostics.ts'
import { checkContract, contractFindings } from '../../../sync/survey/check-contract.ts'
import { judgeDeclared } from '../../../sync/survey/listing-hidden-text.ts'
import { judgedFields, UNSAID } from '../../../sync/survey/read-document.ts'
import type { ReadDocument } from '../../../sync/survey/read-document.ts'
import { selector } from '../../../sync/survey/survey-rules.ts'
import type { Rules } from '../../../sync/survey/survey-rules.ts'
import { fileSetOf } from './listing-files.ts'
import type { FileSet } from './listing-files.ts'

/** The result of judging another server's listing. */
export interface JudgedListing {
  /** Sorted by `path`. */
  readonly skills: readonly Skill[]
  /** Findings of entries that name no skill. */
  readonly findings: readonly SkillDiagnostic[]
}

/**
 * Judges the entries of `skills/list`, each alone: a broken one hides no other (SEP-2640 requires a host to validate
 * the data before it acts on it). Reads no file.
 */
export async function declaredSkills(
  source: SourceId,
  entries: readonly unknown[],
  rules: Rules,
  signal: AbortSignal,
): Promise<JudgedListing> {
  const isSelected = selector(rules.selection)
  const named: Skill[] = []
  const unnamed: SkillDiagnostic[] = []
  const judge = (entry: unknown): void => {
    const judged = judgeEntry(entry, { source, ...rules })
    if ('files' in judged) named.push(judged)
    else unnamed.push(judged)
  }
  signal.throwIfAborted()
  await inSlices(entries, judge, signal)
  const { unlisted, nested } = rules.selection
  const [known, twins] = withoutTwins(named)
  const consistent = await withoutContradictions(known, signal)
  const skills = consistent.filter(({ path }) => isSelected(path))
  return {
    skills: await runInSlices(placing(skills, { names: 'exact', nested, isUnlisted: matcher(unlisted) })),
    findings: firstDiagnostics([...unnamed, ...twins], MOST_TOLD, (left) => {
      return { path: '', message: `${left} more entries of the listing are refused` }
    }),
  }
}

/** A listing has room for thousands. */
const MOST_TOLD = 32

interface Judging extends Rules {
  readonly source: SourceId
}

/** A skill, or the reason why the entry names none. */
function judgeEntry(entry: unknown, rules: Judging): Skill | SkillDiagnostic {
  if (!isObject(entry)) return refusedEntry('', 'An entry of the listing is not an object')
  const { uri } = entry
  if (typeof uri !== 'string') return refusedEntry('', 'An entry of the listing has no uri')
  const read = readUpstreamUri(uri)
  if (!read.ok) return refusedEntry('', `The entry ${shownValue(uri)} is refused: ${read.why}`)
  if (read.segments.at(-1) !== 'SKILL.md' || read.segments.length < 2)
    return refusedEntry(
      '',
      `The entry ${shownValue(uri)} is refused: it does not name the SKILL.md in the folder of a skill`,
    )
  return judgeSkill({ ...entry, uri }, folderOf(pathOf(read)), rules)
}

interface NamedEntry {
  readonly uri: string
  readonly frontmatter?: unknown
  readonly resources?: unknown
  readonly _meta?: unknown
}

function judgeSkill(entry: NamedEntry, path: string, { source, selection, limits }: Judging): Skill {
  const read = frontmatterOf(entry.frontmatter, limits.frontmatter)
  const said: ReadDocument = read.ok
    ? judgedFields(path, read.json)
    : { standing: 'withheld', fields: UNSAID, findings: [finding(read.rule, path, read.message)] }
  const misnamed = nameFindings(path, said.fields.frontmatter)
  const set = fileSetOf(entry, path, limits)
  const { frontmatter } = said.fields
  const hidden = judgeDeclared({ path, frontmatter, files: set.ok ? set.files : [] }, selection.hiddenUnicode)
  const held = checkContract(said.fields.frontmatter, path, pathsIn(set), selection.contract)
  const standings = [
    said.standing,
    misnamed.length > 0 || !set.ok || held.violated.length > 0 ? 'withheld' : 'served',
    hidden.isWithheld ? 'withheld' : 'served',
  ] as const
  return {
    path,
    servedPath: undefined,
    standing: worstStanding(standings),
    ...said.fields,
    ...(set.ok ? { files: set.files, size: set.size, digest: digestOf(set.files) } : NO_FILES),
    ...(held.contract !== undefined && { contract: held.contract }),
    upstream: {
      source,
      uri: entry.uri,
      ...(set.ok && set.uris !== undefined && { files: set.uris }),
      ...executablesIn(entry, set),
    },
    findings: [
      ...said.findings,
      ...misnamed,
      ...(set.ok ? [] : [set.finding]),
      ...hidden.findings,
      ...contractFindings(path, held),
    ],
  }
}

/** Ignores paths that are not files of the skill. */
function executablesIn({ _meta: meta }: NamedEntry, set: FileSet): Pick<UpstreamNames, 'executables'> {
  const said = isObject(meta) ? meta[EXECUTABLES] : undefined
  if (!set.ok || !Array.isArray(said)) return {}
  const named = new Set<unknown>(said)
  const executables = set.files.flatMap(({ path }) => (named.has(path) ? [path] : []))
  return executables.length > 0 ? { executables } : {}
}

const NO_FILES: Pick<Skill, 'files' | 'size' | 'digest'> = { files: [], size: 0, digest: undefined }

/**
 * SEP-2640: the last segment before SKILL.md equals the name. The skill is not renamed, because the URI is its
 * identity.
 */
function nameFindings(path: string, frontmatter: JsonObject | undefined): SkillDiagnostic[] {
  const name = frontmatter?.['name']
  if (typeof name !== 'string' || name === baseName(path)) return []
  const message = `The name ${shownValue(name)} is not the last segment of its URI, "${baseName(path)}"; only the server can fix that`
  return [finding('name-unlike-folder', path, message)]
}

function pathsIn(set: FileSet): readonly string[] | undefined {
  return set.ok ? set.files.map((file) => file.path) : undefined
}

/** Two spellings of one URI have the same path: the first entry is kept. */
function withoutTwins(skills: readonly Skill[]): readonly [readonly Skill[], readonly SkillDiagnostic[]] {
  const met = new Map<string, Skill>()
  const twins: SkillDiagnostic[] = []
  for (const skill of skills) {
    const { path, upstream } = skill
    if (met.has(path))
      twins.push(refusedEntry(path, `The entry ${shownValue(upstream?.uri)} is refused: it is listed twice`))
    else met.set(path, skill)
  }
  return [[...met.values()], twins]
}

/**
 * A URI has one content. The entry of an inner skill decides about its files; an outer skill that declares one of them
 * otherwise would be served with bytes that it does not declare. SEP-2640: the innermost folder counts.
 */
async function withoutContradictions(skills: readonly Skill[], signal: AbortSignal): Promise<readonly Skill[]> {
  const nesting = new Nesting(skills)
  const kept: Skill[] = []
  const judge = (skill: Skill): void => {
    const file = nesting.isOuter(skill) ? skill.files.find((one) => nesting.contradicts(skill, one)) : undefined
    kept.push(file === undefined ? skill : withholdContradicted(skill, file))
  }
  await inSlices(skills, judge, signal)
  return kept
}

function withholdContradicted(skill: Skill, { path }: SkillFile): Skill {
  const message = `Its file ${shownValue(path)} is a file of the skill inside it too, which declares it otherwise`
  const findings = [...skill.findings, finding('entry-refused', skill.path, message)]
  return { ...skill, standing: 'withheld', findings }
}

/** The skills inside of others, and their declarations. */
class Nesting {
  readonly #skills: ReadonlyMap<string, Skill>
  /** The paths of skills that contain others. */
  readonly #outer: ReadonlySet<string>
  /** The files of a skill by their paths, by the path of the skill. Made on demand. */
  readonly #files = new Map<string, ReadonlyMap<string, SkillFile>>()

  constructor(skills: readonly Skill[]) {
    this.#skills = new Map(skills.map((skill) => [skill.path, skill]))
    // For a skill further out, the nearest one is inside it.
    const nearest = ({ path }: Skill): string | undefined =>
      [...foldersAbove(path)].find((above) => this.#skills.has(above))
    this.#outer = new Set(skills.flatMap((skill) => nearest(skill) ?? []))
  }

  isOuter({ path }: Skill): boolean {
    return this.#outer.has(path)
  }

  /** True if an inner skill declares the outer one's file with other content. */
  contradicts({ path: outer }: Skill, { path, sha256, size }: SkillFile): boolean {
    const whole = joinPath(outer, path)
    for (const above of foldersAbove(whole)) {
      if (above === outer) return false
      const same = this.#filesOf(above)?.get(relativeTo(above, whole))
      if (same !== undefined && (same.sha256 !== sha256 || same.size !== size)) return true
    }
    return false
  }

  #filesOf(path: string): ReadonlyMap<string, SkillFile> | undefined {
    const skill = this.#skills.get(path)
    if (skill === undefined) return undefined
    const files = this.#files.get(path) ?? new Map(skill.files.map((file) => [file.path, file]))
    this.#files.set(path, files)
    return files
  }
}

function refusedEntry(path: string, message: string): SkillDiagnostic {
  return finding('entry-refused', path, message)
}

function finding(rule: SkillCode, path: string, message: string): SkillDiagnostic {
  return { rule, path, message }
}
