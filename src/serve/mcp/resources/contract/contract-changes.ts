import type { Steps } from '../../../../base/async/cooperative.ts'
import { Memo } from '../../../../base/memo.ts'
import type { ContractSkill } from '../../../../sync/catalog/contract-skills.ts'
import type { Contract } from '../../../../sync/skill/contract/contract.ts'
import { sizeOfContract } from './contract-form.ts'
import type { ContractFamily, ContractResource } from './contract-form.ts'
import type { ContractListing } from './contract-list.ts'
import { describeContract, listedOfContract } from './contract-list.ts'
import { contractTemplates } from './contract-templates.ts'
import { indexText, missingOf, recordText } from './contract-text.ts'

/**
 * Returns the URIs of the contract family that were added, removed or changed. A URI that two skills claim is missing
 * until one of them gives it up.
 */
export function* changingContract(was: ContractFamily, is: ContractFamily): Steps<readonly string[]> {
  const changed: string[] = []
  for (const uri of new Set([...was.resources.keys(), ...is.resources.keys()])) {
    if (!readsAlike(uri, was, is)) changed.push(uri)
    yield
  }
  return changed
}

/** True if the lists of resources and of templates differ in the contract family. */
export function isContractListChanged(
  before: ContractFamily,
  after: ContractFamily,
  listing: ContractListing,
): boolean {
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
