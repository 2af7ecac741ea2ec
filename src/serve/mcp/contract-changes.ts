import type { Catalog } from '../../sync/model/catalog.ts'
import type { Contract } from '../../sync/model/contract.ts'
import type { ContractSkill } from '../../sync/model/contract-skills.ts'
import { contractFamily, sizeOfContract } from './contract.ts'
import type { ContractResource } from './contract.ts'
import { describeContract, listedOfContract } from './contract-list.ts'
import { contractTemplates } from './contract-templates.ts'
import { indexText, missingOf, recordText } from './contract-text.ts'
import type { Forms } from './forms.ts'

/** The URIs of the family that came, went or changed their bytes. One that two skills claim is gone until one of them leaves it. */
export function contractChanges(before: Catalog, after: Catalog, forms: Pick<Forms, 'contract'>): string[] {
  if (!forms.contract) return []
  const [was, is] = [contractFamily(before).resources, contractFamily(after).resources]
  return anyOfContract(before, after).filter((uri) => !readsAlike(was.get(uri), before, is.get(uri), after))
}

/** Whatever of the family can be read in either catalog. */
export function anyOfContract(...catalogs: readonly Catalog[]): string[] {
  const uris = new Set<string>()
  for (const catalog of catalogs) for (const uri of contractFamily(catalog).resources.keys()) uris.add(uri)
  return [...uris]
}

/** Whether the lists of resources and of templates say something else of the family. */
export function isContractListChanged(before: Catalog, after: Catalog, forms: Forms): boolean {
  if (!forms.contract) return false
  const [was, is] = [listedOfContract(before, forms), listedOfContract(after, forms)]
  if (was.length !== is.length || was.some((resource, index) => !saysAlike(resource, is[index]))) return true
  return templatesOf(before) !== templatesOf(after)
}

function readsAlike(
  was: ContractResource | undefined,
  before: Catalog,
  is: ContractResource | undefined,
  after: Catalog,
): boolean {
  if (was === undefined || is === undefined) return false
  if ('file' in was && 'file' in is) return digestOf(was) === digestOf(is)
  if (was.kind === 'contract-record' && is.kind === 'contract-record') {
    const isMissingAlike = missingOf(was.of, before).join() === missingOf(is.of, after).join()
    return (isSame(was.of, is.of) && isMissingAlike) || recordText(was.of, before) === recordText(is.of, after)
  }
  return hasSameListed(before, after) || indexText(before) === indexText(after)
}

function hasSameListed(before: Catalog, after: Catalog): boolean {
  const [was, is] = [contractFamily(before).listed, contractFamily(after).listed]
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
 * Whether the same is said of both; what is said is made into text for those only of which it is not. There may be thousands
 * of skills, and one that changed.
 */
function isSame({ contract, skill }: ContractSkill, other: ContractSkill | undefined): boolean {
  if (other === undefined || skill.uri !== other.skill.uri || skill.description !== other.skill.description)
    return false
  return contract === other.contract || textOf(contract) === textOf(other.contract)
}

/** Each is compared with the one before it, and then with the one after. */
const TEXTS = new WeakMap<Contract, string>()

function textOf(contract: Contract): string {
  const known = TEXTS.get(contract)
  if (known !== undefined) return known
  const text = JSON.stringify(contract)
  TEXTS.set(contract, text)
  return text
}

function templatesOf(catalog: Catalog): string {
  return contractTemplates(catalog)
    .map(({ listed }) => listed.uriTemplate)
    .join('\n')
}
