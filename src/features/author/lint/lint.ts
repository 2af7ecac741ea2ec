import { isDeepStrictEqual } from 'node:util'
import { foldersAbove, isBelow, joinPath } from '../../../base/paths.ts'
import { lenientText } from '../../../base/text/lenient-text.ts'
import { budgetSkillOf } from '../../../sync/catalog/budget/budget-skill.ts'
import type { BudgetSkill } from '../../../sync/catalog/budget/budget-skill.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import type { Skill, SkillFile } from '../../../sync/model/skill.ts'
import type { TakenBlob, Tree, TreeEntry } from '../../../sync/model/tree.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import { isMarkdown } from '../../../sync/skill/markdown/markdown-file.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { skillDocumentIn } from '../../../sync/survey/find-skills.ts'
import type { Rules } from '../../../sync/survey/survey-rules.ts'
import { survey } from '../../../sync/survey/survey.ts'
import { contractDeclarationOf, namedDeclarationOf } from './contract-rules.ts'
import type { Declaration } from './contract-rules.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { positionOf, writtenOf } from './document-positions.ts'
import { START } from './lines.ts'
import type { TextPosition } from './lines.ts'
import type { Authored } from './lint-input.ts'
import { inOrder, judge } from './lint-skill.ts'
import type { Level } from './lint-skill.ts'
import { OtherSkills } from './other-skills.ts'
import { describeCode } from './rule-texts.ts'

/** A validated skill, with its diagnostics. */
export interface Judged {
  /** Its folder, from the top of the tree. */
  readonly path: string
  /** `undefined` if it declares none. */
  readonly name: string | undefined
  readonly diagnostics: readonly LintDiagnostic[]
  /** `undefined` for a skill that does not keep the contract. */
  readonly declared: Declaration | undefined
  /** As clients list it; `undefined` if they do not. */
  readonly listed: BudgetSkill | undefined
  /** The skills that its `metadata` depends on; `undefined` if it has no name. */
  readonly needs: Declaration | undefined
}

/** The result for the skills of one folder. */
export interface Validation {
  readonly skills: readonly Judged[]
  /** Diagnostics that belong to no skill. */
  readonly diagnostics: readonly LintDiagnostic[]
}

/** The settings of a validation. */
export interface Validating {
  readonly rules: Rules
  readonly level: Level
  /** The name of the folder at the top; `undefined` if its author did not choose it. */
  readonly folder: string | undefined
  /** If absent, the official client's reading is not checked. */
  readonly readOfficially?: OfficialReader
}

/**
 * Surveys the tree like that of a source. Reports the survey's findings for each skill, and faults that only its author
 * can fix.
 */
export async function validate(tree: Tree, validating: Validating, signal: AbortSignal): Promise<Validation> {
  const { skills, findings, taken } = await survey(tree, validating.rules, undefined, signal)
  const reader = new AuthoredReader(tree, taken, { skills, ...validating })
  const { level, rules } = validating
  const contract = rules.selection.contract === true
  const standard = { level, contract, elsewhere: new OtherSkills(skills) }
  const folders = new Set(skills.map(({ path }) => path))
  const judged: Judged[] = []
  for (const skill of skills) {
    signal.throwIfAborted()
    const authored = await reader.read(skill)
    const findings = [...skill.findings, ...nestedIn(skill, folders)]
    judged.push({
      path: skill.path,
      name: skill.name,
      diagnostics: inOrder([
        ...withReason(skill, judge(authored, findings, standard)),
        ...(await ofClient(authored, validating)),
      ]),
      declared: contractDeclarationOf(authored, contract),
      listed: budgetSkillOf(skill, skill.path),
      needs: namedDeclarationOf(authored),
    })
  }
  return {
    skills: judged,
    diagnostics: inOrder(findings.map(({ rule: code, path, message }) => ({ code, path, place: START, message }))),
  }
}

/** Adds an error if a source would withhold the skill for something that is otherwise only a warning. */
function withReason(
  { path, standing, findings }: Skill,
  diagnostics: readonly LintDiagnostic[],
): readonly LintDiagnostic[] {
  if (standing !== 'withheld' || diagnostics.some(({ code }) => describeCode(code).severity === 'error'))
    return diagnostics
  const codes = [...new Set(findings.map(({ rule }) => rule))].join(', ')
  const message = `A source withholds the skill by default: ${codes}`
  return [{ code: 'withheld-by-default', path: joinPath(path, 'SKILL.md'), place: START, message }, ...diagnostics]
}

async function ofClient(authored: Authored, { readOfficially }: Validating): Promise<readonly LintDiagnostic[]> {
  return readOfficially === undefined ? [] : officialDiagnostics(authored, readOfficially)
}

/**
 * A survey accepts a skill inside a skill, unless the source is configured otherwise. Its author gets the finding in
 * both cases.
 */
function nestedIn({ path, findings }: Skill, folders: ReadonlySet<string>): SkillDiagnostic[] {
  const outer = [...foldersAbove(path)].find((above) => folders.has(above))
  if (outer === undefined || findings.some(({ rule }) => rule === 'nested-skill')) return []
  const where = outer === '' ? 'at the top' : `in "${outer}"`
  const message = `The skill is inside the skill ${where}: some clients do not find it there, and its files are served twice`
  return [{ rule: 'nested-skill', path, message }]
}

