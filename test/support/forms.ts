import { Archives } from '../../src/serve/mcp/archive.ts'
import type { ArchiveFormat } from '../../src/serve/mcp/archive.ts'
import type { Forms, ResourceListing } from '../../src/serve/mcp/forms.ts'
import { IndexDocument } from '../../src/serve/mcp/index-document.ts'
import { skillSpaceOf } from '../../src/serve/mcp/skill-space.ts'

interface Options {
  readonly index?: boolean
  /** Of every source that a test serves. */
  readonly archives?: Readonly<Record<string, readonly ArchiveFormat[]>>
  readonly spaces?: readonly string[]
  readonly resources?: Partial<ResourceListing>
  readonly contract?: boolean
}

/** The older forms as they are if nothing is configured, but for what a test says. */
export function formsOf(options: Options = {}): Forms {
  const { index = true, archives = {}, spaces = [], resources = {}, contract = true } = options
  const offered = new Archives(new Map(Object.entries(archives)))
  return {
    digest: JSON.stringify([index, archives, spaces, resources, contract]),
    index: index ? new IndexDocument(offered, []) : undefined,
    archives: offered,
    spaces: spaces.map(skillSpaceOf).filter((space) => 'segments' in space),
    contract,
    resources: { list: 'skills', synthetic: 'hide', ...resources },
  }
}
