import type { DocsOwner } from '../../../src/serve/mcp/resources/contract/contract-docs.ts'
import { ContractForm } from '../../../src/serve/mcp/resources/contract/contract-form.ts'
import type { ContractAsked } from '../../../src/serve/mcp/resources/contract/contract-form.ts'
import { ArchiveCache } from '../../../src/serve/mcp/resources/derived/archive-cache.ts'
import type { ArchiveFormat } from '../../../src/serve/mcp/resources/derived/archive-cache.ts'
import { IndexDocument } from '../../../src/serve/mcp/resources/derived/index-document.ts'
import { familiesOf } from '../../../src/serve/mcp/resources/families.ts'
import type { FamilyOptions } from '../../../src/serve/mcp/resources/families.ts'
import { skillSpaceOf } from '../../../src/serve/mcp/resources/files/skill-template.ts'
import type { Forms } from '../../../src/serve/mcp/resources/forms.ts'
import { sourceId } from '../../sync/store/samples.ts'

/** No skill lies among them. */
export const DOCS_OF_TEAM: DocsOwner = { source: sourceId('team'), folder: 'docs', root: 'skills' }

interface Options {
  readonly index?: boolean
  readonly archives?: readonly ArchiveFormat[]
  readonly spaces?: readonly string[]
  readonly resources?: Partial<Pick<FamilyOptions, 'list' | 'synthetic'>>
  /** What is asked of the sources `team` and any other; false: it is turned off. */
  readonly contract?: Partial<ContractAsked> | false
  readonly skillPrompts?: boolean
}

/** The forms, and parts that their families are made of. */
export interface FormsInParts extends Forms, Pick<FamilyOptions, 'index' | 'archives' | 'spaces'> {}

/** The older forms as they are if nothing is configured, but for what a test says. */
export function formsOf(options: Options = {}): FormsInParts {
  const { index = true, archives = [], spaces = [], resources = {}, contract = {}, skillPrompts = false } = options
  const asked = contract === false ? undefined : { ofSkills: true, docs: DOCS_OF_TEAM, ...contract }
  const offered = new ArchiveCache(archives)
  const parts = {
    index: index ? new IndexDocument(offered, []) : undefined,
    archives: offered,
    spaces: spaces.map(skillSpaceOf).filter((space) => 'segments' in space),
  }
  return {
    ...parts,
    digest: JSON.stringify([index, archives, spaces, resources, asked, skillPrompts]),
    families: familiesOf({
      list: 'skills',
      synthetic: 'hide',
      ...resources,
      ...parts,
      contract: asked && new ContractForm(asked),
    }),
    skillPrompts,
  }
}
