import { Buffer, isUtf8 } from 'node:buffer'
import { Composer, isMap, isScalar, Lexer, Parser, visit, YAMLParseError } from 'yaml'
import type { CST, Document } from 'yaml'
import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { closingFault, openingFault } from './frontmatter-fences.ts'
import { FIRST_LINE } from './frontmatter-fields.ts'
import { remarksOn } from './frontmatter-remarks.ts'
import type { Remark, Remarks } from './frontmatter-remarks.ts'
import { codePointNames } from './hidden-unicode.ts'
import { plainMapping } from './plain-mapping.ts'
import type { SkillCode } from './skill-diagnostic.ts'
import { quoteFields } from './unquoted-text.ts'
import type { Quoted } from './unquoted-text.ts'
import { explainFault, fieldFault, oddityOf, oddSpaceIn, placeOf, yamlFault } from './yaml-fault.ts'
import type { FaultIn } from './yaml-fault.ts'

/** The frontmatter of a SKILL.md, or why it cannot be read. */
export type FrontmatterReading =
  | {
      readonly ok: true
      readonly frontmatter: JsonObject
      readonly bodyStart: number
      /** The frontmatter is not valid YAML, but becomes valid with quotes around the text of some fields. */
      readonly unquoted?: Unquoted
      /** Fields that people take for something else than YAML does. Absent if there are none. */
      readonly remarks?: readonly Remark[]
    }
  | Refusal

/** The fields that were read without their quotes, and the refusal of a strict YAML reader. */
export interface Unquoted {
  readonly fields: Quoted['fields']
  readonly refusal: Refusal
}

export interface FrontmatterLimits {
  readonly bytes: number
  /** Levels of mappings and lists. */
  readonly depth: number
}

/** The defaults. */
export const FRONTMATTER_LIMITS: FrontmatterLimits = { bytes: 65_536, depth: 32 }

/**
 * Reads the YAML mapping between the two `---` lines as JSON, by the rules of the YAML 1.2 core schema: a date stays
 * text, `yes` stays text. A byte order mark and CRLF are accepted. The keys are sorted, as they are after loading from
 * the disk, so that every read gives the same bytes. Never throws, whatever the bytes are.
 */
export function readFrontmatter(bytes: Uint8Array, limits: FrontmatterLimits): FrontmatterReading {
  const block = textOfBlock(bytes, limits)
  if (!block.ok) return block
  const { json, remarks } = readYaml(block.text, limits)
  return json.ok ? { ok: true, frontmatter: json.json, bodyStart: block.bodyStart, ...remarks } : json
}

/**
 * `readFrontmatter`, but a document that is invalid YAML only because quotes are missing is read as it was meant. Valid
 * YAML is read as YAML.
 */
export function readFrontmatterAsMeant(bytes: Uint8Array, limits: FrontmatterLimits): FrontmatterReading {
  const block = textOfBlock(bytes, limits)
  if (!block.ok) return block
  const { bodyStart } = block
  const { json, isYaml, remarks } = readYaml(block.text, limits)
  if (json.ok) return { ok: true, frontmatter: json.json, bodyStart, ...remarks }
  const mended = isYaml ? undefined : quoteFields(block.text, faultsIn(block.text, limits))
  const meant = mended && readYaml(mended.yaml, limits)
  if (mended === undefined || meant?.json.ok !== true) return json
  const unquoted = { fields: mended.fields, refusal: json }
  return { ok: true, frontmatter: meant.json.json, bodyStart, unquoted, ...meant.remarks }
}

type TextBlock = { readonly ok: true; readonly text: string; readonly bodyStart: number } | Refusal

function textOfBlock(bytes: Uint8Array, limits: FrontmatterLimits): TextBlock {
  const block = frontmatterBlock(bytes, limits.bytes)
  if (!block.ok) return block
  const text = utf8(block.yaml)
  if (text === undefined) {
    const line =
      FIRST_LINE +
      Buffer.from(block.yaml)
        .toString('latin1')
        .split('\n')
        .findIndex((each) => !isUtf8(Buffer.from(each, 'latin1')))
    return refusal('encoding-invalid', `The file is not valid UTF-8 at line ${line}; save it as UTF-8`)
  }
  return { ok: true, text, bodyStart: block.bodyStart }
}

