import { z } from 'zod'
import { looksLikeSecret } from './rules/config-error.ts'
import type { KeyPath } from './rules/config-error.ts'

/** The JSON Schema of skillsyncd.yaml, for editors: the content of `config/skillsyncd.schema.json`. */
export function schemaJson(form: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema, ...rest } = plainSchema(form)
  return { $schema, $id: 'skillsyncd.schema.json', title: 'skillsyncd.yaml', ...rest }
}

/** A JSON Schema, or a part of one. */
export type SchemaNode = z.core.JSONSchema.BaseSchema

/** The schema as plain data that can be walked; all callers share it. It takes as long as reading ten configurations. */
export function plainSchema(schema: z.ZodType): SchemaNode {
  const known = plain.get(schema)
  if (known !== undefined) return known
  const made = z.toJSONSchema(schema, { io: 'input' })
  plain.set(schema, made)
  return made
}

const plain = new WeakMap<z.ZodType, SchemaNode>()

/** The keys that a mapping at this place may have. */
export function keysAt(schema: SchemaNode, path: KeyPath): string[] {
  const parts = path.map((part) => (typeof part === 'number' ? '[]' : part))
  return nodesAt(schema, parts)
    .flatMap((node) => forms(schema, node))
    .flatMap(({ properties = {} }) => Object.keys(properties))
}

/**
 * The part of the path that a message may name. An unknown key can be a misplaced secret (`token: { hunter2 }`). If
 * secrets are near, or the key is not a plain word, the key above it is named instead.
 */
export function nameable(schema: SchemaNode, path: KeyPath): KeyPath {
  const first = path.findIndex((part, index) => {
    const above = path.slice(0, index)
    if (typeof part === 'number' || keysAt(schema, above).includes(part)) return false
    return !PLAIN_KEY.test(part) || looksLikeSecret(part) || above.some((key) => SECRETS_NEAR.has(key))
  })
  return first === -1 ? path : path.slice(0, first)
}

const PLAIN_KEY = /^[A-Za-z$][\w-]{0,40}$/
const SECRETS_NEAR: ReadonlySet<string | number> = new Set([
  'auth',
  'secret',
  'webhook',
  'proxy',
  'gate',
  'env',
  'tls',
  'mcp',
])

/** The schema nodes of a place; several if a value has a choice of forms. */
function nodesAt(root: SchemaNode, parts: readonly string[]): SchemaNode[] {
  let nodes: SchemaNode[] = [root]
  for (const part of parts) {
    nodes = nodes
      .flatMap((node) => forms(root, node))
      .map((node) => (part === '[]' ? node.items : below(node, part)))
      .filter(isNode)
  }
  return nodes
}

function below({ properties = {} }: SchemaNode, key: string): unknown {
  return Object.hasOwn(properties, key) ? properties[key] : undefined
}

/** A node, with all nodes that it references or offers as a choice. */
function forms(root: SchemaNode, node: SchemaNode): SchemaNode[] {
  const target = root.$defs?.[node.$ref?.replace('#/$defs/', '') ?? '']
  const others = [target, ...(node.anyOf ?? [])].filter(isNode)
  return [node, ...others.flatMap((other) => forms(root, other))]
}

/** In JSON Schema, `true` and `false` are schemas too; in this schema they carry no information. */
function isNode(node: unknown): node is SchemaNode {
  return typeof node === 'object' && node !== null && !Array.isArray(node)
}
