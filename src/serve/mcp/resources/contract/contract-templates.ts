import type { Steps } from '../../../../base/async/cooperative.ts'
import { Memo } from '../../../../base/memo.ts'
import { ValueTable } from '../../../../base/value-table.ts'
import type { ValueRow } from '../../../../base/value-table.ts'
import type { ListedTemplate, ResourceTemplate } from '../resource-family.ts'
import type { ContractFamily, ContractResource } from './contract-form.ts'

/** Returns the templates with at least one resource; built once for each family. */
export function contractTemplates(family: ContractFamily): readonly ResourceTemplate[] {
  return TEMPLATES.of(family, () => {
    const skills = family.listed.length === 0 ? [] : ofSkills(family)
    const hasReferences = family.listed.some(({ contract }) => contract.references.length > 0)
    const references = hasReferences ? [ofReferences(family)] : []
    const docs = [...family.resources.values()].some(isListedDoc) ? [ofDocs(family)] : []
    return [...skills, ...references, ...docs]
  })
}

const TEMPLATES = new Memo<ContractFamily, readonly ResourceTemplate[]>()

function ofSkills(family: ContractFamily): ResourceTemplate[] {
  const values = new ValueTable(['skill_id'], () => rowsOf(family.listed, ({ contract }) => [[contract.id]]))
  return [RECORDS, DOCUMENTS].map((listed) => templateOf(listed, values))
}

const RECORDS: ListedTemplate = {
  uriTemplate: 'resource://catalog/skills/{skill_id}',
  name: 'skill_record',
  description: 'What is known of a skill, by its id',
  mimeType: 'application/json',
}

const DOCUMENTS: ListedTemplate = {
  uriTemplate: 'resource://skills/{skill_id}/document',
  name: 'skill_document',
  description: 'The SKILL.md of a skill, by its id',
  mimeType: 'text/markdown',
}

function ofReferences({ listed }: ContractFamily): ResourceTemplate {
  const values = new ValueTable(['skill_id', 'ref_id'], () =>
    rowsOf(listed, ({ contract }) => contract.references.map(({ id }) => [contract.id, id])),
  )
  return templateOf(REFERENCES, values)
}

const REFERENCES: ListedTemplate = {
  uriTemplate: 'resource://skills/{skill_id}/references/{ref_id}',
  name: 'skill_reference',
  description: 'A document that a skill refers to, by the ids of both',
}

/** A client that expands `{path*}` encodes the slashes (RFC 6570, section 3.2.2), and its URI leads nowhere. */
function ofDocs({ resources }: ContractFamily): ResourceTemplate {
  const values = new ValueTable(['path'], () =>
    rowsOf(resources.values(), (resource) => (isListedDoc(resource) ? [[resource.uri.slice(DOCS.length)]] : [])),
  )
  return templateOf(DOCS_TEMPLATE, values)
}

function templateOf(listed: ListedTemplate, values: ValueTable): ResourceTemplate {
  return { listed, names: values.names, valuesOf: async (name, given) => [await values.of(name, given)] }
}

const DOCS = 'resource://docs/'

const DOCS_TEMPLATE: ListedTemplate = {
  uriTemplate: `${DOCS}{+path}`,
  name: 'docs',
  description: 'A document below docs/, by its path',
  mimeType: 'text/markdown',
}

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
