import type { Principal } from '../../principal.ts'
import type { ResourceFamily, ResourceScope } from './resource-family.ts'

/** The forms of skills in addition to the newest, for clients of older revisions and of other servers. */
export interface Forms {
  /** Equal digests mean equal generated resources and equal lists for one catalog. */
  readonly digest: string
  /** The families of resources, in the order of `resources/list`. */
  readonly families: readonly ResourceFamily[]
  /** True if user-invocable skills are prompts too, and the caller may use prompts. */
  readonly skillPrompts: boolean
}

/** Returns the forms that a caller may see. */
export function formsFor(principal: Principal | undefined, forms: Forms): Forms {
  const families = forms.families.map((family) => (opensScope(principal, family.scope) ? family : family.closed))
  const hidden = forms.families.filter((family, index) => family !== families[index])
  const skillPrompts = forms.skillPrompts && opensPrompts(principal)
  if (hidden.length === 0 && skillPrompts === forms.skillPrompts) return forms
  // A cursor of a list with a family must not be valid in a list without it.
  const digest = [forms.digest, ...hidden.map(({ scope }) => `without ${scope}`)].join(' ')
  return { digest, families, skillPrompts }
}

/** True if the caller may see the families of a scope. For any other caller, they do not exist. */
export function opensScope(principal: Principal | undefined, scope: ResourceScope): boolean {
  return scope === 'skills' || principal === undefined || principal.scopes.has(scope)
}

/** True if the caller may use prompts. */
export function opensPrompts(principal: Principal | undefined): boolean {
  return principal === undefined || principal.scopes.has('prompts')
}
