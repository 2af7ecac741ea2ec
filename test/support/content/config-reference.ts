import type { SchemaNode } from '../../../src/daemon/config/schema-json.ts'

/** `docs/configuration.md`, from the schema of the configuration: a table for each key of the top level. */
export function configReference(schema: SchemaNode): string {
  const sections = keysOf(schema).map(([key, node]) => sectionOf(schema, key, node))
  const secret = schema.$defs?.['secret']
  const ofSecrets = isNode(secret) ? [secretSection(schema, secret)] : []
  return `${[HEAD, ...sections, ...ofSecrets, TAIL].join('\n\n')}\n`
}

const HEAD = `# Configuration

Every key of \`skillsyncd.yaml\`, made from the schema that checks it ([\`skillsyncd.schema.json\`](../config/skillsyncd.schema.json)).
[\`config/skillsyncd.yaml\`](../config/skillsyncd.yaml) has them in context, with the reasons. An unknown key is
refused: no key is ignored.

**Sizes** are whole numbers with \`B\`, \`KiB\`, \`MiB\`, \`GiB\` or \`TiB\`; a plain number is bytes. **Durations** are whole
numbers with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`. Relative paths start at the folder of the file, and \`~/\` is the home
folder.`

const TAIL = `## Without a file

\`skillsyncd start --source URL\` and \`skillsyncd mcp --skills-dir DIR\` read the sources from the command line, and use
defaults for everything else. If several files exist, the first one counts: \`./skillsyncd.yaml\`, then
\`skillsyncd/skillsyncd.yaml\` in the user's configuration folder, then \`/etc/skillsyncd/skillsyncd.yaml\`.`

function sectionOf(schema: SchemaNode, key: string, node: SchemaNode): string {
  const head = `## \`${key}\`\n\n${node.description ?? ''}`
  // What it says of many sources is what each of them can say.
  const rows = key === 'defaults' ? rowsOf(schema, key, onlyKey(node, 'match')) : rowsOf(schema, key, node)
  if (rows.length === 0) return `${head} Takes ${takesOf(schema, node)}.`
  return `${head}\n\n${table(rows)}${key === 'defaults' ? '\n\nFurther keys: any key of a source except `id`.' : ''}`
}

function secretSection(schema: SchemaNode, secret: SchemaNode): string {
  const rows = keysOf(secret).map(([key, node]) => rowOf(schema, key, node))
  return `## Secrets\n\nA *secret* is one of these. It is read again before each use. A secret that is written into the file is refused.\n\n${table(rows)}`
}

interface Row {
  readonly key: string
  readonly takes: string
  readonly text: string
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ key, takes, text }) => `| \`${key}\` | ${takes} | ${text} |`)
  return ['| Key | Value | Meaning |', '| --- | --- | --- |', ...lines].join('\n')
}

/** Every key below a place, in the order of the schema; those of a list of mappings as those of one. */
function rowsOf(schema: SchemaNode, path: string, node: SchemaNode): Row[] {
  const prefix = isListOfMappings(schema, node) ? `${path}[]` : path
  return keysBelow(schema, node).flatMap(([key, child]) => {
    const place = `${prefix}.${key}`
    const below = isSecret(child) ? [] : rowsOf(schema, place, child)
    return [[rowOf(schema, place, child)], below].flat()
  })
}

function rowOf(schema: SchemaNode, key: string, node: SchemaNode): Row {
  const { description = '', default: usual } = node
  const isSaid = usual === undefined || /Default: /.test(description) || JSON.stringify(usual) === '{}'
  const text = isSaid ? description : `${description} Default: \`${JSON.stringify(usual).replaceAll('"', '')}\`.`
  return { key, takes: takesOf(schema, node), text: cell(text) }
}

/** What stands between bars must not hold one, nor what a page would take for a tag. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}

function takesOf(schema: SchemaNode, node: SchemaNode): string {
  const kinds = forms(schema, node).flatMap((form) => kindOf(schema, form) ?? [])
  return [...new Set(kinds)].join(', or ')
}

function kindOf(
  schema: SchemaNode,
  { type, enum: words, pattern, items, const: only, $ref }: SchemaNode,
): string | undefined {
  if ($ref === '#/$defs/secret') return '[secret](#secrets)'
  if (only !== undefined) return `\`${JSON.stringify(only)}\``
  if (words !== undefined) return words.map((word) => `\`${String(word)}\``).join(' · ')
  switch (type) {
    case 'string':
      return pattern === undefined ? 'text' : (SHAPES.find(([part]) => pattern.includes(part))?.[1] ?? 'text')
    case 'integer':
      return 'a number'
    case 'boolean':
      return '`true` · `false`'
    case 'array':
      return isNode(items) ? `a list: ${takesOf(schema, items)}` : 'a list'
    case 'object':
      return 'a mapping'
    default:
      return undefined
  }
}

/** By what their patterns name. */
const SHAPES: readonly (readonly [string, string])[] = [
  ['KiB', 'a size'],
  ['(ms|s|', 'a duration'],
]

/** A node and what it leaves a choice of. A reference to a secret says enough by itself. */
function forms(schema: SchemaNode, node: SchemaNode): SchemaNode[] {
  if (isSecret(node)) return [node]
  const target = schema.$defs?.[node.$ref?.replace('#/$defs/', '') ?? '']
  return [node, ...[target, ...(node.anyOf ?? [])].filter(isNode).flatMap((other) => forms(schema, other))]
}

function keysBelow(schema: SchemaNode, node: SchemaNode): [string, SchemaNode][] {
  return forms(schema, node).flatMap((form) => (isNode(form.items) ? keysBelow(schema, form.items) : keysOf(form)))
}

function keysOf({ properties = {} }: SchemaNode): [string, SchemaNode][] {
  return Object.entries(properties).flatMap(([key, node]): [string, SchemaNode][] =>
    isNode(node) ? [[key, node]] : [],
  )
}

function isListOfMappings(schema: SchemaNode, node: SchemaNode): boolean {
  return forms(schema, node).some(({ items }) => isNode(items) && keysBelow(schema, items).length > 0)
}

function isSecret({ $ref }: SchemaNode): boolean {
  return $ref === '#/$defs/secret'
}

function onlyKey(node: SchemaNode, key: string): SchemaNode {
  const { items } = node
  const properties = isNode(items) ? items.properties : undefined
  const found = properties?.[key]
  return found === undefined ? node : { ...node, items: { type: 'object', properties: { [key]: found } } }
}

/** In JSON Schema `true` and `false` are schemas too; here none of them says anything. */
function isNode(node: unknown): node is SchemaNode {
  return typeof node === 'object' && node !== null && !Array.isArray(node)
}