interface YamlReading {
  readonly json: Json
  /** False if the text is not YAML. */
  readonly isYaml: boolean
  readonly remarks?: Remarks | undefined
}

function readYaml(text: string, limits: FrontmatterLimits): YamlReading {
  const unprintable = UNPRINTABLE.exec(text)
  if (unprintable !== null) return { json: unprintableRefusal(text, unprintable), isYaml: true }
  const plain = plainMapping(text)
  if (plain !== undefined)
    return {
      json: boundSize(
        asJson(() => plain, limits.depth),
        limits,
      ),
      isYaml: true,
    }
  const parsed = parseYaml(text, limits)
  if (!parsed.ok) return { json: parsed, isYaml: true }
  const { document } = parsed
  const fault = yamlFault(document, text)
  const space = isMap(document.contents) ? undefined : oddSpaceIn(text)
  if (fault === undefined && space !== undefined)
    return { json: refusal('frontmatter-invalid', `${NO_MAPPING}: ${space}`), isYaml: false }
  if (fault === undefined)
    return {
      json: boundSize(toJson(document, text, limits.depth), limits),
      isYaml: isMap(document.contents),
      remarks: remarksOn(document, text),
    }
  const why = explainFault(text, fault, faultsIn(text, limits))
  return { json: refusal('frontmatter-invalid', `The frontmatter is not valid YAML: ${why}`), isYaml: false }
}

/** The characters that no text of YAML has (YAML 1.2.2, 5.1). An escape in double quotes may spell them. */
// eslint-disable-next-line no-control-regex -- control characters are what it finds
const UNPRINTABLE = /[\0-\x08\v\f\x0E-\x1F\x7F-\x84\x86-\x9F\uFFFE\uFFFF]/

function unprintableRefusal(text: string, { 0: character, index }: RegExpExecArray): Refusal {
  const named = codePointNames({ codePoints: [character.charCodeAt(0)], length: 1 })
  const why = `it has the control character ${named} (${placeOf(text, index)}); remove it`
  return refusal('frontmatter-invalid', `The frontmatter is not valid YAML: ${why}`)
}

/** Finds the faults of single fields. An alias is none if its anchor is anywhere in the whole text. */
function faultsIn(whole: string, limits: FrontmatterLimits): FaultIn {
  return (yaml) => {
    const parsed = parseYaml(yaml, limits)
    return parsed.ok ? fieldFault(parsed.document, whole) : undefined
  }
}

/** Checks a frontmatter that came as JSON by the same rules, and sorts its keys. */
export function frontmatterOf(value: unknown, limits: FrontmatterLimits): ReturnType<typeof boundSize> {
  return boundSize(
    asJson(() => value, limits.depth),
    limits,
  )
}

function boundSize(value: Json, limits: FrontmatterLimits): { readonly ok: true; readonly json: JsonObject } | Refusal {
  if (!value.ok) return value
  const written = Buffer.byteLength(JSON.stringify(value.json))
  const most = MOST_GROWTH * limits.bytes
  if (written > most) return refusal('frontmatter-too-large', `The frontmatter, written as JSON, is over ${most} bytes`)
  return value
}

/** A control character takes six bytes of JSON. Listings contain the JSON, so it is limited like the text. */
const MOST_GROWTH = 2

/**
 * The time to read YAML depends on its content rather than its length: 64 KiB of commas take a thousand times as long
 * as 64 KiB of prose, and block the process. None of two thousand public skills had three hundred tokens.
 */
const MOST_MARKS = 16_384

function mostMarks({ bytes }: FrontmatterLimits): number {
  return Math.max(MOST_MARKS, bytes / 4)
}

/**
 * The lexer's tokens of the text, which are cheap compared to all later steps; `undefined` if there are more than
 * `most`.
 */
function marksOf(text: string, most: number): readonly string[] | undefined {
  const marks: string[] = []
  for (const mark of new Lexer().lex(text)) {
    if (marks.length === most) return undefined
    marks.push(mark)
  }
  return marks
}

