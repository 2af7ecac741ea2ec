import { isAlias, isMap, isScalar, isSeq, visit } from 'yaml'
import type { Document, ErrorCode } from 'yaml'
import { FIRST_LINE, fieldsIn } from './frontmatter-fields.ts'
import type { FieldLines } from './frontmatter-fields.ts'
import { codePointNames } from './hidden-unicode.ts'

/** The first reason why a text is not YAML. */
export interface YamlFault {
  /** `NO_FIELD`: it is YAML, but no mapping. `NO_ANCHOR`: an alias without its anchor. */
  readonly code: ErrorCode | 'NO_FIELD' | 'NO_ANCHOR'
  readonly offset: number
}

/** Finds the fault of a part of a frontmatter, given by its text. */
export type FaultIn = (yaml: string) => YamlFault | undefined

/** The fault of a document, which is the text or a part of it; `undefined` if readers of YAML take it. */
export function yamlFault(document: Document.Parsed, text: string): YamlFault | undefined {
  const problem = document.errors[0] ?? document.warnings[0]
  if (problem !== undefined) return { code: problem.code, offset: problem.pos[0] }
  let fault: YamlFault | undefined
  visit(document, {
    Alias(_, { source, range }) {
      if (text.includes(`&${source}`)) return undefined
      fault = { code: 'NO_ANCHOR', offset: range?.[0] ?? 0 }
      return visit.BREAK
    },
  })
  return fault
}

/** `yamlFault` of the lines of one field, which must also be a mapping. */
export function fieldFault(document: Document.Parsed, text: string): YamlFault | undefined {
  return yamlFault(document, text) ?? (isMap(document.contents) ? undefined : { code: 'NO_FIELD', offset: 0 })
}

/** True if the value opens a quote or a bracket, and the text ends before it is closed. */
export function isUnclosed(yaml: string, { code, offset }: YamlFault): boolean {
  return (code === 'MISSING_CHAR' || code === 'BAD_INDENT') && offset >= yaml.trimEnd().length
}

/** Says what is wrong with the frontmatter, where it is, and the mend, in words that need no knowledge of YAML. */
export function explainFault(yaml: string, fault: YamlFault, faultIn: FaultIn): string {
  const second = yaml.split('\n').findIndex((line) => /^(?:---|\.{3})(?:\s|$)/.test(line))
  if (fault.code === 'MULTIPLE_DOCS' && second !== -1)
    return `a second document begins in it; remove line ${second + FIRST_LINE}`
  const fields = fieldsIn(yaml)
  for (const lines of fields.slice(0, MOST_LOOKED_AT)) {
    const own = faultIn(lines.yaml)
    if (own !== undefined) return explain(lines, own)
  }
  // Each field is sound by itself.
  const line = FIRST_LINE + newlinesIn(yaml.slice(0, fault.offset))
  const lines = fields.findLast((each) => each.line <= line)
  const offset = lines === undefined ? 0 : fault.offset - startOf(yaml, lines.line)
  return explain(lines ?? { field: undefined, line, key: '', first: '', below: [], yaml }, { ...fault, offset })
}

const MOST_LOOKED_AT = 64

/** The field, nested or not, and the line of an offset in a frontmatter: `metadata.author, line 4`. */
export function placeOf(yaml: string, offset: number): string {
  const line = FIRST_LINE + newlinesIn(yaml.slice(0, offset))
  const lines = fieldsIn(yaml).findLast((each) => each.line <= line)
  return lines === undefined ? `line ${line}` : named(lines, line)
}

