import type { Context } from '../../daemon/cli/command.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import { Prompt } from '../../daemon/cli/prompt.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { shownValue } from '../../sync/skill/contract/contract-value.ts'
import { completeRequest, resolveRequest, templatesRequest } from './addition-requests.ts'
import type { Addition } from './additions.ts'
import type { Completing } from './upstream/completion.ts'
import { readTemplate } from './upstream/template.ts'

/** True for a template or its number, which is no address of a file. */
export function isTemplate(operand: string): boolean {
  return /^\d+$|\{/.test(operand)
}

/** A template of a source, in full or by its number. */
export interface NamedTemplate {
  readonly source: string
  readonly which: string
  readonly isUnverified: boolean
}

/** Adds the skill that a template leads to. `undefined` if the person cancels. */
export async function resolveTemplate(
  { source, which, isUnverified }: NamedTemplate,
  given: ReadonlyMap<string, string>,
  context: Context,
  ask: AskWriter,
): Promise<Addition | undefined> {
  const template = await chooseTemplate(source, which, ask)
  const values = await allValues({ source, ...template }, given, context, ask)
  return values && ask(resolveRequest, { source, template: template.text, values, isUnverified })
}

interface Chosen {
  readonly text: string
  readonly variables: readonly string[]
}

/** The values of operands of the form VARIABLE=VALUE. */
export function templateValues(operands: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const operand of operands) {
    const at = operand.indexOf('=')
    if (at < 1) throw new UsageError(`"${operand}" is not of the form VARIABLE=VALUE`)
    const name = operand.slice(0, at)
    if (values.has(name)) throw new UsageError(`"${name}" has two values`)
    values.set(name, operand.slice(at + 1))
  }
  return values
}

/** A template that is given in full is validated before any request. */
async function chooseTemplate(source: string, which: string, ask: AskWriter): Promise<Chosen> {
  const isNumber = /^\d+$/.test(which)
  const read = isNumber ? undefined : readTemplate(which)
  if (read?.ok === false)
    throw new OperatorError('template-refused', `Cannot resolve ${shownValue(which)}: ${read.why}`)
  const { spaces } = await ask(templatesRequest, { source })
  const space = isNumber ? spaces[Number(which) - 1] : spaces.find(({ template }) => template === which)
  if (space !== undefined) return { text: space.template, variables: space.variables }
  const there = spaces.length === 0 ? 'it has none' : `skillsyncd mcp-source add ${source} shows those that it has`
  throw new OperatorError('unknown-template', `"${source}" has no template ${shownValue(which)} for skills; ${there}`)
}

/** `undefined` if the person cancels. */
async function allValues(
  { source, text, variables }: Chosen & { readonly source: string },
  given: ReadonlyMap<string, string>,
  context: Context,
  ask: AskWriter,
): Promise<Readonly<Record<string, string>> | undefined> {
  const stranger = [...given.keys()].find((name) => !variables.includes(name))
  if (stranger !== undefined) throw new UsageError(`${text} has no variable "${stranger}"`)
  const missing = variables.filter((name) => !given.has(name))
  const { stdin: input, stdout, stderr: output } = context.streams
  if (missing.length > 0 && (stdout.isTTY !== true || context.json))
    throw new UsageError(`${text} wants a value for "${missing.join('", "')}"; write ${missing[0]}=VALUE`)
  using questions = missing.length === 0 ? undefined : new Prompt({ input, output, signal: context.signal })
  const values = new Map(given)
  for (const variable of missing) {
    const asked = { source, template: text, variable, values: Object.fromEntries(values) }
    const value = questions && (await valueFor(asked, questions, ask))
    if (value === undefined) return undefined
    values.set(variable, value)
  }
  return Object.fromEntries(values)
}

/** Has a person choose a value for a variable among those that the server offers, or enter one if it offers none. */
async function valueFor(
  asked: Completing & { readonly source: string },
  questions: Prompt,
  ask: AskWriter,
): Promise<string | undefined> {
  const { variable } = asked
  const { values, hasMore } = await ask(completeRequest, asked)
  if (values.length === 0) return questions.ask(`${variable}:`)
  for (const [index, value] of values.entries()) questions.tell(`  ${index + 1}  ${value}`)
  for (;;) {
    const answer = await questions.ask(`${variable}, by number or in full${hasMore ? '; there are more' : ''}:`)
    const value = values.find((one) => one === answer) ?? values[Number(answer) - 1]
    if (value !== undefined || hasMore || answer === undefined) return value ?? answer
    questions.tell(`"${answer}" is none of them; an empty line cancels`)
  }
}
