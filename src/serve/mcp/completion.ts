import type { Catalog } from '../../sync/model/catalog.ts'
import { filesOf } from '../../sync/model/skill-files.ts'
import { uriOf } from '../../sync/model/skill-uri.ts'
import type { Registry } from '../registry.ts'
import { contractTemplates, isSpelledAs } from './contract-templates.ts'
import { formsFor } from './forms.ts'
import type { Forms } from './forms.ts'
import type { Surface } from './methods.ts'
import type { Params } from './params.ts'
import { invalidParams } from './rpc-error.ts'
import { valuesIn, variablesOf } from './skill-space.ts'
import type { SkillSpace } from './skill-space.ts'

/** So many values one answer holds at the most (MCP, completion). */
const MAX_VALUES = 100

/** `completion/complete` for the variables of resource templates: values that lead to something that is listed. */
export function templateCompletion(registry: Registry, forms: Forms): Surface {
  return {
    capabilities: { completions: {} },
    methods: (known) => ({
      ...known,
      'completion/complete': (params, { principal }) => complete(registry.catalog, formsFor(principal, forms), params),
    }),
  }
}

function complete(catalog: Catalog, forms: Forms, params: Params): object {
  const { template, name, begin, given } = questionOf(params)
  const variables = variablesOfTemplate(catalog, forms, template)
  const valuesOf = variables.get(name)
  if (valuesOf === undefined) {
    const known = [...variables.keys()].join(', ')
    throw invalidParams(`The template has no variable ${JSON.stringify(name)}; it has ${known}`)
  }
  const values = [...new Set([...valuesOf(given)].filter((value) => value.startsWith(begin)))].toSorted()
  const { length: total } = values
  return { completion: { values: values.slice(0, MAX_VALUES), total, hasMore: total > MAX_VALUES } }
}

/** The values that a variable can have, given what is said of the others. */
type ValuesOf = (given: ReadonlyMap<string, string>) => Iterable<string>

function variablesOfTemplate(
  catalog: Catalog,
  { spaces, contract }: Forms,
  template: string,
): ReadonlyMap<string, ValuesOf> {
  const space = spaces.find((candidate) => candidate.template === template)
  if (space !== undefined) {
    return new Map(variablesOf(space).map((name) => [name, (given) => skillValues(catalog, space, name, given)]))
  }
  const ofContract = contract === undefined ? [] : contractTemplates(contract.of(catalog))
  const found = ofContract.find((candidate) => isSpelledAs(candidate.listed.uriTemplate, template))
  if (found !== undefined) return found.variables
  const source = catalog.snapshots
    .map((snapshot) => uriOf(snapshot.source, ''))
    .find((root) => isSpelledAs(`${root}/{+path}`, template))
  if (source === undefined) throw invalidParams(`There is no resource template ${JSON.stringify(template)}`)
  return new Map([['path', () => filePaths(catalog, source)]])
}

function* skillValues(
  catalog: Catalog,
  space: SkillSpace,
  name: string,
  given: ReadonlyMap<string, string>,
): Generator<string> {
  for (const { uri } of catalog.listed) {
    const values = valuesIn(space, uri)
    const value = values?.get(name)
    if (values === undefined || value === undefined) continue
    const agrees = [...values].every(([other, known]) => other === name || (given.get(other) ?? known) === known)
    if (agrees) yield value
  }
}

/** As they stand in URIs: what is expanded with `+` keeps what is encoded (RFC 6570, 3.2.3). */
function* filePaths(catalog: Catalog, root: string): Generator<string> {
  for (const skill of catalog.listed) {
    if (!skill.root.startsWith(`${root}/`)) continue
    for (const { uri } of filesOf(skill)) yield uri.slice(root.length + 1)
  }
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