/** Reads the frontmatter of a document like the official MCP client. */
type OfficialReader = (document: string) => Promise<OfficialReading>

type OfficialReading =
  | { readonly kind: 'read'; readonly frontmatter: object }
  | { readonly kind: 'refused'; readonly line: number; readonly why: string }
  | { readonly kind: 'unsaid' }

/**
 * The diagnostics for which that client refuses the file: it cannot read the frontmatter, or its reading differs in the
 * comparison.
 */
async function officialDiagnostics(skill: Authored, read: OfficialReader): Promise<LintDiagnostic[]> {
  const { document, frontmatter } = skill
  if (document?.yaml === undefined || frontmatter === undefined) return []
  const reading = await read(`---\n${document.yaml.text}---\n`)
  if (reading.kind === 'unsaid') return []
  if (reading.kind === 'refused')
    return [diagnosticAt(skill, { line: reading.line, column: 1 }, `its reader stops here: ${reading.why}`)]
  const theirs = new Map<string, unknown>(Object.entries(plain(reading.frontmatter)))
  const key = [...new Set([...Object.keys(frontmatter), ...theirs.keys()])].find(
    (each) => !isDeepStrictEqual(frontmatter[each], theirs.get(each)),
  )
  if (key === undefined) return []
  const message = `it reads ${shownValue(key)} as ${shownValue(theirs.get(key))}, and YAML has it as ${shownValue(frontmatter[key])}`
  return [diagnosticAt(skill, positionOf(document, [key], 'value'), message)]
}

function diagnosticAt({ path, documentName }: Authored, place: TextPosition, message: string): LintDiagnostic {
  return {
    code: 'yaml-subset',
    path: joinPath(path, documentName),
    place,
    message: `The official client of MCP refuses this SKILL.md: ${message}`,
  }
}

/** Plain JSON objects, whatever prototype their reader gave them. */
function plain(value: object): object {
  const made: unknown = JSON.parse(JSON.stringify(value))
  return typeof made === 'object' && made !== null ? made : {}
}

/** All skills of the survey, and its inputs. */
interface Surveyed {
  readonly skills: readonly Skill[]
  readonly rules: Rules
  readonly folder: string | undefined
}

/**
 * Reads the texts of surveyed skills from the blobs that the survey took: no path on the disk is followed a second
 * time.
 */
class AuthoredReader {
  readonly #tree: Tree
  readonly #taken: ReadonlyMap<ObjectId, TakenBlob>
  readonly #surveyed: Surveyed
  readonly #folders: ReadonlySet<string>

  constructor(tree: Tree, taken: ReadonlyMap<ObjectId, TakenBlob>, surveyed: Surveyed) {
    this.#tree = tree
    this.#taken = taken
    this.#surveyed = surveyed
    this.#folders = new Set(surveyed.skills.map(({ path }) => path))
  }

  async read(skill: Skill): Promise<Authored> {
    const { rules, folder } = this.#surveyed
    const { path, frontmatter, files } = skill
    const entry = this.#documentOf(skill)
    const bytes = entry === undefined ? undefined : await this.#bytesOf(entry.id)
    const ownFiles = files.filter((file) => !this.#isOfInner(skill, file))
    return {
      path,
      folder,
      documentName: entry?.name ?? 'SKILL.md',
      document: bytes && writtenOf(bytes, rules.limits.frontmatter),
      frontmatter,
      files,
      ownFiles,
      texts: await this.#textsOf(ownFiles),
    }
  }

  /** A skill whose files cannot be served can still have a SKILL.md. */
  #documentOf({ path, files }: Skill): Pick<TreeEntry, 'name' | 'id'> | undefined {
    const named = files.filter((file) => /^skill\.md$/i.test(file.path))
    const served = named.find((file) => file.path === 'SKILL.md') ?? named[0]
    if (served !== undefined) return { name: served.path, id: served.blob }
    const folder = this.#folderAt(path)
    const entry = folder === undefined ? undefined : skillDocumentIn(this.#tree.list(folder))
    return entry?.kind === 'link' ? undefined : entry
  }

  /** `undefined` if a link is on the way. */
  #folderAt(path: string): ObjectId | undefined {
    let id = this.#tree.root
    for (const name of path === '' ? [] : path.split('/')) {
      const entry = this.#tree.list(id).find((candidate) => candidate.name === name)
      if (entry?.kind !== 'folder') return undefined
      id = entry.id
    }
    return id
  }

  #isOfInner(skill: Skill, file: SkillFile): boolean {
    const path = joinPath(skill.path, file.path)
    for (const folder of foldersAbove(path)) {
      if (!isBelow(folder, skill.path)) return false
      if (this.#folders.has(folder)) return true
    }
    return false
  }

  async #textsOf(files: readonly SkillFile[]): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>()
    for (const { path, blob, hidden } of files) {
      if (!isMarkdown(path) && hidden === undefined) continue
      const bytes = await this.#bytesOf(blob)
      if (bytes !== undefined) texts.set(path, lenientText(bytes).text)
    }
    return texts
  }

  async #bytesOf(blob: ObjectId): Promise<Uint8Array | undefined> {
    const taken = this.#taken.get(blob)
    if (taken?.kind !== 'blob') return undefined
    return this.#tree.bytesOf(taken)
  }
}
