import { baseName } from '../../../../base/paths.ts'
import type { Contract, Icon } from '../../../../sync/skill/contract/contract.ts'
import { withHiddenEscaped, withoutHidden } from '../../../../sync/skill/hidden-unicode.ts'
import { mimeTypeOfContract } from './contract-form.ts'
import type { ContractFamily, ContractResource } from './contract-form.ts'

/** The choice of what is listed. */
export interface ContractListing {
  readonly list: 'skills' | 'files'
}

/**
 * Returns the family for `resources/list`: everything of the skills in the index, but docs only if every file is
 * listed.
 */
export function listedOfContract({ resources }: ContractFamily, { list }: ContractListing): ContractResource[] {
  return [...resources.values()].filter((resource) => {
    if (resource.kind === 'contract-index') return true
    if (resource.kind === 'doc') return list === 'files' && resource.isListed
    return resource.of.skill.skill.standing === 'served'
  })
}

/**
 * Returns the list entry of a resource: the contract block of the frontmatter in MCP fields, and the rest in `_meta`.
 */
export function describeContract(resource: ContractResource): object {
  return { uri: resource.uri, ...saidOf(resource), mimeType: mimeTypeOfContract(resource), annotations: READ_ONLY }
}

/** Entries of generated resources have no size: the list would change with each change of a skill. */
function saidOf(resource: ContractResource): object {
  switch (resource.kind) {
    case 'contract-index':
      return { name: 'skills_index', description: 'The skills that can be read by their ids, to choose one from' }
    case 'contract-record': {
      const { skill, contract } = resource.of
      return { name: contract.id, description: withoutHidden(skill.description), _meta: metaOf(contract) }
    }
    case 'contract-document': {
      const { skill, contract } = resource.of
      const icons = contract.icons.map(iconOf)
      const [name, description] = [withoutHidden(skill.name), withoutHidden(skill.description)]
      const said = { name, description, size: resource.file.file.size }
      return { ...said, ...(icons.length > 0 && { icons }), _meta: metaOf(contract) }
    }
    case 'contract-reference': {
      const { id, title, path } = resource.reference
      const meta = ours({ skill_id: resource.of.contract.id, ref_id: id, path })
      return {
        name: id,
        ...(title !== undefined && { title: withoutHidden(title) }),
        size: resource.file.file.size,
        _meta: meta,
      }
    }
    case 'doc': {
      const { path, size } = resource.file
      return { name: withHiddenEscaped(baseName(path)), size, _meta: ours({ path }) }
    }
    default:
      return resource satisfies never
  }
}

/** Fixes the order of the fields, independent of the stored order: lists are compared as text. */
function iconOf({ src, mimeType, sizes }: Icon): Icon {
  return { src, ...(mimeType !== undefined && { mimeType }), ...(sizes !== undefined && { sizes }) }
}

/**
 * Returns the `_meta` of an entry. Version and tags are repeated in the fields that FastMCP's clients and proxies read.
 */
function metaOf({ version, tags, capabilities, dependsOn }: Contract): object {
  return { ...ours({ version, tags, capabilities, depends_on: dependsOn }), fastmcp: { version, tags } }
}

function ours(said: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(said).map(([key, value]) => [`dev.skillsyncd/${key}`, value]))
}

/** Two hints that FastMCP's clients read, and the MCP audience: a model reads the resource. */
const READ_ONLY = { audience: ['assistant'], readOnlyHint: true, idempotentHint: true } as const
