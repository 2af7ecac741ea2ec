import { isMap, isScalar, isSeq } from 'yaml'
import type { Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { joinPath } from '../../../base/paths.ts'
import type { AuthorCode, LintDiagnostic } from './diagnostic.ts'
import type { Authored } from './lint-input.ts'

/**
 * Finds plain values and keys of the frontmatter that readers interpret differently. Clients use parsers of YAML 1.1
 * (PyYAML, older Ruby and Go) and of 1.2; quoted text is the same for all.
 */
export function yamlValueDiagnostics(skill: Authored): LintDiagnostic[] {
  const { document } = skill
  const yaml = document?.yaml
  if (document === undefined || yaml === undefined || yaml.document.errors.length > 0) return []
  const path = joinPath(skill.path, skill.documentName)
  const diagnostics: LintDiagnostic[] = []
  for (const met of nodesIn(yaml.document.contents, 'value', 0)) {
    const { node } = met
    // A tag that is not a core tag makes the frontmatter invalid anyway, with everything that contains it.
    const fault =
      node.tag === undefined ? faultOf(met) : yaml.document.warnings.length > 0 ? undefined : tagFault(node.tag)
    if (fault === undefined || !node.range) continue
    diagnostics.push({ ...fault, path, place: document.lines.at(yaml.start + node.range[0]) })
  }
  return diagnostics
}

interface Met {
  readonly node: Scalar | YAMLMap | YAMLSeq
  readonly role: 'key' | 'value'
}

function* nodesIn(node: unknown, role: Met['role'], depth: number): Generator<Met> {
  // The reader stops long before this depth, and its refusal is judged elsewhere.
  if (depth > DEEPEST) return
  if (isScalar(node) || isSeq(node) || isMap(node)) yield { node, role }
  if (isSeq(node)) for (const item of node.items) yield* nodesIn(item, 'value', depth + 1)
  if (!isMap(node)) return
  for (const pair of node.items) {
    if (isScalar(pair.key)) yield { node: pair.key, role: 'key' }
    yield* nodesIn(pair.value, 'value', depth + 1)
  }
}

const DEEPEST = 64

type Fault = Pick<LintDiagnostic, 'message'> & { readonly code: AuthorCode }

function tagFault(tag: string): Fault {
  const written = tag.startsWith(CORE) ? `!!${tag.slice(CORE.length)}` : tag
  return {
    code: 'yaml-tag',
    message: `The tag ${written} is refused by some readers, and read as text by others`,
  }
}

const CORE = 'tag:yaml.org,2002:'

function faultOf({ node, role }: Met): Fault | undefined {
  if (!isScalar(node)) return undefined
  const { source, type, value } = node
  if (type !== 'PLAIN' || source === undefined) return undefined
  if (role === 'key' && source === '<<')
    return { code: 'yaml-merge-key', message: 'Some readers read the key "<<" as a key, others as a merge' }
  const reading = ambiguous(source) ?? (role === 'key' ? keyReading(source) : undefined)
  const quoted = `write ${JSON.stringify(source)}`
  if (reading !== undefined) {
    const what = role === 'key' ? `The key ${source}` : source
    return { code: 'yaml-ambiguous', message: `${what} is ${reading}; ${quoted}` }
  }
  if (role === 'key' || typeof value !== 'number' || !Number.isFinite(value) || String(value) === source)
    return undefined
  return { code: 'yaml-number', message: `${source} is read as the number ${value}; ${quoted}` }
}

/** In JSON every key is text. In YAML a key has the type that it looks like. */
function keyReading(source: string): string | undefined {
  const kind = KEYS.find(({ form }) => form.test(source))?.kind
  return kind === undefined ? undefined : `text to readers that make JSON of it, and ${kind} to others`
}

const KEYS: readonly { readonly form: RegExp; readonly kind: string }[] = [
  { form: /^(?:~|null|Null|NULL)?$/, kind: 'nothing' },
  { form: /^(?:true|True|TRUE|false|False|FALSE)$/, kind: 'true or false' },
  { form: /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/, kind: 'a number' },
  { form: /^(?:0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/, kind: 'a number' },
]

/** The two readings of a plain scalar; `undefined` if readers agree. */
function ambiguous(source: string): string | undefined {
  if (source.length > LONGEST) return undefined
  return READINGS.find(({ form }) => form.test(source))?.reading
}

/** A number or a time is shorter. */
const LONGEST = 1_000

/** Forms of the YAML 1.1 types whose value differs in the 1.2 core schema, by PyYAML and the 1.1 type repository. */
const READINGS: readonly { readonly form: RegExp; readonly reading: string }[] = [
  { form: /^(?:y|Y|yes|Yes|YES|on|On|ON)$/, reading: 'text to YAML 1.2 and true to YAML 1.1' },
  { form: /^(?:n|N|no|No|NO|off|Off|OFF)$/, reading: 'text to YAML 1.2 and false to YAML 1.1' },
  {
    form: /^\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)?$/,
    reading: 'text to YAML 1.2 and a date to YAML 1.1',
  },
  { form: /^[-+]?0[0-7]+$/, reading: 'a decimal number to YAML 1.2 and an octal one to YAML 1.1' },
  { form: /^[-+]?0\d+$/, reading: 'a number to YAML 1.2 and text to YAML 1.1' },
  { form: /^0o[0-7]+$/, reading: 'an octal number to YAML 1.2 and text to YAML 1.1' },
  { form: /^[-+]?0b[01_]+$/, reading: 'text to YAML 1.2 and a binary number to YAML 1.1' },
  { form: /^[-+]?0[0-7_]+$/, reading: 'text to YAML 1.2 and an octal number to YAML 1.1' },
  {
    form: /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/,
    reading: 'text to YAML 1.2 and a number of base 60 to YAML 1.1',
  },
  {
    form: /^(?:[-+]0x[0-9a-fA-F_]+|0x(?=.*_)[0-9a-fA-F_]+)$/,
    reading: 'text to YAML 1.2 and a number to YAML 1.1',
  },
  {
    form: /^(?=.*_)(?:[-+]?[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+][0-9]+)?)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$/,
    reading: 'text to YAML 1.2 and a number to YAML 1.1',
  },
  { form: /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE]\d+$/, reading: 'a number to YAML 1.2 and text to YAML 1.1' },
  { form: /^[-+]?\d+[eE][-+]\d+$/, reading: 'a number to YAML 1.2 and text to YAML 1.1' },
  { form: /^[-+]\.\d+(?:[eE][-+]?\d+)?$/, reading: 'a number to YAML 1.2 and text to YAML 1.1' },
  { form: /^(?:=|<<)$/, reading: 'text to YAML 1.2, and refused by readers of YAML 1.1' },
]
