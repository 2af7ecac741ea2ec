import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { uriOf } from '../../../sync/model/skill-uri.ts'
import { contentOf, inTurn, isUnread, whyUnread } from '../../content.ts'
import type { ResourceContent, ReadContent, UnreadContent } from '../../content.ts'
import type { Caller } from '../rpc/caller.ts'
import { pageOf } from '../rpc/pagination.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import { INTERNAL_ERROR, RpcError, invalidParams, resourceNotFound } from '../rpc/rpc-error.ts'
import { describeContract } from './contract/contract-list.ts'
import { contractTemplates } from './contract/contract-templates.ts'
import { contentOfContract } from './contract/contract-text.ts'
import { mimeTypeOfContract } from './contract/contract.ts'
import { contentOfSynthetic, describeSynthetic, mimeTypeOfSynthetic } from './derived/derived-resources.ts'
import { describeFile } from './files/file-entry.ts'
import { lookupResource } from './find-resource.ts'
import type { FoundResource } from './find-resource.ts'
import type { Forms } from './forms.ts'
import { listedResources } from './resource-list.ts'
import type { Listed } from './resource-list.ts'
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
  const { items, nextCursor } = pageOf(resources, listing, cursor, limits, sizeOfListed)
  return { resources: items.map(describe), ...(nextCursor !== undefined && { nextCursor }) }
}

function describe(resource: Listed): object {
  if (!('kind' in resource)) return describeFile(resource)
  switch (resource.kind) {
    case 'index':
    case 'manifest':
    case 'archive':
      return describeSynthetic(resource)
    case 'contract-index':
    case 'contract-record':
    case 'contract-document':
    case 'contract-reference':
    case 'doc':
      return describeContract(resource)
    default:
      return resource satisfies never
  }
}

function sizeOfListed(resource: Listed): number {
  if ('kind' in resource) return Buffer.byteLength(JSON.stringify(describe(resource)))
  return resource.uri.length + Buffer.byteLength(resource.documents?.description ?? '') + 200
}

/**
 * Serves `resources/templates/list`: any file of a source by its path, the templates of the operator, and the
 * `resource://` family.
 */
export function listTemplates(catalog: Catalog, { spaces, contract }: Forms, cursor: unknown): object {
  if (cursor !== undefined) throw invalidParams('The cursor is not one of this listing')
  const ofSources = catalog.snapshots.map(({ source }) => ({
    uriTemplate: `${uriOf(source, '')}/{+path}`,
    name: source,
    description: `A file of a skill of the source "${source}", by its path`,
  }))
  const ofSpaces = spaces.map(({ template }) => ({
    uriTemplate: template,
    name: template,
    description: 'A skill, by the parts of its path',
    mimeType: 'text/markdown',
  }))
  const ofContract = contract === undefined ? [] : contractTemplates(contract.of(catalog))
  return { resourceTemplates: [...ofSources, ...ofSpaces, ...ofContract.map(({ listed }) => listed)] }
}

/** Serves `resources/read`: the exact bytes of one file. A read never activates a skill. */
export async function readResource(
  catalog: Catalog,
  uri: string,
  caller: Caller,
  making: { readonly forms: Forms; readonly read: ReadContent },
): Promise<object> {
  const found = served(catalog, lookupResource(catalog, making.forms, uri), uri, caller)
  if (found.kind === 'folder')
    throw resourceNotFound(caller.era, uri, 'it names a folder; read it with resources/directory/read')
  const { mimeType, content } = await contentFound(found, uri, catalog, { ...making, turn: caller.turn })
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

async function contentFound(
  found: Exclude<Served, { readonly kind: 'folder' }>,
  asked: string,
  catalog: Catalog,
  { turn, ...making }: { readonly forms: Forms; readonly read: ReadContent; readonly turn: Caller['turn'] },
): Promise<{ readonly mimeType: string; readonly content: ResourceContent | UnreadContent }> {
  switch (found.kind) {
    case 'file':
      return {
        mimeType: describeFile(found.file).mimeType,
        content: await contentOf(found.file, inTurn(making.read, turn)),
      }
    case 'synthetic':
      return {
        mimeType: mimeTypeOfSynthetic(found.synthetic),
        content: await contentOfSynthetic(found.synthetic, asked, catalog, making),
      }
    case 'contract':
      return {
        mimeType: mimeTypeOfContract(found.resource),
        content: await contentOfContract(found.resource, found.family, inTurn(making.read, turn)),
      }
    default:
      return found satisfies never
  }
}

/** Serves `resources/subscribe` of the 2025 era. A subscription to a folder covers everything below it. */
export function subscribeResource(catalog: Catalog, forms: Forms, uri: string, caller: Caller): object {
  const found = served(catalog, lookupResource(catalog, forms, uri), uri, caller)
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