/**
 * The parser's tokens, while few collections are open at a time. The composer that reads them recurses per level, and
 * so does the parser when it closes them. Until then, the parser has the open ones on its stack.
 */
function tokensOf(
  marks: readonly string[],
  depth: number,
): { readonly ok: true; readonly tokens: CST.Token[] } | Refusal {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let aliases = 0
  let before = ''
  for (const mark of marks) {
    if (mark.startsWith('*') && before !== SCALAR) aliases += 1
    before = mark
    tokens.push(...parser.next(mark))
    if (openCollections(parser) > depth) return noJson(TOO_DEEP)
    if (aliases > MOST_ALIASES) return noJson(NO_ALIASES)
  }
  tokens.push(...parser.end())
  return { ok: true, tokens }
}

/** The lexer puts this before the text of a scalar, which may begin with any character. */
const SCALAR = '\u001f'

/** A single alias is refused too, but only after it was read, so that `validate` can give its position. */
const MOST_ALIASES = 32
const NO_ALIASES = 'it holds an alias (*); write the value out'

const TOO_DEEP = 'it is nested too deep'

function openCollections({ stack }: Parser): number {
  return stack.filter(({ type }) => COLLECTIONS.has(type)).length
}

const COLLECTIONS: ReadonlySet<string> = new Set(['block-map', 'block-seq', 'flow-collection'])

/**
 * An explicit schema overrides a `%YAML 1.1` in the text. Duplicate keys are found below: the reader compares each key
 * with each other.
 */
export const YAML_RULES = {
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  uniqueKeys: false,
  prettyErrors: false,
} as const

/** Parses the YAML of a frontmatter into a document with positions, and with all errors and warnings of its reader. */
export function parseYaml(
  text: string,
  limits: FrontmatterLimits,
): { readonly ok: true; readonly document: Document.Parsed } | Refusal {
  const most = mostMarks(limits)
  const marks = marksOf(text, most)
  if (marks === undefined)
    return refusal('frontmatter-too-large', `The frontmatter has over ${most} marks and values of YAML`)
  const read = tokensOf(marks, limits.depth)
  if (!read.ok) return read
  // With `forceDoc` there is always one, even for an empty text.
  const [document, second] = new Composer(YAML_RULES).compose(read.tokens, true, text.length)
  if (document === undefined) throw new TypeError('The YAML reader made no document')
  if (second !== undefined) {
    const [start, end] = second.range
    // The message of `parseDocument`, which would lex and parse the text a second time.
    const message = 'Source contains multiple documents; please use YAML.parseAllDocuments()'
    document.errors.push(new YAMLParseError([start, end], 'MULTIPLE_DOCS', message))
  }
  return { ok: true, document }
}

/** Decodes valid UTF-8 and keeps the byte order mark; `undefined` for other bytes. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return STRICT_UTF8.decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The place of the YAML in a SKILL.md. */
export type FrontmatterBlock = { readonly ok: true; readonly yaml: Uint8Array; readonly bodyStart: number } | Refusal

/** The bytes after the line that closes the frontmatter; `undefined` if there is no such line. */
export function bodyOf(bytes: Uint8Array): Uint8Array | undefined {
  const block = frontmatterBlock(bytes, bytes.length)
  return block.ok ? bytes.subarray(block.bodyStart) : undefined
}

/**
 * Finds the block. Only a line that is exactly `---` opens or closes it; one inside a value, indented or longer, does
 * not.
 */
export function frontmatterBlock(bytes: Uint8Array, maxBytes: number): FrontmatterBlock {
  const start = hasByteOrderMark(bytes) ? 3 : 0
  const opening = lineAt(bytes, start)
  if (!isFence(bytes, start, opening.end)) {
    const { rule, message } = openingFault(bytes)
    return refusal(rule, message)
  }
  for (let at = opening.next; at < bytes.length;) {
    if (at - opening.next > maxBytes) {
      return refusal('frontmatter-too-large', `The frontmatter is over ${maxBytes} bytes`)
    }
    const line = lineAt(bytes, at)
    if (isFence(bytes, at, line.end)) return { ok: true, yaml: bytes.subarray(opening.next, at), bodyStart: line.next }
    at = line.next
  }
  return refusal('frontmatter-unterminated', closingFault(bytes.subarray(opening.next)))
}

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

