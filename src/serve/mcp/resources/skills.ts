import type { CatalogSkill } from '../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { OMITTED_LIST } from '../../../sync/skill/entry-faults.ts'
import { pageOf } from '../rpc/pagination.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import { requiredUri } from '../rpc/params.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'
import { describeFile, describeFolder } from './files/file-entry.ts'
import { lookup, lookupSkill } from './files/lookup.ts'
import { sizeOfEntry, skillEntryOf } from './files/skill-entry.ts'

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
  const { items, nextCursor } = pageOf(skills, listing, { cursor: params['cursor'], limits, sizeOf: sizeOfEntry })
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
  const { items, nextCursor } = pageOf(children, listing, {
    cursor: params['cursor'],
    limits,
    sizeOf: (item) => JSON.stringify(item).length,
  })
  return { resources: items, ...(nextCursor !== undefined && { nextCursor }) }
}
