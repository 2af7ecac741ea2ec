import type { Steps } from '../../../../base/async/cooperative.ts'
import { Memo } from '../../../../base/memo.ts'
import { baseName } from '../../../../base/paths.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import type { ContractSkill } from '../../../../sync/catalog/contract-skills.ts'
import { isContractUri } from '../../../../sync/model/uris/contract-uri.ts'
import type { Contract, Icon } from '../../../../sync/skill/contract/contract.ts'
import { withHiddenEscaped, withoutHidden } from '../../../../sync/skill/hidden-unicode.ts'
import { inTurn } from '../../../content.ts'
import type { ResourceContent, UnreadContent } from '../../../content.ts'
import type {
  CatalogStep,
  ContentReading,
  FamilyResource,
  FoundResource,
  Preparation,
  ResourceFamily,
  ResourceTemplate,
  SkillPart,
} from '../resource-family.ts'
import { anyOfContract, contractAt, mimeTypeOfContract, partOfContract, sizeOfContract } from './contract-form.ts'
import type { ContractFamily, ContractForm, ContractResource } from './contract-form.ts'
import { contractTemplates } from './contract-templates.ts'
import { bytesOfContract, contentOfContract, indexText, missingOf, recordText } from './contract-text.ts'

/** The configuration of the `resource://` family. */
export interface ContractOptions extends ContractListing {
  /** `undefined` if the family is disabled, or no source uses it. */
  readonly contract: ContractForm | undefined
}

const OTHER_SCHEME: FoundResource = {
  kind: 'nothing',
  why: 'its scheme is neither "skill" nor "resource", in lower case',
}

/** The `resource://` family, for callers with the scope `contract`. */
export class ContractResources implements ResourceFamily {
  readonly scope = 'contract'
  readonly #form: ContractForm | undefined
  readonly #listing: ContractListing

  constructor({ contract, ...listing }: ContractOptions) {
    this.#form = contract
    this.#listing = listing
  }

  get closed(): ContractResources {
    return this.#form === undefined ? this : new ContractResources({ ...this.#listing, contract: undefined })
  }

  find(catalog: Catalog, asked: string): FoundResource | undefined {
    if (asked.startsWith('skill://')) return undefined
    const family = this.#form?.of(catalog)
    const isEmpty = family === undefined || family.resources.size + family.skills.clashes.size === 0
    if (!isContractUri(asked)) return isEmpty ? undefined : OTHER_SCHEME
    if (isEmpty) return { kind: 'nothing', why: NO_CONTRACT }
    const found = contractAt(family, asked)
    if (found.kind !== 'contract') return found
    return { kind: 'resource', uri: found.uri, resource: new ContractEntry(found.resource, family) }
  }

  preparationFor(uri: string): Preparation | undefined {
    return uri.startsWith('skill://') ? undefined : this.#form
  }

  largeText(): undefined {}

