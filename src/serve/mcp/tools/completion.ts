import { beginningWith } from '../../../base/sorted-texts.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Registry } from '../../registry.ts'
import type { Surface } from '../core/methods.ts'
import { formsFor } from '../resources/forms.ts'
import type { Forms } from '../resources/forms.ts'
import type { ResourceTemplate } from '../resources/resource-family.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'

/** Maximum number of values in one response (MCP, completion). */
const MAX_VALUES = 100

/** Serves `completion/complete` for the variables of resource templates: values that lead to a listed resource. */
export function templateCompletion(registry: Registry, forms: Forms): Surface {
  return {
    capabilities: { completions: {} },
    methods: (known) => ({
      ...known,
      'completion/complete': async (params, { principal }) => {
        const question = questionOf(params)
        return answerOf(question, templateNamed(question.template, registry.catalog, formsFor(principal, forms)))
      },
    }),
  }
}

async function answerOf({ name, begin, given }: Question, { names, valuesOf }: ResourceTemplate): Promise<object> {
  if (!names.includes(name)) {
    throw invalidParams(`The template has no variable ${JSON.stringify(name)}; it has ${names.join(', ')}`)
  }
  let total = 0
  const first: string[] = []
  for (const part of await valuesOf(name, given)) {
    const [from, to] = beginningWith(part, begin)
    total += to - from
    for (let at = from; at < Math.min(to, from + MAX_VALUES); at += 1) first.push(part.at(at) ?? '')
  }
  return { completion: { values: first.toSorted().slice(0, MAX_VALUES), total, hasMore: total > MAX_VALUES } }
}

function templateNamed(template: string, catalog: Catalog, { families }: Forms): ResourceTemplate {
  for (const family of families) {
    const found = family.templates(catalog).find(({ listed }) => isSpelledAs(listed.uriTemplate, template))
    if (found !== undefined) return found
  }
  throw invalidParams(`There is no resource template ${JSON.stringify(template)}`)
}

/** FastMCP and the contract write `{path*}` for `{+path}` of RFC 6570. */
function isSpelledAs(template: string, asked: string): boolean {
  return asked === template || asked === template.replace(/\{\+(\w+)\}/, '{$1*}')
}

interface Question {
  readonly template: string
  readonly name: string
  readonly begin: string
  readonly given: ReadonlyMap<string, string>
}

function questionOf({ ref, argument, context }: Params): Question {
  const { type, uri } = fieldsOf(ref, 'ref')
  if (type !== 'ref/resource' || typeof uri !== 'string')
    throw invalidParams('`ref` is required, and is { type: "ref/resource", uri }')
  const { name, value } = fieldsOf(argument, 'argument')
  if (typeof name !== 'string' || typeof value !== 'string')
    throw invalidParams('`argument` is required, and is { name, value }')
  const given = Object.entries(fieldsOf(fieldsOf(context ?? {}, 'context')['arguments'] ?? {}, 'context.arguments'))
  const texts = given.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  if (texts.length < given.length) throw invalidParams('The values of `context.arguments` are strings')
  return { template: uri, name, begin: value, given: new Map(texts) }
}

function fieldsOf(value: unknown, name: string): Params {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidParams(`\`${name}\` is an object`)
  return Object.fromEntries(Object.entries(value))
}
