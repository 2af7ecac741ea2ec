import type { Steps } from '../../../../base/async/cooperative.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { isContractUri } from '../../../../sync/catalog/contract-uri.ts'
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
import { changingContract, isContractListChanged } from './contract-changes.ts'
import { anyOfContract, contractAt, mimeTypeOfContract, partOfContract } from './contract-form.ts'
import type { ContractFamily, ContractForm, ContractResource } from './contract-form.ts'
import { describeContract, listedOfContract } from './contract-list.ts'
import type { ContractListing } from './contract-list.ts'
import { contractTemplates } from './contract-templates.ts'
import { bytesOfContract, contentOfContract } from './contract-text.ts'

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
