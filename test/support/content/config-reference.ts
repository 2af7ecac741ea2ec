import type { SchemaNode } from '../../../src/daemon/config/schema-json.ts'

/** `docs/configuration.md`, from the schema of the configuration: a table for each key of the top level, and for each block. */
export function configReference(schema: SchemaNode): string {
  const known: Known = new Map()
  const blocks = Object.entries(defsOf(schema)).map(([key, node]) => sectionOf(key, node, known))
  const sections = keysOf(schema).map(([key, node]) => sectionOf(key, node, known))
  return `${[HEAD, ...sections, BLOCKS, ...blocks.map((block) => `#${block}`), TAIL].join('\n\n')}\n`
}

/** The path of every key below the top level, without `[]`, with those of each block at each of its places. */
export function configKeys(schema: SchemaNode): ReadonlySet<string> {
  const below = (path: string, node: SchemaNode): string[] =>
    keysBelow(node, defsOf(schema)).flatMap(([key, child]) =>
      [[`${path}.${key}`], below(`${path}.${key}`, child)].flat(),
    )
  return new Set(keysOf(schema).flatMap(([key, node]) => below(key, node)))
}

const HEAD = `# Configuration

To write \`skillsyncd.yaml\`, start with \`skillsyncd add URL\`, or copy [\`config/skillsyncd.yaml\`](../config/skillsyncd.yaml),
which has the keys that most people need. This page has all keys. It is made from the schema
([\`skillsyncd.schema.json\`](../config/skillsyncd.schema.json)) that checks the file and that editors use. An unknown key is
refused, never ignored.

The first file that exists counts: \`./skillsyncd.yaml\`, \`skillsyncd/skillsyncd.yaml\` in the user's configuration folder,
\`/etc/skillsyncd/skillsyncd.yaml\`; \`--config FILE\` names another. Without a file, \`skillsyncd start --source URL\` and
\`skillsyncd mcp --skills-dir DIR\` use the defaults.

A *size* is a whole number of bytes, or one with \`KiB\`, \`MiB\`, \`GiB\` or \`TiB\`; a *duration* one with \`ms\`, \`s\`, \`m\`, \`h\`
or \`d\`. Relative paths start at the folder of the file, and \`~/\` is the home folder. Of several words, the **bold** one is
the default.`

const BLOCKS = `## Blocks

Mappings that several places have.`

const TAIL = `A secret is read again before each use. One that is written into the file is refused.`

/** The place at which a key was described first, by its name and its node. */
type Known = Map<string, string>

function sectionOf(key: string, node: SchemaNode, known: Known): string {
  const head = [`## \`${key}\``, node.description].filter((text) => text !== undefined).join('\n\n')
  const { rows, repeated } = rowsOf(key, node, known)
  const again = sentencesOf(repeated)
  if (rows.length === 0 && again.length === 0) return `${head} A ${takesOf(node)}.`
  return [head, ...(rows.length === 0 ? [] : [table(rows)]), ...again].join('\n\n')
}

/** The blocks: the mappings that have a name in the schema. */
function defsOf({ $defs = {} }: SchemaNode): Readonly<Record<string, SchemaNode>> {
  return Object.fromEntries(Object.entries($defs).flatMap(([name, node]) => (isNode(node) ? [[name, node]] : [])))
}

interface Row {
  readonly key: string
  readonly takes: string
  readonly text: string
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ key, takes, text }) => `\`${key}\` | ${takes} | ${text}`)
  return ['Key | Value | Meaning', '--- | --- | ---', ...lines].join('\n')
}

/** Keys of one place that an earlier place describes. */
interface Repeated {
  readonly place: string
  readonly first: string
  readonly keys: string
}

interface Rows {
  readonly rows: readonly Row[]
  readonly repeated: readonly Repeated[]
}

/**
 * Every key below a place that no earlier place describes, in the order of the schema; those of a list of mappings as
 * those of one. The keys of a block are in its own section.
 */
