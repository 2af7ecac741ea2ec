import type { Principal } from '../../principal.ts'
import type { ContractForm } from './contract/contract.ts'
import type { ArchiveCache } from './derived/archive.ts'
import type { IndexDocument } from './derived/index-document.ts'
import type { OfferedTemplate } from './files/skill-template.ts'

/** The forms of skills in addition to the newest, for clients of older revisions and of other servers. */
export interface Forms {
  /** Equal digests mean equal generated resources and equal lists for one catalog. */
  readonly digest: string
  /** `undefined` if it is disabled. */
  readonly index: IndexDocument | undefined
  readonly archives: ArchiveCache
  /** Templates of the operator, in addition to the template of each source. */
  readonly spaces: readonly OfferedTemplate[]
  /** The `resource://` family. `undefined` if it is disabled, no source uses it, or the caller has no access. */
  readonly contract: ContractForm | undefined
  /** The content of `resources/list`. */
  readonly resources: ResourceListing
  /** True if user-invocable skills are prompts too, and the caller may use prompts. */
  readonly skillPrompts: boolean
}

/** Returns the forms that a caller may see. */
export function formsFor(principal: Principal | undefined, forms: Forms): Forms {
  const { contract, digest, skillPrompts } = forms
  const isLess = contract !== undefined && !opensContract(principal)
  if (!isLess && (!skillPrompts || opensPrompts(principal))) return forms
  return {
    ...forms,
    skillPrompts: skillPrompts && opensPrompts(principal),
    // A cursor of a list with the family must not be valid in a list without it.
    ...(isLess && { contract: undefined, digest: `${digest} without contract` }),
  }
}

/** True if the caller may see the `resource://` family. For any other caller, it does not exist. */
export function opensContract(principal: Principal | undefined): boolean {
  return principal === undefined || principal.scopes.has('contract')
}

/** True if the caller may use prompts. */
export function opensPrompts(principal: Principal | undefined): boolean {
  return principal === undefined || principal.scopes.has('prompts')
}

export interface ResourceListing {
  /** The SKILL.md of each skill, or every file. */
  readonly list: 'skills' | 'files'
  /** Lists or hides the generated resources: index, archives, manifests. */
  readonly synthetic: 'hide' | 'list'
}
