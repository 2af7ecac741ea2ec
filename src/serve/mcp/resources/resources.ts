import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { isUnread, whyUnread } from '../../content.ts'
import type { ReadContent } from '../../content.ts'
import type { Caller } from '../rpc/caller.ts'
import { pageOf } from '../rpc/pagination.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import { INTERNAL_ERROR, RpcError, invalidParams, resourceNotFound } from '../rpc/rpc-error.ts'
import { findResource } from './find-resource.ts'
import type { Forms } from './forms.ts'
import type { FoundResource } from './port/resource-family.ts'
import { listedResources } from './resource-list.ts'
import { nearUris } from './similar-uris.ts'

/** Serves `resources/list`: the SKILL.md of every listed skill, and the additions of the operator's configuration. */
export async function listResources(
  catalog: Catalog,
  forms: Forms,
  cursor: unknown,
  limits: PageLimits,
): Promise<object> {
  const resources = await listedResources(catalog, forms)
  const listing = { catalog, of: `resources/list ${forms.digest}` }
  const { items, nextCursor } = pageOf(resources, listing, cursor, limits, (resource) => resource.entryBytes())
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
  const found = served(catalog, findResource(catalog, forms, uri), uri, caller)
  if (found.kind === 'folder')
    throw resourceNotFound(caller.era, uri, 'it names a folder; read it with resources/directory/read')
  const { mimeType } = found.resource
  const content = await found.resource.content({ read, turn: caller.turn })
  if (isUnread(content)) throw new RpcError(INTERNAL_ERROR, whyUnread(content), { uri })
  return { contents: [{ uri, mimeType, ...content }] }
}

/** Returns the found resource if it is served; otherwise throws with the reason. */
function served(catalog: Catalog, found: FoundResource, uri: string, { era }: Caller): Served {
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
  const found = served(catalog, findResource(catalog, forms, uri), uri, caller)
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
