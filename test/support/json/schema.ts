import { z } from 'zod'
import { FAILURE, RESULTS } from './commands.ts'

/** The text of `config/commands.schema.json`: a property for each command and variant, and a definition for each shared value. */
export function schemaText(): string {
  const results = z.object({ ...RESULTS, error: FAILURE }).partial()
  const { $schema, properties, $defs } = z.toJSONSchema(results, {
    // With `output` no object could have a member that a later version adds.
    io: 'input',
    override({ jsonSchema }) {
      delete jsonSchema.readOnly
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  const head = JSON.stringify({ $schema, $id: 'commands.schema.json', title: 'skillsyncd COMMAND --json', description })
  return `${head.slice(0, -1)},\n"properties": ${linesOf(properties)},\n"$defs": ${linesOf($defs)}}\n`
}

const description =
  'The property of a command has its output with --json: with an option that has the command do something else, with the first operand, or with any operand, which is in capitals. A command that fails before it has a result prints the property "error".'

/** Each member on a line of its own, which the history shows. */
function linesOf(members: z.core.JSONSchema.BaseSchema['properties'] = {}): string {
  const lines = Object.entries(members).map(([name, member]) => `  ${JSON.stringify(name)}: ${JSON.stringify(member)}`)
  return `{\n${lines.join(',\n')}\n}`
}