  *list(catalog: Catalog): Steps<readonly FamilyResource[]> {
    if (this.#form === undefined) return []
    const family = yield* this.#form.steps(catalog)
    return listedOfContract(family, this.#listing).map((resource) => new ContractEntry(resource, family))
  }

  templates(catalog: Catalog): readonly ResourceTemplate[] {
    return this.#form === undefined ? [] : contractTemplates(this.#form.of(catalog))
  }

  *changes({ before, after }: CatalogStep): Steps<readonly string[]> {
    if (this.#form === undefined) return []
    return yield* changingContract(yield* this.#form.steps(before), yield* this.#form.steps(after))
  }

  *isListChanged({ before, after }: CatalogStep): Steps<boolean> {
    if (this.#form === undefined) return false
    const [was, is] = [yield* this.#form.steps(before), yield* this.#form.steps(after)]
    return isContractListChanged(was, is, this.#listing)
  }

  configurableUris(catalogs: readonly Catalog[]): readonly string[] {
    return anyOfContract(...catalogs)
  }
}

const NO_CONTRACT =
  'nothing of resource:// is served to this client: that takes a skill with a valid x-personal-mcp block, in a source without contract: false, or docs on a source'

class ContractEntry implements FamilyResource {
  readonly #resource: ContractResource
  readonly #family: ContractFamily

  constructor(resource: ContractResource, family: ContractFamily) {
    this.#resource = resource
    this.#family = family
  }

  get uri(): string {
    return this.#resource.uri
  }

  get mimeType(): string {
    return mimeTypeOfContract(this.#resource)
  }

  get part(): SkillPart | undefined {
    return partOfContract(this.#resource)
  }

  describe(): object {
    return describeContract(this.#resource)
  }

  entryBytes(): number {
    return Buffer.byteLength(JSON.stringify(this.describe()))
  }

  contentBytes(): number {
    return bytesOfContract(this.#resource, this.#family)
  }

  async content({ read, turn }: ContentReading): Promise<ResourceContent | UnreadContent> {
    return contentOfContract(this.#resource, this.#family, inTurn(read, turn))
  }
}

/**
 * Returns the URIs of the contract family that were added, removed or changed. A URI that two skills claim is missing
 * until one of them gives it up.
 */
function* changingContract(was: ContractFamily, is: ContractFamily): Steps<readonly string[]> {
  const changed: string[] = []
  for (const uri of new Set([...was.resources.keys(), ...is.resources.keys()])) {
    if (!readsAlike(uri, was, is)) changed.push(uri)
    yield
  }
  return changed
}

/** True if the lists of resources and of templates differ in the contract family. */
function isContractListChanged(before: ContractFamily, after: ContractFamily, listing: ContractListing): boolean {
  const [was, is] = [listedOfContract(before, listing), listedOfContract(after, listing)]
  if (was.length !== is.length || was.some((resource, index) => !saysAlike(resource, is[index]))) return true
  return templatesOf(before) !== templatesOf(after)
}

function readsAlike(uri: string, before: ContractFamily, after: ContractFamily): boolean {
  const [was, is] = [before.resources.get(uri), after.resources.get(uri)]
  if (was === undefined || is === undefined) return false
  if ('file' in was && 'file' in is) return digestOf(was) === digestOf(is)
  if (was.kind === 'contract-record' && is.kind === 'contract-record') {
    const isMissingAlike = missingOf(was.of, before).join() === missingOf(is.of, after).join()
    return (isSame(was.of, is.of) && isMissingAlike) || recordText(was.of, before) === recordText(is.of, after)
  }
  return hasSameListed(before, after) || indexText(before) === indexText(after)
}

function hasSameListed({ listed: was }: ContractFamily, { listed: is }: ContractFamily): boolean {
  return was.length === is.length && was.every((of, index) => isSame(of, is[index]))
}

function digestOf(resource: Extract<ContractResource, { readonly file: object }>): string {
  return resource.kind === 'doc' ? resource.file.sha256 : resource.file.file.sha256
}

function saysAlike(was: ContractResource, is: ContractResource | undefined): boolean {
  if (is === undefined || was.uri !== is.uri) return false
  if (sizeOfContract(was) !== sizeOfContract(is)) return false
  if ('of' in was && 'of' in is && isSame(was.of, is.of)) return true
  return JSON.stringify(describeContract(was)) === JSON.stringify(describeContract(is))
}

/**
 * True if both have equal entries. It serializes contracts only if they are different objects, because a catalog may
 * have thousands of skills and one change.
 */
function isSame({ contract, skill }: ContractSkill, other: ContractSkill | undefined): boolean {
  if (other === undefined || skill.uri !== other.skill.uri || skill.description !== other.skill.description)
    return false
  return contract === other.contract || textOf(contract) === textOf(other.contract)
}

/** Each contract is compared with the previous one, and later with the next one. */
const TEXTS = new Memo<Contract, string>()

function textOf(contract: Contract): string {
  return TEXTS.of(contract, (from) => JSON.stringify(from))
}

function templatesOf(family: ContractFamily): string {
  return contractTemplates(family)
    .map(({ listed }) => listed.uriTemplate)
    .join('\n')
}

/** The choice of what is listed. */
interface ContractListing {
  readonly list: 'skills' | 'files'
}

/**
 * Returns the family for `resources/list`: everything of the skills in the index, but docs only if every file is
 * listed.
 */
function listedOfContract({ resources }: ContractFamily, { list }: ContractListing): ContractResource[] {
  return [...resources.values()].filter((resource) => {
    if (resource.kind === 'contract-index') return true
    if (resource.kind === 'doc') return list === 'files' && resource.isListed
    return resource.of.skill.skill.standing === 'served'
  })
}

/**
 * Returns the list entry of a resource: the contract block of the frontmatter in MCP fields, and the rest in `_meta`.
 */
function describeContract(resource: ContractResource): object {
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
