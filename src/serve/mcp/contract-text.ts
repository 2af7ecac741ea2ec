import type { Catalog } from '../../sync/model/catalog.ts'
import type { ContractSkill } from '../../sync/model/contract-skills.ts'
import { contractUri } from '../../sync/model/contract-uri.ts'
import { contentIn } from '../content.ts'
import type { Content, ReadFile } from '../content.ts'
import { contractFamily } from './contract.ts'
import type { ContractResource } from './contract.ts'

/** What a read of it gives. Undefined where the stored bytes are not those that are listed: they never leave. */
export async function contentOfContract(
  resource: ContractResource,
  catalog: Catalog,
  read: ReadFile,
): Promise<Content | undefined> {
  switch (resource.kind) {
    case 'contract-index':
      return { text: indexText(catalog) }
    case 'contract-record':
      return { text: recordText(resource.of, catalog) }
    case 'contract-document':
    case 'contract-reference':
      return contentIn(resource.file.skill, resource.file.file, read)
    case 'doc':
      return contentIn(resource.docs, resource.file, read)
    default:
      return resource satisfies never
  }
}

/** Equal for equal bytes, and for those only. */
export function versionOfContract(resource: ContractResource, catalog: Catalog): string {
  switch (resource.kind) {
    case 'contract-index':
      return indexText(catalog)
    case 'contract-record':
      return recordText(resource.of, catalog)
    case 'contract-document':
    case 'contract-reference':
      return `${resource.file.file.sha256} ${resource.file.file.size}`
    case 'doc':
      return `${resource.file.sha256} ${resource.file.size}`
    default:
      return resource satisfies never
  }
}

/** `resource://catalog/skills_index`: what a client chooses a skill by. */
function indexText(catalog: Catalog): string {
  return JSON.stringify(contractFamily(catalog).listed.map((of) => Object.assign(summaryOf(of), placesOf(of))))
}

/** `resource://catalog/skills/{skill_id}`. Ids in it lead somewhere, but for those that it says are missing. */
function recordText(of: ContractSkill, catalog: Catalog): string {
  const { skill, contract } = of
  const { skills, resources } = contractFamily(catalog)
  const missing = contract.dependsOn.filter((id) => !skills.byId.has(id))
  const references = contract.references.map(({ id, path, mimeType, title }) => {
    const uri = contractUri({ kind: 'reference', skillId: contract.id, refId: id })
    return { id, ...(title !== undefined && { title }), uri, mime_type: mimeType, path }
  })
  return JSON.stringify({
    ...summaryOf(of),
    depends_on: contract.dependsOn,
    ...(missing.length > 0 && { missing }),
    ...placesOf(of),
    references: references.filter(({ uri }) => resources.has(uri)),
    source: skill.source,
    skill_uri: skill.uri,
  })
}

function summaryOf({ skill, contract }: ContractSkill): object {
  const { id, version, tags, capabilities } = contract
  return { id, name: skill.name, description: skill.description, version, tags, capabilities }
}

function placesOf({ contract }: ContractSkill): object {
  return { document_uri: contractUri({ kind: 'document', skillId: contract.id }) }
}
