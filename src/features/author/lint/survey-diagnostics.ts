import { isMapping } from '../../../base/json-value.ts'
import { joinPath, relativeTo } from '../../../base/paths.ts'
import { cutLinesOf, remarksOn } from '../../../sync/skill/frontmatter-remarks.ts'
import { MOST_COUNTED, codePointNames } from '../../../sync/skill/hidden-unicode.ts'
import type { HiddenText } from '../../../sync/skill/hidden-unicode.ts'
import { subjectOf } from '../../../sync/skill/skill-diagnostic.ts'
import type { FrontmatterPath, SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { oddityOf } from '../../../sync/skill/yaml-fault.ts'
import { unrenderedIn } from '../../../sync/survey/unrendered-text.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import type { PositionedDocument } from './document-positions.ts'
import { Lines, START } from './lines.ts'
import type { TextPosition } from './lines.ts'
import type { Authored } from './lint-input.ts'

/** The survey's findings for the skill, each at the place that it is about. */
export function surveyDiagnostics(skill: Authored, findings: readonly SkillDiagnostic[]): LintDiagnostic[] {
  const isUnrendered = ({ rule }: SkillDiagnostic): boolean => rule === 'unrendered-text'
  const rest = findings.filter((finding) => !isUnrendered(finding))
  return [
    ...rest.flatMap((finding) => diagnosticsOf(skill, finding)),
    ...(findings.some(isUnrendered) ? unrenderedDiagnostics(skill) : []),
  ]
}

function diagnosticsOf(skill: Authored, finding: SkillDiagnostic): LintDiagnostic[] {
  switch (finding.rule) {
    case 'hidden-unicode':
      return hiddenDiagnostics(skill, finding) ?? [diagnosticOf(skill, finding)]
    case 'metadata-not-text':
      return metadataDiagnostics(skill) ?? [diagnosticOf(skill, finding)]
    case 'link-refused':
      return [
        {
          ...diagnosticOf(skill, finding),
          code: isOfDocument(skill, finding) ? 'document-link-refused' : finding.rule,
        },
      ]
    default:
      return [diagnosticOf(skill, finding)]
  }
}

function isOfDocument(skill: Authored, { path }: SkillDiagnostic): boolean {
  return path === skill.path || path === joinPath(skill.path, skill.documentName)
}

function diagnosticOf(skill: Authored, finding: SkillDiagnostic): LintDiagnostic {
  const { rule: code, path, message } = finding
  const document = joinPath(skill.path, skill.documentName)
  if (!isOfDocument(skill, finding)) return { code, path, place: START, message }
  const place = skill.document === undefined ? START : placeIn(skill.document, finding)
  return { code, path: document, place, message }
}

function placeIn(document: PositionedDocument, finding: SkillDiagnostic): TextPosition {
  switch (finding.rule) {
    case 'name-invalid':
    case 'name-unlike-folder':
    case 'name-clash':
    case 'name-missing':
      return positionOf(document, ['name'], 'value')
    case 'description-missing':
    case 'description-too-long':
    case 'description-padded':
      return positionOf(document, ['description'], 'value')
    case 'metadata-not-text':
      return positionOf(document, ['metadata'], 'value')
    case 'compatibility-invalid':
      return positionOf(document, ['compatibility'], 'value')
    case 'field-refused':
      return positionOf(document, ['__proto__'], 'key')
    case 'frontmatter-invalid':
    case 'frontmatter-unquoted':
      return invalidPlace(document)
    case 'contract-violated':
    case 'contract-noted':
    case 'yaml-comment':
      return positionOf(document, fieldOf(finding), 'value')
    case 'encoding-invalid':
      return document.lines.at(document.fault?.offset ?? 0)
    default:
      return START
  }
}

/** The keys of the field that the finding is about; empty if it is about no single one. */
function fieldOf(finding: SkillDiagnostic): FrontmatterPath {
  const subject = subjectOf(finding)
  return subject?.kind === 'field' ? subject.keys : []
}

/** One diagnostic for each value that is not text; `undefined` if metadata is not a mapping. */
function metadataDiagnostics({ path, documentName, document, frontmatter }: Authored): LintDiagnostic[] | undefined {
  const metadata = frontmatter?.['metadata']
  if (document === undefined || !isMapping(metadata)) return undefined
  return Object.entries(metadata).flatMap(([key, value]) => {
    if (typeof value === 'string') return []
    const place = positionOf(document, ['metadata', key], 'value')
    const message = `metadata.${key} is not text; some clients refuse the skill, quote it`
    return [{ code: 'metadata-not-text', path: joinPath(path, documentName), place, message }]
  })
}

/** The place where the reader stopped; otherwise the construct that it refused. */
function invalidPlace({ yaml, lines }: PositionedDocument): TextPosition {
  if (yaml === undefined) return START
  const [problem] = [...yaml.document.errors, ...yaml.document.warnings]
  return lines.at(yaml.start + (problem?.pos[0] ?? oddityOf(yaml.document)?.offset ?? 0))
}

/** One diagnostic for each known run of hidden characters, if the finding is about the text of a file. */
function hiddenDiagnostics(skill: Authored, finding: SkillDiagnostic): LintDiagnostic[] | undefined {
  const { rule: code, path } = finding
  const inside = relativeTo(skill.path, path)
  const file = skill.files.find((candidate) => candidate.path === inside)
  if (file === undefined) return undefined
  // A file of a skill inside this one is reported there.
  if (!skill.ownFiles.includes(file)) return []
  const { hidden } = file
  // Otherwise it is about the name of the file, or about escapes in the frontmatter.
  if (hidden === undefined || subjectOf(finding)?.kind !== 'text') return undefined
  const text = inside === skill.documentName ? skill.document?.text : skill.texts.get(inside)
  const places = hiddenPlaces(hidden, text)
  return hidden.runs.map((run, index) => {
    const said = `There are characters here that people do not see and a model reads: ${codePointNames(run)}`
    const more = index === hidden.runs.length - 1 ? moreHidden(hidden) : ''
    return { code, path, place: places[index] ?? START, message: `${said}${more}` }
  })
}

/** The number of characters in addition to those reported one by one. */
function moreHidden({ count, runs }: HiddenText): string {
  const more = count - runs.reduce((sum, { length }) => sum + length, 0)
  return more === 0 ? '' : `; ${count >= MOST_COUNTED ? 'at least ' : ''}${more} more are further down in this file`
}

/** A survey counts columns in characters. If the text is available, they are converted to the columns of editors. */
function hiddenPlaces({ runs }: HiddenText, text: string | undefined): TextPosition[] {
  if (text === undefined) return runs.map(({ line, column }) => ({ line, column }))
  const lines = new Lines(text)
  return runs.map(({ line, column }) => {
    let at = lines.startOf(line)
    for (let character = 1; character < column; character += 1) at += (text.codePointAt(at) ?? 0) > 0xff_ff ? 2 : 1
    return lines.at(at)
  })
}

function unrenderedDiagnostics(skill: Authored): LintDiagnostic[] {
  const { document } = skill
  if (document === undefined) return []
  const { text, lines, yaml, bodyStart } = document
  const path = joinPath(skill.path, skill.documentName)
  const parts = { text, bodyStart, yaml: yaml && { start: yaml.start, end: yaml.start + yaml.text.length } }
  const remarks = yaml && remarksOn(yaml.document, yaml.text)
  return unrenderedIn(parts, cutLinesOf(remarks)).map(({ what, offset, characters }) => {
    const message = `The ${what} of ${characters} characters is shown on no rendered page, and a model reads it`
    return { code: 'unrendered-text', path, place: lines.at(offset), message }
  })
}