function lineAt(bytes: Uint8Array, start: number): { readonly end: number; readonly next: number } {
  const feed = bytes.indexOf(0x0a, start)
  if (feed === -1) return { end: bytes.length, next: bytes.length }
  return { end: feed > start && bytes[feed - 1] === 0x0d ? feed - 1 : feed, next: feed + 1 }
}

function isFence(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start === 3 && bytes[start] === 0x2d && bytes[start + 1] === 0x2d && bytes[start + 2] === 0x2d
}

interface Refusal {
  readonly ok: false
  readonly rule: SkillCode
  readonly message: string
  /** The reading did not finish: the next one may. */
  readonly isUnfinished?: boolean
}

function refusal(rule: SkillCode, message: string): Refusal {
  return { ok: false, rule, message }
}

type Json = { readonly ok: true; readonly json: JsonObject } | Refusal

function noJson(why: string): Refusal {
  return refusal('frontmatter-invalid', `The frontmatter cannot be written as JSON: ${why}`)
}

function toJson(document: Document.Parsed, text: string, depth: number): Json {
  const json = asJson(() => {
    checkKeys(document)
    // Aliases are refused entirely: written out as JSON, a few bytes of them become gigabytes.
    return document.toJS({ maxAliasCount: 0 })
  }, depth)
  const odd = json.ok ? undefined : oddityOf(document)
  return json.ok || odd === undefined ? json : refusal(json.rule, `${json.message} (${placeOf(text, odd.offset)})`)
}

const NO_MAPPING = 'The frontmatter is not a mapping of names to values'

function asJson(made: () => unknown, depth: number): Json {
  try {
    const value = made()
    if (!isMapping(value)) return refusal('frontmatter-invalid', NO_MAPPING)
    return { ok: true, json: jsonObject(value, depth - 1) }
  } catch (error) {
    // The YAML reader throws the first for an alias, and the walk below the second for a value that is not JSON.
    if (error instanceof ReferenceError) return noJson(NO_ALIASES)
    if (error instanceof RangeError) return noJson(error.message)
    throw error
  }
}

/** Throws a RangeError if a mapping has a key twice, since readers differ in the value that they use. */
function checkKeys(document: Document.Parsed): void {
  visit(document, {
    Map(_, { items }) {
      const keys = new Set(items.map(({ key }) => (isScalar(key) ? key.value : key)))
      if (keys.size < items.length) throw new RangeError('it has a key twice; remove one')
    },
  })
}

/** The value as JSON. Hosts compare field by field, so a value that JSON would change is refused with a RangeError. */
function jsonValue(value: unknown, levels: number): JsonValue {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') return jsonText(value)
  if (typeof value === 'number') return jsonNumber(value)
  if (levels === 0) throw new RangeError(TOO_DEEP)
  if (Array.isArray(value)) return value.map((item) => jsonValue(item, levels - 1))
  if (isMapping(value)) return jsonObject(value, levels - 1)
  throw new RangeError('it contains a value that JSON cannot express')
}

function jsonObject(value: Record<string, unknown>, levels: number): JsonObject {
  // Entries, not assignments: a key named "__proto__" is an ordinary key.
  const members = Object.entries(value).map(([key, item]) => [jsonText(key), jsonValue(item, levels)] as const)
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** JSON can write half of a surrogate pair, but other readers then refuse the whole document. */
function jsonText(value: string): string {
  if (!value.isWellFormed()) throw new RangeError('it holds half of a surrogate pair')
  return value
}

function jsonNumber(value: number): number {
  if (!Number.isFinite(value))
    throw new RangeError(`it holds the number ${value}, which JSON has no form for; quote it`)
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError(`it holds a whole number beyond 2^53 (read as ${value}); quote it`)
  }
  // A negative zero comes back from JSON as another number.
  return value === 0 ? 0 : value
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
