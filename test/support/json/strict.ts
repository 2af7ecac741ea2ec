import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'

/**
 * Throws if the output of a command with `--json` is not what the schema has, or has a member that the schema lacks. Returns
 * its entry there; `undefined` for a command without JSON.
 */
export async function expectOfSchema(args: readonly string[], stdout: string): Promise<string | undefined> {
  if (!args.includes('--json')) return undefined
  const entry = isFailure(stdout) ? 'error' : await entryOf(args)
  if (entry === undefined) return undefined
  if (stdout === '') throw new Error(`"${args.join(' ')}" prints nothing on stdout`)
  const validate = validatorOf(entry)
  if (validate(JSON.parse(stdout))) return entry
  const faults = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`
  })
  const where = `test/support/json, as "${entry}" (UPDATE_SCHEMA=1 npx vitest run test/daemon/cli/commands-schema.test.ts)`
  throw new Error(
    `"${args.join(' ')}" prints what the schema does not have; describe it in ${where}:\n${faults.join('\n')}`,
  )
}

/** The entry of the schema for a command line: that which names most of it. `undefined` for one that prints no JSON. */
async function entryOf(args: readonly string[]): Promise<string | undefined> {
  const { commandFirst, commandIn, parseOptions } = await import('../../../src/daemon/command-line.ts')
  const words = commandFirst(args)
  if (words.includes('--version')) return '--version'
  if (words.includes('--help') || words.includes('-h')) return undefined
  const { command, args: rest } = await commandIn(words)
  const { values, positionals } = parseOptions(command, rest)
  const isOf = (entry: string): boolean => {
    if (entry !== command.name && !entry.startsWith(`${command.name} `)) return false
    const parts = entry.slice(command.name.length).split(' ').filter(Boolean)
    const operands = parts.filter((part) => !part.startsWith('--'))
    const options = parts.filter((part) => part.startsWith('--'))
    const isOperand = (part: string, at: number): boolean =>
      /^[A-Z]/.test(part) ? positionals.length > at : positionals[at] === part
    return options.every((part) => values[part.slice(2)] !== undefined) && operands.every(isOperand)
  }
  const fitting = Object.keys(schema().properties).filter(isOf)
  if (fitting.length === 0 && command.serves === undefined && command.name !== '--completion')
    throw new Error(`config/commands.schema.json has no entry for "${args.join(' ')}"`)
  return fitting.toSorted((a, b) => b.split(' ').length - a.split(' ').length)[0]
}

function isFailure(stdout: string): boolean {
  return /^\{\n {2}"error": \{/.test(stdout) && stdout.includes('\n  "exitStatus": ')
}

const validators = new Map<string, ValidateFunction>()
let ajv: Ajv2020 | undefined

function validatorOf(entry: string): ValidateFunction {
  const known = validators.get(entry)
  if (known !== undefined) return known
  ajv ??= new Ajv2020({ strict: false, allErrors: true, schemas: [schema()] })
  const made = ajv.compile({ $ref: `commands.schema.json#/properties/${encodeURIComponent(entry)}` })
  validators.set(entry, made)
  return made
}

interface Schema {
  readonly properties: Readonly<Record<string, unknown>>
}

let read: Schema | undefined

/** The schema that is shipped, in which no object has another member than those that are named. */
function schema(): Schema {
  const file = new URL('../../../config/commands.schema.json', import.meta.url)
  read ??= JSON.parse(readFileSync(file, 'utf8'), (key, value) => (key === 'properties' ? value : closed(value)))
  return read as Schema
}

function closed(node: unknown): unknown {
  const isOpen = typeof node === 'object' && node !== null && 'properties' in node && !('additionalProperties' in node)
  return isOpen && !('$defs' in node) ? { ...node, additionalProperties: false } : node
}
