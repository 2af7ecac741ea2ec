import { readUpstreamUri } from '../../../sync/model/uris/upstream-uri.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'

/** A URI template of skills: level 1 of RFC 6570, only `{variable}`. */
interface Template {
  /** The distinct variables, in order of appearance. */
  readonly variables: readonly string[]
  readonly parts: readonly Part[]
}

type Part = { readonly kind: 'literal'; readonly text: string } | { readonly kind: 'variable'; readonly name: string }

type ReadTemplate = { readonly ok: true; readonly template: Template } | Refused

type Expanded = { readonly ok: true; readonly uri: string } | Refused

interface Refused {
  readonly ok: false
  readonly why: string
}

/** Parses a template as received. No values can change its scheme or the number of its segments. */
export function readTemplate(raw: string): ReadTemplate {
  if (raw.length > MAX_LENGTH) return refusal(`it is longer than ${MAX_LENGTH} characters`)
  if (!/^[a-z][a-z0-9+.-]*:/i.test(raw)) return refusal('it does not begin with a scheme')
  const parts: Part[] = []
  for (const [index, piece] of raw.split(/\{([^{}]*)\}/).entries()) {
    const part = index % 2 === 0 ? literal(piece) : variable(piece)
    if ('why' in part) return part
    parts.push(part)
  }
  const names = parts.flatMap((part) => (part.kind === 'variable' ? [part.name] : []))
  // The result is the same for all values.
  const filled = readUpstreamUri(textOf(parts, () => 'x'))
  if (!filled.ok) return refusal(filled.why)
  if (!raw.endsWith('/SKILL.md') || filled.segments.length < 2)
    return refusal('it does not lead to the SKILL.md in the folder of a skill')
  const template = { variables: [...new Set(names)], parts }
  if (template.variables.length > MAX_VARIABLES) return refusal(`it has more than ${MAX_VARIABLES} variables`)
  return { ok: true, template }
}

/** Large enough for real templates, and small enough for many in one answer. */
const MAX_LENGTH = 1024
const MAX_VARIABLES = 16

/** Fills in the values. Reserved characters of a value are encoded, so that it stays within its segment. */
export function expandTemplate({ variables, parts }: Template, values: ReadonlyMap<string, string>): Expanded {
  for (const name of variables) {
    const value = values.get(name)
    if (value === undefined || value === '') return refusal(`"${name}" has no value`)
    if (!value.isWellFormed()) return refusal(`the value of "${name}" holds half of a surrogate pair`)
  }
  const uri = textOf(parts, (name) => encode(values.get(name) ?? ''))
  const read = readUpstreamUri(uri)
  return read.ok ? { ok: true, uri } : refusal(`it comes to ${shownValue(uri)}, which is refused: ${read.why}`)
}

function literal(text: string): Part | Refused {
  return /[{}]/.test(text) ? refusal('it has a brace that belongs to no variable') : { kind: 'literal', text }
}

/** RFC 6570, 2.3: names are letters, digits and "_", with dots between. */
function variable(name: string): Part | Refused {
  const isPlain = /^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/.test(name)
  return isPlain
    ? { kind: 'variable', name }
    : refusal(`${shownValue(`{${name}}`)} is not a plain variable such as {product}`)
}

function textOf(parts: readonly Part[], valueOf: (name: string) => string): string {
  return parts.map((part) => (part.kind === 'literal' ? part.text : valueOf(part.name))).join('')
}

/** RFC 6570, 3.2.2: encodes all but letters, digits and "-._~". */
function encode(value: string): string {
  return encodeURIComponent(value).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function refusal(why: string): Refused {
  return { ok: false, why }
}
