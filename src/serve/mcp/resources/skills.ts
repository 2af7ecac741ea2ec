import type { JsonObject } from '../../../base/json-value.ts'
import type { CatalogSkill } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import type { Signers } from '../../../sync/model/signers.ts'
import { EXECUTABLES } from '../../../sync/model/skill.ts'
import { OMITTED_LIST } from '../../../sync/skill-md/entry-faults.ts'
import { pageOf } from '../rpc/pagination.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import { requiredUri } from '../rpc/params.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'
import { lookup, lookupSkill } from './lookup.ts'
import { describeFile, describeFolder } from './resources.ts'

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
}

const SIGNERS = 'dev.skillsyncd/signers'

/** Returns the entry of a skill; its resources are in catalog order. */
export function skillEntryOf(skill: CatalogSkill): SkillEntry {
  const resources = filesOf(skill).map(({ uri, file }) => ({ uri, digest: `sha256:${file.sha256}`, size: file.size }))
  const { uri, frontmatter } = skill
  const meta = metaOf(skill)
  return { uri, frontmatter, resources, ...(Object.keys(meta).length > 0 && { _meta: meta }) }
}

function metaOf({ signers, skill: { files, upstream } }: CatalogSkill): EntryMeta {
  const executables = upstream?.executables ?? files.flatMap(({ path, executable }) => (executable ? [path] : []))
  return {
    ...(signers !== undefined && { [SIGNERS]: signers }),
    ...(executables.length > 0 && { [EXECUTABLES]: executables }),
  }
}

/** Serves `skills/list`: one page of the enumerated skills, all pages from one catalog. */
export function listSkills(catalog: Catalog, params: Params, limits: PageLimits): object {
  return pageOfSkills(catalog.enumerated, { catalog, of: 'skills/list' }, params, limits)
}

/** Serves `dev.skillsyncd/omitted/list`: one page of the skills that `skills/list` omits. */
export function listOmitted(catalog: Catalog, params: Params, limits: PageLimits): object {
  return pageOfSkills(catalog.omitted, { catalog, of: OMITTED_LIST }, params, limits)
}

function pageOfSkills(
  skills: readonly CatalogSkill[],
  listing: { readonly catalog: Catalog; readonly of: string },
  params: Params,
  limits: PageLimits,
): object {
  const { items, nextCursor } = pageOf(skills, listing, params['cursor'], limits, sizeOfEntry)
  return { skills: items.map(skillEntryOf), ...(nextCursor !== undefined && { nextCursor }) }
}

/** Serves `skills/get`: the entry of any available skill, listed or not. */
export function getSkill(catalog: Catalog, params: Params): object {
  const uri = requiredUri(params)
  const skill = lookupSkill(catalog, uri)
  if ('why' in skill) throw invalidParams(`No skill at ${JSON.stringify(uri)}: ${skill.why}`, { uri })
  return { skill: skillEntryOf(skill) }
}

/** Serves `resources/directory/read`: the direct children of a folder. Generated resources are not children. */
export function readDirectory(catalog: Catalog, params: Params, limits: PageLimits): object {
  const uri = requiredUri(params)
  const found = lookup(catalog, uri)
  if (found.kind !== 'folder') {
    const why = found.kind === 'file' ? 'it names a file' : found.why
    throw invalidParams(`No directory at ${JSON.stringify(uri)}: ${why}`, { uri })
  }
  const children = found.children.map((child) => ('kind' in child ? describeFolder(child) : describeFile(child)))
  const listing = { catalog, of: `resources/directory/read ${found.uri}` }
  const { items, nextCursor } = pageOf(
    children,
    listing,
    params['cursor'],
    limits,
    (item) => JSON.stringify(item).length,
  )
  return { resources: items, ...(nextCursor !== undefined && { nextCursor }) }
}

/**
 * Estimates the size of an entry. It is exact enough for a page limit without serializing every entry twice:
 * frontmatter is small, resources are alike.
 */
function sizeOfEntry(skill: CatalogSkill): number {
  const resources = filesOf(skill).reduce((sum, file) => sum + file.uri.length + RESOURCE_BYTES, 0)
  return resources + JSON.stringify([skill.uri, skill.frontmatter, metaOf(skill)]).length
}

/** Bytes of a resource in JSON in addition to its URI: the keys, a digest of 71 characters and the size. */
const RESOURCE_BYTES = 120
