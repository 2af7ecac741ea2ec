import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import type { Skill, Standing } from '../model/skill.ts'
import { worstStanding } from '../model/worst-standing.ts'
import { shownValue } from '../skill/contract/contract-value.ts'
import type { DocumentReading } from '../skill/document-reader.ts'
import { entryFaults, kindOf } from '../skill/entry-faults.ts'
import type { Remark } from '../skill/frontmatter-remarks.ts'
import type { Unquoted } from '../skill/frontmatter.ts'
import type { Unrendered } from '../skill/hidden-markdown.ts'
import { describeLookAlikes, lookAlikesIn } from '../skill/look-alikes.ts'
import type { LookAlikes } from '../skill/look-alikes.ts'
import { diagnosticAbout } from '../skill/skill-diagnostic.ts'
import type { SkillDiagnostic, SkillCode } from '../skill/skill-diagnostic.ts'
import { isSkillName } from '../skill/skill-name.ts'
import { DESCRIPTION_CHARACTERS } from '../skill/standard-fields.ts'
import { firstDiagnostics } from './cap-diagnostics.ts'
import { SEARCHED_BYTES } from './document-reading.ts'
import { textsInValue } from './hidden-diagnostics.ts'

/** The fields that a skill declares in its frontmatter. */
export type Said = Pick<Skill, 'name' | 'description' | 'frontmatter'>

/** For a SKILL.md that cannot be read. */
export const UNSAID: Said = { name: undefined, description: undefined, frontmatter: undefined }

/** The fields of one SKILL.md, with its standing and findings. */
export interface ReadDocument {
  readonly standing: Standing
  readonly fields: Said
  readonly findings: readonly SkillDiagnostic[]
}

/** Judges a SKILL.md alone. `path` is the path of the skill's folder. */
export function judgeDocument(path: string, document: DocumentReading): ReadDocument {
  const { frontmatter: read } = document
  const ofText = textFindings(path, document)
  if (!read.ok) return unreadDocument(path, read, ofText)
  const { findings, ...judged } = judgedFields(path, read.frontmatter, read.remarks)
  // Lenient reading must not lose a skill that was offered without it.
  if (read.unquoted !== undefined && judged.standing === 'withheld')
    return unreadDocument(path, read.unquoted.refusal, ofText)
  // The search of the text already found values that are written literally.
  const ofValues = ofText.some(isOfLetters) ? findings.filter((one) => !isOfLetters(one)) : findings
  const ofYaml = [...unquotedFindings(path, read.unquoted), ...cutFindings(path, read.remarks)]
  return { ...judged, findings: [...ofYaml, ...ofValues, ...ofText] }
}

function unreadDocument(path: string, { rule, message }: Unread, ofText: readonly SkillDiagnostic[]): ReadDocument {
  const standing = rule === 'frontmatter-invalid' ? 'tools' : 'withheld'
  return { standing, fields: UNSAID, findings: [finding(rule, path, message), ...ofText] }
}

type Unread = Unquoted['refusal']

function unquotedFindings(path: string, unquoted: Unquoted | undefined): readonly SkillDiagnostic[] {
  if (unquoted === undefined) return []
  const named = unquoted.fields
    .map(({ field, line, last }) => `${field}, ${last > line ? `lines ${line} to ${last}` : `line ${line}`}`)
    .join('; ')
  const lines = unquoted.fields.some(({ line, last }) => last > line) ? 'these lines' : 'the line'
  const [values, are, put] = unquoted.fields.length === 1 ? ['The value', 'is', 'it'] : ['The values', 'are', 'each']
  const message = `${values} of ${named}, ${are} not valid YAML without quotes, and ${are} read as text up to the end of ${lines}. Clients that read YAML refuse the skill, so skills/list leaves it out: put ${put} in quotes`
  return [finding('frontmatter-unquoted', path, message)]
}

function isOfLetters({ rule }: SkillDiagnostic): boolean {
  return rule === 'look-alike-letters'
}

/** Each is a note: the rest of the text is missing from what clients list. */
function cutFindings(path: string, remarks: readonly Remark[] = []): readonly SkillDiagnostic[] {
  return remarks.flatMap(({ field, cut }) => {
    if (cut === undefined) return []
    const place = `line ${cut.line}, column ${cut.column}`
    const message = `The ${field} ends before ${shownValue(`#${cut.comment}`)} at ${place}, which is read as a comment; put the whole text in quotes`
    return [diagnosticAbout({ kind: 'field', keys: [field] }, finding('yaml-comment', path, message))]
  })
}

/**
 * Judges the values of a frontmatter, regardless of the text after it. The lines of remarks are named in the findings
 * about their fields.
 */
