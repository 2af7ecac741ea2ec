import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** The revisions with a published schema. That of 2024-10-07 was never published: it is held to that of 2024-11-05. */
export const SCHEMAS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const

/** Says what of a message is not in a definition of the schema of a revision; an empty list if nothing. */
export type Faults = (definition: string, value: unknown) => readonly string[]

/**
 * The published schema of a revision (modelcontextprotocol/modelcontextprotocol, `schema/REVISION/schema.json`, MIT): the
 * definitions of what a server sends, without the descriptions. Its objects are open; here they are closed, so that a
 * field of a newer revision is a fault too.
 */
export function schemaOf(revision: string): Faults {
  const text = readFileSync(
    new URL(`schemas/${revision < '2024-11-05' ? '2024-11-05' : revision}.json`, import.meta.url),
  )
  const schema = closed(JSON.parse(text.toString()))
  const Validator = schema.$schema.includes('2020-12') ? Ajv2020 : Ajv
  const ajv = new Validator({ strict: false, validateFormats: false, allErrors: true }).addSchema(schema, 'mcp')
  const at = 'definitions' in schema ? 'definitions' : '$defs'
  return (definition, value) => {
    const validate = ajv.getSchema(`mcp#/${at}/${definition}`)
    if (validate === undefined) throw new Error(`${revision} has no ${definition}`)
    return validate(value) === true
      ? []
      : validate.errors!.map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`)
  }
}

function closed(value: any): any {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, closed(item)]))
  const isOpen = value.type === 'object' && value.properties !== undefined && value.additionalProperties === undefined
  return isOpen ? { ...inner, additionalProperties: false } : inner
}
