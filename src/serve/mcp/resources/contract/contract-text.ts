import { Memo } from '../../../../base/memo.ts'
import type { ContractSkill } from '../../../../sync/catalog/contract-skills.ts'
import { contractUri } from '../../../../sync/model/uris/contract-uri.ts'
import { withoutHidden } from '../../../../sync/skill/hidden-unicode.ts'
import { contentIn } from '../../../content.ts'
import type { ResourceContent, ReadContent, UnreadContent } from '../../../content.ts'
import { sizeOfContract } from './contract-form.ts'
import type { ContractFamily, ContractResource } from './contract-form.ts'

/**
 * Returns the content of a resource. `undefined` if the stored bytes differ from the listed ones; such bytes are never
 * sent.
 */
export async function contentOfContract(
  resource: ContractResource,
  family: ContractFamily,
  read: ReadContent,
): Promise<ResourceContent | UnreadContent> {
  switch (resource.kind) {
    case 'contract-index':
      return { text: indexText(family) }
    case 'contract-record':
      return { text: recordText(resource.of, family) }
    case 'contract-document':
    case 'contract-reference':
      return contentIn(resource.file.skill, resource.file.file, read)
    case 'doc':
      return contentIn(resource.docs, resource.file, read)
    default:
      return resource satisfies never
  }
}

/** Returns the size of that content in bytes. */
export function bytesOfContract(resource: ContractResource, family: ContractFamily): number {
  switch (resource.kind) {
    case 'contract-index':
      return Buffer.byteLength(indexText(family))
    case 'contract-record':
      return Buffer.byteLength(recordText(resource.of, family))
    case 'contract-document':
    case 'contract-reference':
    case 'doc':
      return sizeOfContract(resource)
    default:
      return resource satisfies never
  }
}

/** Returns `resource://catalog/skills_index`: the data by which a client selects a skill. */
export function indexText(family: ContractFamily): string {
  return INDEX_TEXTS.of(family, ({ listed }) =>
    JSON.stringify(listed.map((of) => Object.assign(summaryOf(of), placesOf(of)))),
  )
}

const INDEX_TEXTS = new Memo<ContractFamily, string>()

/** Returns `resource://catalog/skills/{skill_id}`: the data of a skill, and the URIs of its other resources. */
export function recordText(of: ContractSkill, family: ContractFamily): string {
  const { skill, contract } = of
  const missing = missingOf(of, family)
  const references = contract.references.map(({ id, path, mimeType, title }) => {
    const uri = contractUri({ kind: 'reference', skillId: contract.id, refId: id })
    return { id, ...(title !== undefined && { title }), uri, mime_type: mimeType, path }
  })
  return JSON.stringify({
    ...summaryOf(of),
    depends_on: contract.dependsOn,
    ...(missing.length > 0 && { missing }),
    ...placesOf(of),
    references,
    source: skill.source,
    skill_uri: skill.uri,
  })
}

/** Returns the ids of dependencies that are not served: no skill has the id, or more than one. */
export function missingOf({ contract }: ContractSkill, { skills }: ContractFamily): readonly string[] {
  return contract.dependsOn.filter((id) => !skills.byId.has(id))
}

function summaryOf({ skill, contract }: ContractSkill): object {
  const { id, version, tags, capabilities } = contract
  return {
    id,
    name: withoutHidden(skill.name),
    description: withoutHidden(skill.description),
    version,
    tags,
    capabilities,
  }
}

function placesOf({ contract }: ContractSkill): object {
  return { document_uri: contractUri({ kind: 'document', skillId: contract.id }) }
}