export function judgedFields(path: string, frontmatter: JsonObject, remarks: readonly Remark[] = []): ReadDocument {
  const lineOf = (field: string): string => {
    const line = remarks.find((remark) => remark.field === field)?.line
    return line === undefined ? '' : `, line ${line},`
  }
  const name = nameOf(path, frontmatter, lineOf('name'))
  const description = descriptionOf(path, frontmatter, lineOf('description'))
  return {
    standing: worstStanding([name.standing, description.standing]),
    fields: { name: name.value, description: description.value, frontmatter },
    findings: [
      ...name.findings,
      ...description.findings,
      ...entryFaults(frontmatter).map(({ rule, message }) => finding(rule, path, message)),
      ...letterFindings(path, 'The frontmatter', lookAlikesIn(textsInValue(frontmatter).join('\n'))),
    ],
  }
}

interface Field {
  readonly standing: Standing
  readonly value: string | undefined
  readonly findings: readonly SkillDiagnostic[]
}

function nameOf(path: string, frontmatter: JsonObject, line: string): Field {
  const name = frontmatter['name']
  if (name === undefined || name === null) {
    return {
      standing: 'tools',
      value: undefined,
      findings: [finding('name-missing', path, absence('name', name, line) ?? 'The frontmatter has no name')],
    }
  }
  if (typeof name === 'string' && isSkillName(name)) return { standing: 'served', value: name, findings: [] }
  const message =
    typeof name === 'string'
      ? `The name ${shownValue(name)} is no name of a skill: write 1 to 64 of a-z, 0-9 and single hyphens between them`
      : `The name${line} is ${kindOf(name)}, not text: put it in quotes, as 1 to 64 of a-z, 0-9 and single hyphens between them`
  return {
    standing: 'tools',
    value: typeof name === 'string' ? name : undefined,
    findings: [finding('name-invalid', path, message)],
  }
}

/** The reason why a field has no value although there is a line for it. */
function absence(field: string, value: JsonValue | undefined, line: string): string | undefined {
  if (line === '') return undefined
  return value === undefined
    ? `The ${field}${line} has no space behind its colon; write "${field}: …"`
    : `The ${field}${line} is empty; write its text behind the colon`
}

function descriptionOf(path: string, frontmatter: JsonObject, line: string): Field {
  const description = frontmatter['description']
  if (typeof description !== 'string' || description.trim() === '') {
    const isAbsent = description === undefined || description === null || typeof description === 'string'
    const message = isAbsent
      ? (absence('description', description, line) ??
        'The frontmatter has no description; an agent chooses a skill by it')
      : `The description${line} is ${kindOf(description)}, not text; put the whole of it in quotes`
    return { standing: 'withheld', value: undefined, findings: [finding('description-missing', path, message)] }
  }
  // A block scalar ends with a line break that is not part of the author's text.
  const characters = Array.from(description.trim()).length
  if (characters <= DESCRIPTION_CHARACTERS) return { standing: 'served', value: description, findings: [] }
  const message = `The description has ${characters} characters; shorten it to ${DESCRIPTION_CHARACTERS}`
  return { standing: 'tools', value: description, findings: [finding('description-too-long', path, message)] }
}

/** Findings for text in a SKILL.md that people do not see as it is. */
function textFindings(
  path: string,
  { unrendered, lookAlikes, unsearched }: DocumentReading,
): readonly SkillDiagnostic[] {
  const found = [...letterFindings(path, 'SKILL.md', lookAlikes), ...unrenderedFindings(path, unrendered)]
  if (unsearched === 0) return found
  const message = `Only the first ${SEARCHED_BYTES} bytes are searched for text that no rendered page shows; ${unsearched} follow`
  return [...found, finding('unrendered-text', path, message)]
}

function letterFindings(path: string, where: string, found: LookAlikes | undefined): SkillDiagnostic[] {
  if (found === undefined) return []
  const message = `${where} has words with letters that look like other letters: ${describeLookAlikes(found)}`
  return [finding('look-alike-letters', path, message)]
}

function unrenderedFindings(path: string, unrendered: readonly Unrendered[]): readonly SkillDiagnostic[] {
  const found = unrendered.map(({ what, line, characters }) => {
    const message = `The ${what} of ${characters} characters at line ${line} is shown on no rendered page, and a model reads it`
    return finding('unrendered-text', path, message)
  })
  return firstDiagnostics(found, MOST_UNRENDERED, (left) => {
    return { path, message: `${left} more such texts are shown on no rendered page` }
  })
}

/** A file may have thousands. */
const MOST_UNRENDERED = 16

function finding(rule: SkillCode, path: string, message: string): SkillDiagnostic {
  return { rule, path, message }
}
