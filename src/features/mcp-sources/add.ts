import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import { Prompt } from '../../daemon/cli/prompt.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { stateText } from '../../sync/model/verdict/verdict.ts'
import { shownValue } from '../../sync/skill/contract/contract-value.ts'
import {
  addUriRequest,
  removeUriRequest,
  completeRequest,
  resolveRequest,
  templatesRequest,
} from './addition-requests.ts'
import type { Addition } from './additions.ts'
import { printTemplates } from './templates.ts'
import type { Completing } from './upstream/completion.ts'
import { readTemplate } from './upstream/template.ts'

export const addUnlisted: Command = {
  name: 'mcp-source add',
  operands: {
    text: '[SOURCE [URI|TEMPLATE|NUMBER [VARIABLE=VALUE…]]]',
    most: Number.POSITIVE_INFINITY,
    offers: ['sources', []],
  },
  details: `
  URI is the address of its SKILL.md on that server. TEMPLATE is a template of the server for such addresses, and NUMBER
  its place in the list, which is printed without either: of SOURCE, or of all MCP sources. On a terminal it asks for each
  variable without a VALUE, and offers the values that the server has; elsewhere that is an error.

  The server is queried for the skill now and at each poll. An added skill has the same checks, limits and approval as
  any other.
`,
  examples: [
    'skillsyncd mcp-source add acme skill://refunds/SKILL.md',
    'skillsyncd mcp-source add acme',
    'skillsyncd mcp-source add acme 1 product=payments',
  ],
  options: {
    unverified: {
      type: 'boolean',
      help: 'for a server of an older revision, which cannot list skills: trust the SKILL.md at the URI and the files beside it as they are now',
    },
    remove: { type: 'boolean', help: 'remove the skill at the URI again' },
  },
  async run(context) {
    const [source, uri, ...rest] = context.operands
    const isRemoved = context.values['remove'] === true
    const isUnverified = context.values['unverified'] === true
    if (isRemoved && isUnverified) throw new UsageError('--remove and --unverified exclude each other')
    if (source === undefined || uri === undefined) {
      if (isRemoved || isUnverified) throw new UsageError('"mcp-source add" wants a source and the URI of a SKILL.md')
      return printTemplates(context, await configFor(context))
    }
    if (isTemplate(uri) ? isRemoved : rest.length > 0)
      throw new UsageError('VARIABLE=VALUE goes with a template alone, and --remove with a URI')
    const values = templateValues(rest)
    const skill = await withWriter(context, await configFor(context), async (ask) => {
      if (isTemplate(uri)) return resolveTemplate({ source, which: uri, isUnverified }, values, context, ask)
      return isRemoved ? ask(removeUriRequest, { source, uri }) : ask(addUriRequest, { source, uri, isUnverified })
    })
    if (skill !== undefined) print(context, skill, isRemoved)
    else context.streams.stderr.write('skillsyncd: cancelled; nothing was added\n')
    return skill === undefined ? 1 : 0
  },
}

function print(context: Context, skill: Addition, isRemoved: boolean): void {
  if (context.json) return printJson(context, { skill })
  const state = isRemoved ? removedText(skill) : addedText(skill)
  const notes = isRemoved ? [] : skill.findings.map((message) => `  ${message}`)
  printLines(context, [`${skill.source}/${skill.path}: ${state}`, ...notes].map(printableLine))
}

/** Its server may list the skill now, and the last skill of a source is not removed silently. */
function removedText({ source, state }: Addition): string {
  return state === undefined ? 'removed' : `removed; it is still served: skillsyncd status ${source} shows the reason`
}

function addedText({ source, path, state }: Addition): string {
  if (state === undefined) return `added, but not here yet; skillsyncd status ${source} shows the reason`
  return `added, and ${stateText(state)}${state === 'waiting' ? ` for skillsyncd approve ${source}/${path}` : ''}`
}

/** True for a template or its number, which is no address of a file. */
function isTemplate(operand: string): boolean {
  return /^\d+$|\{/.test(operand)
}

/** A template of a source, in full or by its number. */
interface NamedTemplate {
  readonly source: string
  readonly which: string
  readonly isUnverified: boolean
}

/** Adds the skill that a template leads to. `undefined` if the person cancels. */
async function resolveTemplate(
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
function templateValues(operands: readonly string[]): ReadonlyMap<string, string> {
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
