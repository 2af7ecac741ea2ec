import { ContractResources } from './contract/contract-resources.ts'
import type { ContractOptions } from './contract/contract-resources.ts'
import { DerivedResources } from './derived/derived-resources.ts'
import type { DerivedOptions } from './derived/derived-resources.ts'
import { SkillFiles } from './files/skill-files.ts'
import type { SkillFileOptions } from './files/skill-files.ts'
import type { ResourceFamily } from './resource-family.ts'

/** The configuration of all families. */
export interface FamilyOptions extends SkillFileOptions, DerivedOptions, ContractOptions {}

/** Returns the families in the order of `resources/list`. A new family is a line here. */
export function familiesOf(options: FamilyOptions): readonly ResourceFamily[] {
  return [new SkillFiles(options), new DerivedResources(options), new ContractResources(options)]
}
