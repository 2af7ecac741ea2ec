import { isAlias, isCollection, isNode, visit } from 'yaml'
import type { JsonValue } from '../../../base/json-value.ts'
import { joinPath } from '../../../base/paths.ts'
import { kindOf } from '../../../sync/skill/entry-faults.ts'
import { lifecycleFaults } from '../../../sync/skill/lifecycle.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { isSkillName } from '../../../sync/skill/skill-name.ts'
import { AGENT_SKILLS_FIELDS } from '../../../sync/skill/standard-fields.ts'
import { xmlTagIn } from '../../../sync/skill/xml-tag.ts'
import { contractLintDiagnostics, hasBlock } from './contract-rules.ts'
import type { LintCode, LintDiagnostic } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import { folderDiagnostics } from './folder-rules.ts'
import { START } from './lines.ts'
import type { TextPosition } from './lines.ts'
import { linkDiagnostics } from './link-rules.ts'
import type { Authored } from './lint-input.ts'
import { OtherSkills } from './other-skills.ts'
import { SKELETON_TEXTS } from './skeleton.ts'
import { surveyDiagnostics } from './survey-diagnostics.ts'
import { yamlValueDiagnostics } from './yaml-rules.ts'

/** The strictness of the specification: its text, or its reference validator. */
export type Level = 'spec' | 'skills-ref'

/** The requirements on a skill. */
export interface Standard {
  readonly level: Level
  /** True if every skill must keep the frontmatter contract. */
  readonly contract: boolean
  /** The skills that are validated with it. */
  readonly elsewhere?: OtherSkills
}

/** All diagnostics for the skill's author, by file, from top to bottom. Never throws, whatever the skill contains. */
export function judge(
  skill: Authored,
  findings: readonly SkillDiagnostic[],
  { level, contract, elsewhere = NOWHERE }: Standard,
): LintDiagnostic[] {
  const diagnostics = [
    ...surveyDiagnostics(skill, notJudgedHere(skill, findings)),
    ...(findings.some(({ rule }) => rule === 'encoding-invalid') ? [] : encodingDiagnostics(skill)),
    ...contractLintDiagnostics(skill, contract),
    ...topFolderDiagnostics(skill),
    ...fieldDiagnostics(skill, contract || hasBlock(skill)),
    ...yamlValueDiagnostics(skill),
    ...descriptionDiagnostics(skill),
    ...bodyDiagnostics(skill),
    ...skeletonDiagnostics(skill),
    ...linkDiagnostics(skill, elsewhere),
    ...folderDiagnostics(skill),
    ...(level === 'skills-ref' ? referenceValidatorDiagnostics(skill) : []),
  ]
  return inOrder(diagnostics)
}

const NOWHERE = new OtherSkills([])

/** Drops findings of the survey that the rules here report in more detail, with data that the survey does not need. */
function notJudgedHere(skill: Authored, findings: readonly SkillDiagnostic[]): SkillDiagnostic[] {
  return hasBlock(skill) ? findings.filter(({ rule }) => !rule.startsWith('contract-')) : [...findings]
}

/** Sorts by path and place. */
export function inOrder(diagnostics: readonly LintDiagnostic[]): LintDiagnostic[] {
  return diagnostics.toSorted(
    (a, b) =>
      (a.path < b.path ? -1 : Number(a.path > b.path)) ||
      a.place.line - b.place.line ||
      a.place.column - b.place.column,
  )
}

/** Checks that the rest of SKILL.md is UTF-8: a survey decodes only the frontmatter. */
function encodingDiagnostics({ path, documentName, document }: Authored): LintDiagnostic[] {
  if (document?.fault === undefined) return []
  const { lines, fault } = document
  const message = `The file is not valid UTF-8: the byte 0x${fault.byte.toString(16).toUpperCase()} here is not part of a character`
  return [{ code: 'encoding-invalid', path: joinPath(path, documentName), place: lines.at(fault.offset), message }]
}

/** A survey allows any folder name for the skill at the top of a source; the specification does not. */
function topFolderDiagnostics({ path, folder, frontmatter, document, documentName }: Authored): LintDiagnostic[] {
  const name = frontmatter?.['name']
  if (path !== '' || folder === undefined || document === undefined) return []
  if (typeof name !== 'string' || !isSkillName(name) || name === folder) return []
  const message = `The name "${name}" is not the name of its folder "${folder}"`
  return [{ code: 'name-unlike-folder', path: documentName, place: positionOf(document, ['name'], 'value'), message }]
}

