import type { Principal } from '../../principal.ts'
import type { Archives } from './archive.ts'
import type { ContractForm } from './contract.ts'
import type { IndexDocument } from './index-document.ts'
import type { SkillSpace } from './skill-template.ts'

/** In which forms skills are offered beside the newest, for clients of older revisions and of other servers. */
export interface Forms {
  /** Equal digests: of one catalog, the same is made in the same way, and lists hold the same. */
  readonly digest: string
  /** Undefined where it is turned off. */
  readonly index: IndexDocument | undefined
  readonly archives: Archives
  /** Templates of the operator, besides the one of each source. */
  readonly spaces: readonly SkillSpace[]
  /** The `resource://` family. Undefined where it is turned off, no source has to do with it, or it is not for the caller. */
  readonly contract: ContractForm | undefined
  /** What `resources/list` holds. */
  readonly resources: ResourceListing
  /** Whether the skills that people may start are prompts too, and prompts are for the caller. */
  readonly skillPrompts: boolean
}

/** The forms as one caller may have them. */
export function formsFor(principal: Principal | undefined, forms: Forms): Forms {
  const { contract, digest, skillPrompts } = forms
  const isLess = contract !== undefined && !opensContract(principal)
  if (!isLess && (!skillPrompts || opensPrompts(principal))) return forms
  return {
    ...forms,
    skillPrompts: skillPrompts && opensPrompts(principal),
    // A cursor must not lead from a list with the family into one without it.
    ...(isLess && { contract: undefined, digest: `${digest} without contract` }),
  }
}

/** Whether the `resource://` family is for this caller: for all others there is none. */
export function opensContract(principal: Principal | undefined): boolean {
  return principal === undefined || principal.scopes.has('contract')
}

/** The same of prompts. */
export function opensPrompts(principal: Principal | undefined): boolean {
  return principal === undefined || principal.scopes.has('prompts')
}

export interface ResourceListing {
  /** The SKILL.md of each skill, or every file. */
  readonly list: 'skills' | 'files'
  /** Whether it holds what is made by us: index, archives, manifests. */
  readonly synthetic: 'hide' | 'list'
}
