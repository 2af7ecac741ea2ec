import type { Steps } from '../../../base/cooperative.ts'
import { DerivedCache } from '../../../base/memo.ts'
import { beginningWith } from '../../../base/sorted-texts.ts'
import type { Sorted } from '../../../base/sorted-texts.ts'
import { ValueTable } from '../../../base/value-table.ts'
import type { ValueRow } from '../../../base/value-table.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { uriOf } from '../../../sync/model/skill-uri.ts'
import { hiddenIn } from '../../../sync/skill-md/hidden-unicode.ts'
import type { Registry } from '../../registry.ts'
import type { Surface } from '../core/methods.ts'
import { contractTemplates, isSpelledAs } from '../resources/contract/contract-templates.ts'
import { valuesIn, variablesOf } from '../resources/files/skill-template.ts'
import type { OfferedTemplate } from '../resources/files/skill-template.ts'
import { SourcePaths } from '../resources/files/source-paths.ts'
import { formsFor } from '../resources/forms.ts'
import type { Forms } from '../resources/forms.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'

/** Maximum number of values in one response (MCP, completion). */
const MAX_VALUES = 100

/** Serves `completion/complete` for the variables of resource templates: values that lead to a listed resource. */
export function templateCompletion(registry: Registry, forms: Forms): Surface {
  const templates = new Templates()
  return {
    capabilities: { completions: {} },
    methods: (known) => ({
      ...known,
      'completion/complete': async (params, { principal }) => {
        const question = questionOf(params)
        return answerOf(question, templates.find(question.template, registry.catalog, formsFor(principal, forms)))
      },
    }),
  }
}

async function answerOf({ name, begin, given }: Question, { names, valuesOf }: Completable): Promise<object> {
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

/** A template whose variables can be completed. */
interface Completable {
  readonly names: readonly string[]
  /** Returns the values of a variable for the given values of the others, in disjoint parts. */
  readonly valuesOf: (name: string, given: ReadonlyMap<string, string>) => Promise<readonly Sorted[]>
}

/**
 * The templates of a catalog and their prepared values. A call only searches them, so its cost hardly grows with their
 * number.
 */
class Templates {
  readonly #spaces = new DerivedCache<Catalog, Map<OfferedTemplate, ValueTable>>()
  readonly #paths = new SourcePaths()

  find(template: string, catalog: Catalog, { spaces, contract }: Forms): Completable {
    const space = spaces.find((candidate) => candidate.template === template)
    if (space !== undefined) return completableBy(this.#tableOf(space, catalog))
    const ofContract = contract === undefined ? [] : contractTemplates(contract.of(catalog))
    const found = ofContract.find((candidate) => isSpelledAs(candidate.listed.uriTemplate, template))
    if (found !== undefined) return completableBy(found.values)
    const source = catalog.snapshots
      .map((snapshot) => uriOf(snapshot.source, ''))
      .find((root) => isSpelledAs(`${root}/{+path}`, template))
    if (source === undefined) throw invalidParams(`There is no resource template ${JSON.stringify(template)}`)
    return { names: ['path'], valuesOf: async () => this.#paths.below(source, catalog) }
  }

  #tableOf(space: OfferedTemplate, catalog: Catalog): ValueTable {
    const tables = this.#spaces.of(catalog, () => new Map())
    const table = tables.get(space) ?? new ValueTable(variablesOf(space), () => rowsOf(space, catalog))
    tables.set(space, table)
    return table
  }
}

function completableBy(table: ValueTable): Completable {
  return { names: table.names, valuesOf: async (name, given) => [await table.of(name, given)] }
}

function* rowsOf(space: OfferedTemplate, { listed }: Catalog): Steps<readonly ValueRow[]> {
  const rows: ValueRow[] = []
  for (const { uri } of listed) {
    const row = [...(valuesIn(space, uri)?.values() ?? [])]
    // A value with hidden characters cannot be selected by a person.
    if (row.length > 0 && row.every((value) => hiddenIn(value) === undefined)) rows.push(row)
    yield
  }
  return rows
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
