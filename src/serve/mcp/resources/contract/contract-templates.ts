import type { Steps } from '../../../../base/cooperative.ts'
import { DerivedCache } from '../../../../base/memo.ts'
import { ValueTable } from '../../../../base/value-table.ts'
import type { ValueRow } from '../../../../base/value-table.ts'
import type { ContractFamily, ContractResource } from './contract.ts'

/** A template of the family, and the values of its variables that lead to a listed resource. */
export interface ContractTemplate {
  readonly listed: ListedTemplate
  readonly values: ValueTable
}

/** The entry of a template in `resources/templates/list`. */
interface ListedTemplate {
  readonly uriTemplate: string
  readonly name: string
  readonly description: string
  /** `undefined` if its resources have several types. */
  readonly mimeType?: string
}

/** Returns the templates with at least one resource; built once for each family. */
export function contractTemplates(family: ContractFamily): readonly ContractTemplate[] {
  return TEMPLATES.of(family, () => {
    const skills = family.listed.length === 0 ? [] : ofSkills(family)
    const hasReferences = family.listed.some(({ contract }) => contract.references.length > 0)
    const references = hasReferences ? [ofReferences(family)] : []
    const docs = [...family.resources.values()].some(isListedDoc) ? [ofDocs(family)] : []
    return [...skills, ...references, ...docs]
  })
}

const TEMPLATES = new DerivedCache<ContractFamily, readonly ContractTemplate[]>()

/** FastMCP and the contract write `{path*}` for `{+path}` of RFC 6570. */
export function isSpelledAs(template: string, asked: string): boolean {
  return asked === template || asked === template.replace(/\{\+(\w+)\}/, '{$1*}')
}

function ofSkills(family: ContractFamily): ContractTemplate[] {
  const values = new ValueTable(['skill_id'], () => rowsOf(family.listed, ({ contract }) => [[contract.id]]))
  return [
    {
      listed: {
        uriTemplate: 'resource://catalog/skills/{skill_id}',
        name: 'skill_record',
        description: 'What is known of a skill, by its id',
        mimeType: 'application/json',
      },
      values,
    },
    {
      listed: {
        uriTemplate: 'resource://skills/{skill_id}/document',
        name: 'skill_document',
        description: 'The SKILL.md of a skill, by its id',
        mimeType: 'text/markdown',
      },
      values,
    },
  ]
}

function ofReferences({ listed }: ContractFamily): ContractTemplate {
  return {
    listed: {
      uriTemplate: 'resource://skills/{skill_id}/references/{ref_id}',
      name: 'skill_reference',
      description: 'A document that a skill refers to, by the ids of both',
    },
    values: new ValueTable(['skill_id', 'ref_id'], () =>
      rowsOf(listed, ({ contract }) => contract.references.map(({ id }) => [contract.id, id])),
    ),
  }
}

/** A client that expands `{path*}` encodes the slashes (RFC 6570, section 3.2.2), and its URI leads nowhere. */
function ofDocs({ resources }: ContractFamily): ContractTemplate {
  return {
    listed: {
      uriTemplate: `${DOCS}{+path}`,
      name: 'docs',
      description: 'A document below docs/, by its path',
      mimeType: 'text/markdown',
    },
    values: new ValueTable(['path'], () =>
      rowsOf(resources.values(), (resource) => (isListedDoc(resource) ? [[resource.uri.slice(DOCS.length)]] : [])),
    ),
  }
}

const DOCS = 'resource://docs/'

function isListedDoc(resource: ContractResource): boolean {
  return resource.kind === 'doc' && resource.isListed
}

function* rowsOf<Item>(items: Iterable<Item>, rowsIn: (item: Item) => readonly ValueRow[]): Steps<readonly ValueRow[]> {
  const rows: ValueRow[] = []
  for (const item of items) {
    rows.push(...rowsIn(item))
    yield
  }
  return rows
}
