import type { CatalogFile } from '../../sync/model/catalog-entry.ts'
import type { Catalog } from '../../sync/model/catalog.ts'
import { filesOf } from '../../sync/model/skill-files.ts'
import type { ContractResource } from './contract.ts'
import { listedOfContract } from './contract-list.ts'
import type { Forms } from './forms.ts'
import { INDEX_URI, syntheticsOf } from './synthetic.ts'
import type { Synthetic } from './synthetic.ts'

/** One resource of `resources/list`. */
export type Listed = OfSkills | ContractResource

/** Those at `skill://`. */
type OfSkills = CatalogFile | Synthetic

/** Everything that `resources/list` holds, each once. */
export function listedResources(catalog: Catalog, forms: Forms): Listed[] {
  return [...listedOfSkills(catalog, forms), ...listedOfContract(catalog, forms)]
}

/** Of the listed skills the documents or all files, and what is made by us. */
export function listedOfSkills(catalog: Catalog, { resources, ...forms }: Forms): OfSkills[] {
  const files = resources.list === 'skills' ? documentsOf(catalog) : filesIn(catalog)
  if (resources.synthetic === 'hide') return files
  const index: Synthetic[] = forms.index === undefined ? [] : [{ kind: 'index', uri: INDEX_URI }]
  return [...files, ...index, ...catalog.listed.flatMap((skill) => syntheticsOf(catalog, forms, skill))]
}

/** Whether two lists say the same of the same resources. Of what is made by us they say nothing that can change. */
export function saySame(before: readonly OfSkills[], after: readonly OfSkills[]): boolean {
  if (before.length !== after.length) return false
  return before.every((resource, index) => {
    const other = after[index]
    return other !== undefined && saidOf(resource) === saidOf(other)
  })
}

function saidOf(resource: OfSkills): string {
  if ('kind' in resource) return resource.uri
  const { uri, file, documents } = resource
  return JSON.stringify([uri, file.size, documents?.name, documents?.description])
}

function documentsOf({ listed, files }: Catalog): CatalogFile[] {
  return listed.flatMap(({ uri }) => files.get(uri) ?? [])
}

/** The files of a skill inside of a skill are files of both. */
function filesIn({ listed, files }: Catalog): CatalogFile[] {
  return [...new Set(listed.flatMap((skill) => filesOf(skill).flatMap((file) => files.at(file) ?? [])))]
}
