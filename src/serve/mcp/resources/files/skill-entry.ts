import type { JsonObject } from '../../../../base/json-value.ts'
import type { CatalogSkill } from '../../../../sync/catalog/catalog-file.ts'
import { filesOf } from '../../../../sync/catalog/skill-files.ts'
import type { Signers } from '../../../../sync/model/signers.ts'
import { EXECUTABLES } from '../../../../sync/model/skill.ts'
import { lifecycleOf } from '../../../../sync/skill/lifecycle.ts'
import type { Lifecycle } from '../../../../sync/skill/lifecycle.ts'

/** SEP-2640: the entry of a skill in `skills/list` and `skills/get`. */
export interface SkillEntry {
  readonly uri: string
  readonly frontmatter: JsonObject
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[]
  readonly _meta?: EntryMeta
}

/** Data in addition to SEP-2640, if there is any. */
interface EntryMeta {
  /** The signers of the commit and the tag of a skill: scheme, principal and fingerprint of each. */
  readonly [SIGNERS]?: Signers
  /** The paths of files that are executable in the repository: the content digest covers that. */
  readonly [EXECUTABLES]?: readonly string[]
  /** The valid lifecycle fields of `metadata` in the frontmatter, and those of the operator. */
  readonly [LIFECYCLE]?: Lifecycle
}

const SIGNERS = 'dev.skillsyncd/signers'
const LIFECYCLE = 'dev.skillsyncd/lifecycle'

/** Returns the entry of a skill; its resources are in catalog order. */
export function skillEntryOf(skill: CatalogSkill): SkillEntry {
  const resources = filesOf(skill).map(({ uri, file }) => ({ uri, digest: `sha256:${file.sha256}`, size: file.size }))
  const { uri, frontmatter } = skill
  const meta = metaOf(skill)
  return { uri, frontmatter, resources, ...(Object.keys(meta).length > 0 && { _meta: meta }) }
}

function metaOf({ signers, skill }: CatalogSkill): EntryMeta {
  const { files, upstream } = skill
  const lifecycle = lifecycleOf(skill)
  const executables = upstream?.executables ?? files.flatMap(({ path, executable }) => (executable ? [path] : []))
  return {
    ...(signers !== undefined && { [SIGNERS]: signers }),
    ...(executables.length > 0 && { [EXECUTABLES]: executables }),
    ...(Object.keys(lifecycle).length > 0 && { [LIFECYCLE]: lifecycle }),
  }
}

/**
 * Estimates the size of an entry. It is exact enough for a page limit without serializing every entry twice:
 * frontmatter is small, resources are alike.
 */
export function sizeOfEntry(skill: CatalogSkill): number {
  const resources = filesOf(skill).reduce((sum, file) => sum + file.uri.length + RESOURCE_BYTES, 0)
  return resources + JSON.stringify([skill.uri, skill.frontmatter, metaOf(skill)]).length
}

/** Bytes of a resource in JSON in addition to its URI: the keys, a digest of 71 characters and the size. */
const RESOURCE_BYTES = 120