/** Checks whether an agent can choose the skill by its description. */
function descriptionDiagnostics(skill: Authored): LintDiagnostic[] {
  const { document, frontmatter } = skill
  const description = frontmatter?.['description']
  if (document === undefined || typeof description !== 'string' || description.trim() === '') return []
  const at = { path: joinPath(skill.path, skill.documentName), place: positionOf(document, ['description'], 'value') }
  const characters = Array.from(description.trim()).length
  if (characters < FEWEST_CHARACTERS)
    return [{ code: 'description-short', ...at, message: `The description has ${characters} characters` }]
  const trigger = frontmatter?.['when_to_use']
  if (saysWhen(description) || (typeof trigger === 'string' && trigger.trim() !== '')) return []
  return [
    { code: 'description-no-when', ...at, message: 'The description says what the skill does, but not when to use it' },
  ]
}

/** No author says what and when in fewer. */
const FEWEST_CHARACTERS = 30

/** A text in another script than Latin is not judged: these words are mostly English, like nearly all descriptions. */
function saysWhen(description: string): boolean {
  const letters = description.match(/\p{L}/gu)?.length ?? 0
  const latin = description.match(/\p{Script=Latin}/gu)?.length ?? 0
  return latin * 2 < letters || WHEN.test(description)
}

/** Words that introduce an occasion. One is enough: missing a bad description is better than blaming a good one. */
const WHEN =
  /\b(?:when|whenever|while|use|uses|used|useful|using|for|if|before|after|during|upon|once|asks?|asked|asking|mentions?|needs?|needed|wants?|requests?|requires?|triggers?|triggered|invoke[ds]?|trigger(?:ing)?|activat(?:es?|ed|ing)|helps?|cu[aá]ndo|quand|wenn|quando|para|pour|für)\b/iu

/** The specification's advice: under 500 lines and under 5,000 tokens. */
const MOST_LINES = 500
const MOST_TOKENS = 5_000

/** Checks whether the instructions are short enough to be read whole at each use of the skill. */
function bodyDiagnostics({ path, documentName, document }: Authored): LintDiagnostic[] {
  if (document === undefined) return []
  const { text, lines, bodyStart } = document
  const at = joinPath(path, documentName)
  const diagnostics: LintDiagnostic[] = []
  const before = lines.at(bodyStart).line - 1
  const count = lines.count - before
  if (count > MOST_LINES) {
    const place = { line: before + MOST_LINES + 1, column: 1 }
    diagnostics.push({
      code: 'body-long',
      path: at,
      place,
      message: `The instructions have ${count} lines, over ${MOST_LINES}`,
    })
  }
  const tokens = estimatedTokens(text, bodyStart)
  if (tokens > MOST_TOKENS) {
    const message = `The instructions have about ${tokens} tokens, over ${MOST_TOKENS}`
    diagnostics.push({ code: 'body-tokens', path: at, place: lines.at(bodyStart), message })
  }
  return diagnostics
}

/**
 * Counts one token for four ASCII characters, and one for each other character. For English prose the result is within
 * a fifth of real tokenizers; code, tables and other scripts with short words have more tokens than this.
 */
function estimatedTokens(text: string, start = 0): number {
  let [ascii, others] = [0, 0]
  for (let at = start; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) ascii += 1
    // The second half of a pair belongs to the character that was already counted.
    else if (unit < 0xdc_00 || unit > 0xdf_ff) others += 1
  }
  return Math.ceil(ascii / 4) + others
}

/**
 * The additional refusals of skills-ref, the reference validator, beyond the specification: its YAML dialect has no
 * brackets and no anchors, and any three dashes end the frontmatter.
 */
function referenceValidatorDiagnostics(skill: Authored): LintDiagnostic[] {
  const { document, frontmatter } = skill
  if (document?.yaml === undefined) return []
  const { yaml, text, lines } = document
  const path = joinPath(skill.path, skill.documentName)
  const diagnostic = (code: LintCode, place: TextPosition, message: string): LintDiagnostic => ({
    code,
    path,
    place,
    message,
  })
  const diagnostics = Object.keys(frontmatter ?? {})
    .filter((field) => !KNOWN.has(field))
    .map((field) =>
      diagnostic('unknown-field', positionOf(document, [field], 'key'), `The specification has no field "${field}"`),
    )
  if (text.startsWith('\uFEFF'))
    diagnostics.push(diagnostic('byte-order-mark', START, 'The file begins with a byte order mark'))
  const dashes = yaml.text.indexOf('---')
  if (dashes !== -1)
    diagnostics.push(
      diagnostic('dashes-in-frontmatter', lines.at(yaml.start + dashes), 'There are three dashes in a row here'),
    )
  const flow = flowIn(yaml.document.contents)
  if (flow !== undefined)
    diagnostics.push(diagnostic('flow-style', lines.at(yaml.start + flow.at), `There is ${flow.what} here`))
  return diagnostics
}

