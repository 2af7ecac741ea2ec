import type { Catalog, CatalogFile } from '../../sync/model/catalog.ts'
import type { Reference } from '../../sync/model/contract.ts'
import { contractSkills } from '../../sync/model/contract-skills.ts'
import type { ContractSkill, ContractSkills } from '../../sync/model/contract-skills.ts'
import { contractUri, isContractUri, readContractUri } from '../../sync/model/contract-uri.ts'
import type { Docs } from '../../sync/model/docs.ts'
import type { SkillFile } from '../../sync/model/skill.ts'

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
  | { readonly kind: 'doc'; readonly uri: string; readonly docs: Docs; readonly file: SkillFile }

/** The family as it is made of one catalog. */
export interface ContractFamily {
  /** Whatever can be read, by its URI: the index, what belongs to each skill in the order of the ids, the docs. */
  readonly resources: ReadonlyMap<string, ContractResource>
  readonly skills: ContractSkills
  /** The skills of the index, in the order of their ids. */
  readonly listed: readonly ContractSkill[]
}

const KNOWN = new WeakMap<Catalog, ContractFamily>()

/** Made once for each catalog. Empty where no skill keeps the contract and no source has docs. */
export function contractFamily(catalog: Catalog): ContractFamily {
  const known = KNOWN.get(catalog)
  if (known !== undefined) return known
  const skills = contractSkills(catalog)
  const listed = [...skills.byId.values()].filter(({ skill }) => skill.skill.standing === 'served')
  const resources = new Map([...ofSkills(skills), ...docsOf(catalog)].map((resource) => [resource.uri, resource]))
  const family = { resources, skills, listed }
  KNOWN.set(catalog, family)
  return family
}

/** What a URI stands for that a client wrote. `refused`: it asks in a wrong way, or for what two skills claim to be. */
export type FoundOfContract =
  | { readonly kind: 'contract'; readonly uri: string; readonly resource: ContractResource }
  | { readonly kind: 'refused'; readonly why: string; readonly candidates?: readonly string[] }
  | { readonly kind: 'nothing'; readonly why: string }

/** Undefined where the URI is none of the family, or nothing of the family is served: then there are no rules for it either. */
export function contractAt(catalog: Catalog, raw: string): FoundOfContract | undefined {
  if (!isContractUri(raw)) return undefined
  const { resources, skills } = contractFamily(catalog)
  if (resources.size === 0) return undefined
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

/** Of what is stored. What is made by us has none that is known before. */
export function sizeOfContract(resource: ContractResource): number {
  if (resource.kind === 'doc') return resource.file.size
  return 'file' in resource ? resource.file.file.size : 0
}

function ofSkills({ byId, clashes }: ContractSkills): ContractResource[] {
  if (byId.size + clashes.size === 0) return []
  return [{ kind: 'contract-index', uri: contractUri({ kind: 'index' }) }, ...[...byId.values()].flatMap(ofSkill)]
}

function ofSkill(of: ContractSkill): ContractResource[] {
  const { id: skillId, references } = of.contract
  const files = new Map(of.skill.files.map((file) => [file.file.path, file]))
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

/** Only what a URI leads to: a name that none may hold is in no list either. One source has docs. */
function docsOf({ snapshots }: Catalog): ContractResource[] {
  const docs = snapshots.find((snapshot) => snapshot.docs !== undefined)?.docs
  if (docs === undefined) return []
  return docs.files.flatMap((file) => {
    const uri = contractUri({ kind: 'doc', path: file.path })
    return readContractUri(uri).ok ? [{ kind: 'doc', uri, docs, file } as const] : []
  })
}
