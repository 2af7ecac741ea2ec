import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Contract, Icon } from '../../../sync/skill-md/contract/contract.ts'
import { withHiddenEscaped, withoutHidden } from '../../../sync/skill-md/hidden-unicode.ts'
import { baseName } from '../../../base/paths.ts'
import { mimeTypeOfContract } from './contract.ts'
import type { ContractResource } from './contract.ts'
import type { Forms } from './compatibility.ts'

/** The family as `resources/list` has it: of the skills in the index all, of the docs nothing unless every file is wanted. */
export function listedOfContract(
  catalog: Catalog,
  { contract, resources }: Pick<Forms, 'contract' | 'resources'>,
): ContractResource[] {
  const all = contract?.of(catalog).resources.values() ?? []
  return [...all].filter((resource) => {
    if (resource.kind === 'contract-index') return true
    if (resource.kind === 'doc') return resources.list === 'files' && resource.isListed
    return resource.of.skill.skill.standing === 'served'
  })
}

/** What the list says of one: the block of the frontmatter, in the words of MCP, and what MCP has no word for in `_meta`. */
export function describeContract(resource: ContractResource): object {
  return { uri: resource.uri, ...saidOf(resource), mimeType: mimeTypeOfContract(resource), annotations: READ_ONLY }
}

/** Nothing is said of the size of what is made by us: the list would be another with each change of a skill. */
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

/** In one order of its fields, whichever it was stored with: lists are compared as text. */
function iconOf({ src, mimeType, sizes }: Icon): Icon {
  return { src, ...(mimeType !== undefined && { mimeType }), ...(sizes !== undefined && { sizes }) }
}

/** Version and tags also where FastMCP's clients and proxies look for them. */
function metaOf({ version, tags, capabilities, dependsOn }: Contract): object {
  return { ...ours({ version, tags, capabilities, depends_on: dependsOn }), fastmcp: { version, tags } }
}

function ours(said: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(said).map(([key, value]) => [`dev.skillsyncd/${key}`, value]))
}

/** Two hints that FastMCP's clients look for, and whom MCP says it is for: a model reads it. */
const READ_ONLY = { audience: ['assistant'], readOnlyHint: true, idempotentHint: true } as const