function rowsOf(path: string, node: SchemaNode, known: Known): Rows {
  const prefix = isListOfMappings(node) ? `${path}[]` : path
  const keys = keysBelow(node).map(([key, child]) => {
    const name = JSON.stringify([key, child])
    const first = known.get(name)
    if (first === undefined) known.set(name, prefix)
    return { key, child, first }
  })
  const told = keys
    .filter(({ first }) => first === undefined)
    .map(({ key, child }): Rows => {
      const { rows, repeated } = rowsOf(`${prefix}.${key}`, child, known)
      return { rows: [rowOf(`${prefix}.${key}`, child), ...rows], repeated }
    })
  const again = [...new Set(keys.flatMap(({ first }) => first ?? []))].map((first) => {
    const same = keys.filter((entry) => entry.first === first).map(({ key }) => `\`${key}\``)
    return { place: `\`${prefix}\``, first: `\`${first}\``, keys: same.join(', ') }
  })
  return { rows: told.flatMap(({ rows }) => rows), repeated: [...told.flatMap(({ repeated }) => repeated), ...again] }
}

/** A sentence for each group of keys that an earlier place describes. */
function sentencesOf(repeated: readonly Repeated[]): string[] {
  const groups = Map.groupBy(repeated, ({ first, keys }) => `have, as ${first}: ${keys}.`)
  return [...groups].map(([end, places]) => {
    const text = `${places.map(({ place }) => place).join(', ')} also ${end}`
    return places.length === 1 ? text.replace(' also have,', ' also has,') : text
  })
}

function rowOf(key: string, node: SchemaNode): Row {
  const { description = '', default: usual } = node
  const isSaid = usual === undefined || /Default: /.test(description) || JSON.stringify(usual) === '{}'
  const text = isSaid ? description : `${description} Default: ${JSON.stringify(usual).replaceAll('"', '')}.`
  const words = takesOf(node)
  const [said = '', word = ''] = / ?Default: ([\w.-]+)\.(?= |$)/.exec(text) ?? []
  const takes = words.replace(`\`${word}\``, `**\`${word}\`**`)
  return { key, takes, text: cell(takes === words ? text : text.replace(said, '')) }
}

/** What stands between bars must not hold one, nor what a page would take for a tag. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}

function takesOf(node: SchemaNode): string {
  const kinds = forms(node).flatMap((form) => kindOf(form) ?? [])
  return [...new Set(kinds)].join(', ').replace('size, number', 'size')
}

function kindOf({ type, enum: words, pattern, items, const: only, $ref }: SchemaNode): string | undefined {
  const block = blockOf($ref)
  if (block !== undefined) return `[${block}](#${block})`
  if (only !== undefined) return `\`${String(only)}\``
  if (words !== undefined) return words.map((word) => `\`${String(word)}\``).join(' ')
  switch (type) {
    case 'string':
      return pattern === undefined ? 'text' : (SHAPES.find(([part]) => pattern.includes(part))?.[1] ?? 'text')
    case 'integer':
      return 'number'
    case 'boolean':
      return '`true` `false`'
    case 'array':
      return ['list', ...(isNode(items) ? (items.enum ?? []) : []).map((word) => `\`${String(word)}\``)].join(' ')
    case 'object':
      return 'mapping'
    default:
      return undefined
  }
}

/** By what their patterns name. */
const SHAPES: readonly (readonly [string, string])[] = [
  ['KiB', 'size'],
  ['(ms|s|', 'duration'],
]

/** A node and what it leaves a choice of; a block is one of `defs`, or stays a name. */
function forms(node: SchemaNode, defs: Readonly<Record<string, SchemaNode>> = {}): SchemaNode[] {
  const target = defs[blockOf(node.$ref) ?? '']
  return [node, ...[target, ...(node.anyOf ?? [])].filter(isNode).flatMap((other) => forms(other, defs))]
}

function keysBelow(node: SchemaNode, defs: Readonly<Record<string, SchemaNode>> = {}): [string, SchemaNode][] {
  return forms(node, defs).flatMap((form) => (isNode(form.items) ? keysBelow(form.items, defs) : keysOf(form)))
}

function keysOf({ properties = {} }: SchemaNode): [string, SchemaNode][] {
  return Object.entries(properties).flatMap(([key, node]): [string, SchemaNode][] =>
    isNode(node) ? [[key, node]] : [],
  )
}

function isListOfMappings(node: SchemaNode): boolean {
  return forms(node).some(({ items }) => isNode(items) && keysBelow(items).length > 0)
}

function blockOf($ref: string | undefined): string | undefined {
  return $ref?.replace('#/$defs/', '')
}

/** In JSON Schema `true` and `false` are schemas too; here none of them says anything. */
function isNode(node: unknown): node is SchemaNode {
  return typeof node === 'object' && node !== null && !Array.isArray(node)
}
