import { runInSlices } from '../../../base/async/cooperative.ts'
import type { Steps } from '../../../base/async/cooperative.ts'
import { Memo } from '../../../base/memo.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { readSkillUri, uriOf } from '../../../sync/model/uris/skill-uri.ts'
import { isUnread, unreadReason } from '../../content.ts'
import type { ReadContent } from '../../content.ts'
import type { Caller } from '../rpc/caller.ts'
import { pageOf } from '../rpc/pagination.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import { INTERNAL_ERROR, RpcError, invalidParams, resourceNotFound } from '../rpc/rpc-error.ts'
import { findResource } from './find-resource.ts'
import type { Forms } from './forms.ts'
import type { FamilyResource, FoundResource } from './resource-family.ts'

/** Serves `resources/list`: the SKILL.md of every listed skill, and the additions of the operator's configuration. */
export async function listResources(
  catalog: Catalog,
  forms: Forms,
  cursor: unknown,
  limits: PageLimits,
): Promise<object> {
  const resources = await listedResources(catalog, forms)
  const listing = { catalog, of: `resources/list ${forms.digest}` }
  const { items, nextCursor } = pageOf(resources, listing, {
    cursor,
    limits,
    sizeOf: (resource) => resource.entryBytes(),
  })
  return {
    resources: items.map((resource) => resource.describe()),
    ...(nextCursor !== undefined && { nextCursor }),
  }
}

/** Serves `resources/templates/list`: the templates of every family. */
export function listTemplates(catalog: Catalog, { families }: Forms, cursor: unknown): object {
  if (cursor !== undefined) throw invalidParams('The cursor is not one of this listing')
  const templates = families.flatMap((family) => family.templates(catalog))
  return { resourceTemplates: templates.map(({ listed }) => listed) }
}

/** Serves `resources/read`: the exact bytes of one file. A read never activates a skill. */
export async function readResource(
  catalog: Catalog,
  uri: string,
  caller: Caller,
  { forms, read }: { readonly forms: Forms; readonly read: ReadContent },
): Promise<object> {
  const found = servedResource(catalog, findResource(catalog, forms, uri), uri, caller)
  if (found.kind === 'folder')
    throw resourceNotFound(caller.era, uri, 'it names a folder; read it with resources/directory/read')
  const { mimeType } = found.resource
  const content = await found.resource.content({ read, turn: caller.turn })
  if (isUnread(content)) throw new RpcError(INTERNAL_ERROR, unreadReason(content), { uri })
  return { contents: [{ uri, mimeType, ...content }] }
}

/** Returns the found resource if it is served; otherwise throws with the reason. */
function servedResource(catalog: Catalog, found: FoundResource, uri: string, { era }: Caller): Served {
  if (found.kind === 'nothing') throw resourceNotFound(era, uri, found.why, nearUris(catalog, uri))
  // The data must not contain the URI: with it, the error would become an unknown resource in the 2025 era.
  if (found.kind === 'refused') throw invalidParams(`Cannot read it: ${found.why}`, candidatesOf(found))
  return found
}

type Served = Exclude<FoundResource, { readonly kind: 'nothing' | 'refused' }>

function candidatesOf({ candidates }: { readonly candidates?: readonly string[] }): object | undefined {
  return candidates && { candidates }
}

/** Serves `resources/subscribe` of the 2025 era. A subscription to a folder covers everything below it. */
export function subscribeResource(catalog: Catalog, forms: Forms, uri: string, caller: Caller): object {
  const found = servedResource(catalog, findResource(catalog, forms, uri), uri, caller)
  subscriptionsOf(caller).subscribe(uri, found.uri)
  return {}
}

/** Serves `resources/unsubscribe` of the 2025 era. An unknown subscription is not an error. */
export function unsubscribe(uri: string, caller: Caller): object {
  subscriptionsOf(caller).unsubscribe(uri)
  return {}
}

function subscriptionsOf(caller: Caller): NonNullable<Caller['subscriptions']> {
  if (caller.subscriptions === undefined) throw invalidParams('There is no session to subscribe for')
  return caller.subscriptions
}

/**
 * Returns everything in `resources/list`, without duplicates. It is built in slices for the first request, and once for
 * each catalog.
 */
export async function listedResources(catalog: Catalog, forms: Forms): Promise<readonly FamilyResource[]> {
  const ofCatalog = LISTED.of(catalog, () => new Map())
  const known = ofCatalog.get(forms.digest)
  if (known !== undefined) return known
  const listed = runInSlices(listing(catalog, forms))
  ofCatalog.set(forms.digest, listed)
  try {
    return await listed
  } catch (error) {
    // Failures are not cached, because they may be temporary.
    ofCatalog.delete(forms.digest)
    throw error
  }
}

/** The lists by the digest of the forms, because the forms of a caller are created anew for it. */
const LISTED = new Memo<Catalog, Map<string, Promise<readonly FamilyResource[]>>>()

function* listing(catalog: Catalog, { families }: Forms): Steps<readonly FamilyResource[]> {
  const lists: (readonly FamilyResource[])[] = []
  for (const family of families) lists.push(yield* family.list(catalog))
  return lists.flat()
}

/**
 * Returns the listed URIs that a client may mean by a URI without the source or without folders above the skill.
 * Servers without sources have such URIs: `skill://pdf/SKILL.md`. The result is in catalog order; it is empty if the
 * URI is malformed. An archive of a skill stands for its SKILL.md.
 */
export function nearUris({ listed, files }: Catalog, raw: string): readonly string[] {
  const uri = readSkillUri(raw)
  if (!uri.ok || uri.trailingSlash) return []
  const ways = splitsOf(uri.canonical.slice('skill://'.length).replace(ARCHIVE, '/SKILL.md'))
  const near = new Set<string>()
  for (const { root, source, skill: of } of listed) {
    // Links of its author use the folder, which may have another name.
    const places = of.path === of.servedPath ? [root] : [root, uriOf(source, of.path)]
    for (const { skill, file } of ways) {
      const meant = `${root}/${file}`
      if (places.some((place) => place.endsWith(`/${skill}`)) && files.get(meant) !== undefined) near.add(meant)
    }
    if (near.size >= MOST_NEAR) break
  }
  return [...near].slice(0, MOST_NEAR)
}

const MOST_NEAR = 8

/** An archive of a skill in older forms; a name has no dot. */
const ARCHIVE = /\.(?:tar\.gz|tgz|zip)$/

/** Returns each way to split a path into the end of a skill's path and the path of a file in it. */
function splitsOf(path: string): readonly { readonly skill: string; readonly file: string }[] {
  const segments = path.split('/')
  return segments
    .slice(0, MOST_SEGMENTS)
    .slice(0, -1)
    .map((_, index) => ({ skill: segments.slice(0, index + 1).join('/'), file: segments.slice(index + 1).join('/') }))
}

/** Deeper than real skills: each way is compared with every listed skill. */
const MOST_SEGMENTS = 8