const KNOWN: ReadonlySet<string> = new Set(AGENT_SKILLS_FIELDS)

/** Finds the first one. */
function flowIn(contents: unknown): { readonly at: number; readonly what: string } | undefined {
  let found: { readonly at: number; readonly what: string } | undefined
  if (!isNode(contents)) return undefined
  visit(contents, {
    Node(_, node) {
      const what = flowOf(node)
      if (what === undefined) return undefined
      found = { at: node.range?.[0] ?? 0, what }
      return visit.BREAK
    },
  })
  return found
}

function flowOf(node: unknown): string | undefined {
  if (isAlias(node)) return 'an alias'
  if (isCollection(node) && node.flow === true) return 'a list or a mapping in brackets'
  return isNode(node) && 'anchor' in node && node.anchor !== undefined ? 'an anchor' : undefined
}

/** Finds what the author has not written yet. */
function skeletonDiagnostics({ path, documentName, document }: Authored): LintDiagnostic[] {
  if (document === undefined) return []
  const { text, lines } = document
  return SKELETON_TEXTS.flatMap((part): LintDiagnostic[] => {
    const at = text.indexOf(part)
    if (at === -1) return []
    const message = `"${part}" is of the skeleton`
    return [{ code: 'skeleton-text', path: joinPath(path, documentName), place: lines.at(at), message }]
  })
}

/**
 * Checks the optional fields of the specification, which a survey leaves to the readers of the skill. `contract`: the
 * frontmatter contract applies to the skill.
 */
function fieldDiagnostics(skill: Authored, contract: boolean): LintDiagnostic[] {
  const { document, frontmatter } = skill
  if (document === undefined || frontmatter === undefined) return []
  const path = joinPath(skill.path, skill.documentName)
  const diagnostic: MakeDiagnostic = (code, field, message) => {
    return { code, path, place: positionOf(document, [field], 'value'), message }
  }
  const field = (name: string): JsonValue | undefined => frontmatter[name]
  return [
    ...(isTextOrNothing(field('license'))
      ? []
      : [diagnostic('license-not-text', 'license', notText('license', field('license')))]),
    ...toolsDiagnostics(field('allowed-tools'), contract, diagnostic),
    ...['license', 'allowed-tools'].flatMap((name) =>
      isEmpty(field(name))
        ? [diagnostic('field-empty', name, `${name} is empty; give it a value, or leave it out`)]
        : [],
    ),
    ...lifecycleFaults(frontmatter).map(({ keys, message }): LintDiagnostic => {
      return { code: 'lifecycle-invalid', path, place: positionOf(document, keys, 'value'), message }
    }),
    ...['name', 'description'].flatMap((name) => {
      const tag = tagIn(field(name))
      return tag === undefined ? [] : [diagnostic('tags-in-text', name, `The ${name} holds ${JSON.stringify(tag)}`)]
    }),
  ]
}

/**
 * The specification requires a text; the frontmatter contract also allows a list of texts, and most clients read one.
 */
function toolsDiagnostics(
  tools: JsonValue | undefined,
  contract: boolean,
  diagnostic: MakeDiagnostic,
): LintDiagnostic[] {
  const name = 'allowed-tools'
  if (isTextOrNothing(tools)) return []
  if (!Array.isArray(tools) || !tools.every((tool) => typeof tool === 'string'))
    return [diagnostic('allowed-tools-not-text', name, notText(name, tools))]
  return contract ? [] : [diagnostic('allowed-tools-list', name, notText(name, tools))]
}

type MakeDiagnostic = (code: LintCode, field: string, message: string) => LintDiagnostic

function notText(name: string, value: JsonValue | undefined): string {
  return `${name} is ${kindOf(value)}, not text`
}

function isTextOrNothing(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || typeof value === 'string'
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '')
}

/** The beginning of a tag identifies it. */
function tagIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? xmlTagIn(value)?.slice(0, 100) : undefined
}