function named({ field, line: first, yaml }: FieldLines, line: number): string {
  if (field === undefined) return `line ${line}`
  const inner =
    line > first ? /^\s+(?:- +)*["']?([\w.-]+)["']?\s*:/.exec(yaml.split('\n')[line - first] ?? '')?.[1] : undefined
  return `${inner === undefined ? field : `${field}.${inner}`}, line ${line}`
}

function explain(lines: FieldLines, fault: YamlFault): string {
  const { field, first, below, yaml } = lines
  const offset = Math.min(fault.offset, yaml.trimEnd().length)
  const line = lines.line + newlinesIn(yaml.slice(0, offset))
  const value = `the value of ${named(lines, line)}`
  if (isUnclosed(yaml, fault) && /^["'[{]/.test(first))
    return `a quote or a bracket is opened and not closed; close it, or put the value of ${named(lines, lines.line)}, in quotes`
  if (field === undefined || fault.code === 'NO_FIELD')
    return (
      oddSpaceIn(yaml, lines.line) ??
      `line ${lines.line} is neither a name and a value nor a part of the value above it; indent it by two spaces if it belongs there, else write it as "name: value"`
    )
  const nested = below.findIndex((each) => /^\s+[\w.-]+:(?:\s|$)/.test(each))
  if (first !== '' && nested !== -1 && !first.includes(': ') && MISPLACED.has(fault.code))
    return `line ${lines.line + 1 + nested} is indented below ${field}, which has a value already; remove the spaces before it, or put ${value}, in quotes on one line`
  return (SAID[fault.code] ?? SAID.UNEXPECTED_TOKEN)(value, line)
}

/**
 * Names the first character that only looks like a space where YAML needs one: before a line, or behind the colon of a
 * name. `first`: the line of SKILL.md that the text begins with.
 */
export function oddSpaceIn(yaml: string, first = FIRST_LINE): string | undefined {
  const lines = yaml.split('\n')
  const at = lines.findIndex((each) => ODD_SPACE.test(each))
  const character = ODD_SPACE.exec(lines[at] ?? '')?.[1]
  if (character === undefined) return undefined
  const named = character === '\u00A0' ? 'a no-break space' : 'a character that only looks like a space'
  return `line ${first + at} has ${named} (${codePointNames({ codePoints: [character.codePointAt(0) ?? 0], length: 1 })}), which is no space for YAML; write a plain space in its place`
}

const ODD_SPACE = /^(?:["']?\w[\w .-]{0,63}["']?[ \t]*:)?[ \t]*([^\S \t\r]|[\u200B\u2060])/

const MISPLACED: ReadonlySet<YamlFault['code']> = new Set(['BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY'])

type Said = (value: string, line: number) => string

const SAID: Readonly<Partial<Record<YamlFault['code'], Said>> & { readonly UNEXPECTED_TOKEN: Said }> = {
  BLOCK_AS_IMPLICIT_KEY: (value) =>
    `a value holds ": " and is not quoted, so it is read as a mapping; put ${value}, in quotes`,
  TAB_AS_INDENT: (_, line) => `a tab is used where spaces are required; indent line ${line} with spaces`,
  BAD_INDENT: (_, line) => `line ${line} is indented otherwise than the lines that it belongs to; indent them alike`,
  BAD_DQ_ESCAPE: (value) => `a backslash in double quotes begins no escape of YAML; put ${value}, in single quotes`,
  UNEXPECTED_TOKEN: (value) =>
    `a value is not quoted, and a character in it has a meaning of its own there; put ${value}, in quotes`,
}

function startOf(yaml: string, line: number): number {
  return (
    yaml
      .split('\n')
      .slice(0, line - FIRST_LINE)
      .join('\n').length + Number(line > FIRST_LINE)
  )
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1
}

/** A construct of valid YAML that a frontmatter must not have, and its place. */
export interface Oddity {
  /** A duplicate key, an alias, or a value that JSON cannot represent. */
  readonly kind: 'twice' | 'alias' | 'value'
  readonly offset: number
}

/** The construct that the frontmatter reader reports: it checks one kind after the other. */
export function oddityOf(document: Document): Oddity | undefined {
  const all = Array.from(odditiesIn(document.contents, 0))
  return ORDER.map((kind) => all.find((oddity) => oddity.kind === kind)).find((oddity) => oddity !== undefined)
}

const ORDER: readonly Oddity['kind'][] = ['twice', 'alias', 'value']

function* odditiesIn(node: unknown, depth: number): Generator<Oddity> {
  if (depth > DEEPEST) return
  if (isAlias(node) && node.range) yield { kind: 'alias', offset: node.range[0] }
  if (isScalar(node) && node.range && isOdd(node.value)) yield { kind: 'value', offset: node.range[0] }
  if (isSeq(node)) for (const item of node.items) yield* odditiesIn(item, depth + 1)
  if (!isMap(node)) return
  const met = new Set<unknown>()
  for (const { key, value } of node.items) {
    const name: unknown = isScalar(key) ? key.value : key
    if (met.has(name) && isScalar(key) && key.range) yield { kind: 'twice', offset: key.range[0] }
    met.add(name)
    yield* odditiesIn(key, depth + 1)
    yield* odditiesIn(value, depth + 1)
  }
}

/** The reader stops long before this depth. */
const DEEPEST = 64

function isOdd(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed()
  if (typeof value !== 'number') return false
  return !(Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value))
}
