import type { Steps } from '../../../../base/async/cooperative.ts'
import { IncrementalCache } from '../../../../base/async/incremental.ts'
import type { CatalogFile } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { contractSkills } from '../../../../sync/catalog/contract-skills.ts'
import type { ContractSkill, ContractSkills } from '../../../../sync/catalog/contract-skills.ts'
import { filesOf } from '../../../../sync/catalog/skill-files.ts'
import { contractUri, readContractUri } from '../../../../sync/model/uris/contract-uri.ts'
import type { Reference } from '../../../../sync/skill/contract/contract.ts'
import type { SkillPart } from '../resource-family.ts'
import { servedDocs } from './contract-docs.ts'
import type { DocsOwner, ServedDoc } from './contract-docs.ts'

/** One resource of the `resource://` family. `uri` is canonical. */
export type ContractResource =
  | { readonly kind: 'contract-index'; readonly uri: string }
  | { readonly kind: 'contract-record'; readonly uri: string; readonly of: ContractSkill }
  | { readonly kind: 'contract-document'; readonly uri: string; readonly of: ContractSkill; readonly file: CatalogFile }
  | {
      readonly kind: 'contract-reference'
      readonly uri: string
      readonly of: ContractSkill
      readonly reference: Reference
      readonly file: CatalogFile
    }
  | ({ readonly kind: 'doc'; readonly uri: string } & ServedDoc)

/** The parts of the family that the configuration enables. */
export interface ContractAsked {
  /** True if any source requires the contract: then the index exists, even without skills. */
  readonly ofSkills: boolean
  /** `undefined` if no source has docs. */
  readonly docs: DocsOwner | undefined
}

/** The family of one catalog. */
export interface ContractFamily {
  /** All readable resources by URI: the index, the resources of each skill in the order of ids, the docs. */
  readonly resources: ReadonlyMap<string, ContractResource>
  readonly skills: ContractSkills
  /** The skills of the index, sorted by id. */
  readonly listed: readonly ContractSkill[]
}

/** Builds the family, once for each catalog. */
export class ContractForm {
  readonly #families: IncrementalCache<Catalog, ContractFamily>

  constructor(asked: ContractAsked) {
    this.#families = new IncrementalCache((catalog: Catalog) => makingFamily(catalog, asked))
  }

  of(catalog: Catalog): ContractFamily {
    return this.#families.of(catalog)
  }

  /** Works like `of`, as a part of larger work. */
  steps(catalog: Catalog): Steps<ContractFamily> {
    return this.#families.steps(catalog)
  }

  /** Works like `of`, in slices. */
  async ready(catalog: Catalog): Promise<ContractFamily> {
    return this.#families.ready(catalog)
  }
}

function* makingFamily(catalog: Catalog, { ofSkills, docs }: ContractAsked): Steps<ContractFamily> {
  const skills = contractSkills(catalog)
  yield
  const listed = [...skills.byId.values()].filter(({ skill }) => skill.skill.standing === 'served')
  const index: ContractResource[] = ofSkills || listed.length > 0 ? [{ kind: 'contract-index', uri: INDEX_URI }] : []
  const resources = new Map(index.map((resource) => [resource.uri, resource]))
  for (const of of skills.byId.values()) {
    for (const resource of ofSkill(of)) resources.set(resource.uri, resource)
    yield
  }
  for (const resource of docs ? docsOf(catalog, docs) : []) resources.set(resource.uri, resource)
  return { resources, skills, listed }
}

const INDEX_URI = contractUri({ kind: 'index' })

/** Returns all URIs of the family that can be read in any of the catalogs, in any configuration. */
export function anyOfContract(...catalogs: readonly Catalog[]): string[] {
  const ofSkills = catalogs.flatMap((catalog) => [...contractSkills(catalog).byId.values()]).flatMap(ofSkill)
  const docs = catalogs.flatMap(({ snapshots }) => snapshots).flatMap((snapshot) => snapshot.docs?.files ?? [])
  const ofDocs = docs.map(({ path }) => contractUri({ kind: 'doc', path }))
  return [...new Set([INDEX_URI, ...ofSkills.map(({ uri }) => uri), ...ofDocs])]
}

/** Result of the lookup of a client's URI. `refused`: the URI is malformed, or two skills claim it. */
export type FoundOfContract =
  | {
      readonly kind: 'contract'
      readonly uri: string
      readonly resource: ContractResource
    }
  | { readonly kind: 'refused'; readonly why: string; readonly candidates?: readonly string[] }
  | { readonly kind: 'nothing'; readonly why: string }

/** Finds a resource of the family. */
export function contractAt(family: ContractFamily, raw: string): FoundOfContract {
  const { resources, skills } = family
  const uri = readContractUri(raw)
  if (!uri.ok) return { kind: uri.isMalformed ? 'refused' : 'nothing', why: uri.why }
  const resource = resources.get(uri.canonical)
  if (resource !== undefined) return { kind: 'contract', uri: uri.canonical, resource }
  const candidates = 'skillId' in uri.named ? skills.clashes.get(uri.named.skillId) : undefined
  if (candidates === undefined) return { kind: 'nothing', why: 'nothing of that URI is served' }
  return { kind: 'refused', why: `more than one skill has this id: ${candidates.join(', ')}`, candidates }
}

export function mimeTypeOfContract(resource: ContractResource): string {
  switch (resource.kind) {
    case 'contract-index':
    case 'contract-record':
      return 'application/json'
    case 'contract-document':
    case 'doc':
      return 'text/markdown'
    case 'contract-reference':
      return resource.reference.mimeType
    default:
      return resource satisfies never
  }
}

/** Returns the skill that a resource belongs to; `undefined` for the index and for documents that are no skill. */
export function partOfContract(resource: ContractResource): SkillPart | undefined {
  if (resource.kind === 'contract-index' || resource.kind === 'doc') return undefined
  const { source, skill } = resource.of.skill
  return { source, path: skill.path, digest: skill.digest, isDocument: resource.kind === 'contract-document' }
}

/** Returns the size of a stored resource. The size of a generated one is not known in advance. */
export function sizeOfContract(resource: ContractResource): number {
  if (resource.kind === 'doc') return resource.file.size
  return 'file' in resource ? resource.file.file.size : 0
}

function ofSkill(of: ContractSkill): ContractResource[] {
  const { id: skillId, references } = of.contract
  const files = new Map(filesOf(of.skill).map((file) => [file.file.path, file]))
  const document = files.get('SKILL.md')
  return [
    { kind: 'contract-record', uri: contractUri({ kind: 'record', skillId }), of },
    ...(document === undefined
      ? []
      : [{ kind: 'contract-document', uri: contractUri({ kind: 'document', skillId }), of, file: document } as const]),
    ...references.flatMap((reference) => {
      const file = files.get(reference.path)
      const uri = contractUri({ kind: 'reference', skillId, refId: reference.id })
      return file === undefined ? [] : [{ kind: 'contract-reference', uri, of, reference, file } as const]
    }),
  ]
}

/** Returns only documents with a valid URI: a name that no URI may contain is in no list either. */
function docsOf(catalog: Catalog, owner: DocsOwner): ContractResource[] {
  return servedDocs(catalog, owner).flatMap((doc) => {
    const uri = contractUri({ kind: 'doc', path: doc.file.path })
    return readContractUri(uri).ok ? [{ kind: 'doc', uri, ...doc } as const] : []
  })
}
