import { isObject } from '../../../base/json-object.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { findResource } from '../resources/find-resource.ts'
import type { Forms } from '../resources/forms.ts'
import type { Params } from '../rpc/params.ts'
import { bytesOfPrompt } from './catalog-prompt.ts'
import { bytesOfSkillPrompt } from './skill-prompts.ts'
import { bytesOfCall } from './tools.ts'

/** A value above the limit for the responses of a batch; the requests after that cost nothing. */
const MOST_BYTES = 64 * 2 ** 20

/** Estimates the size of the response to a body from the sizes of the requested things. */
export function announcedBytes(catalog: Catalog, forms: Forms, body: unknown): number {
  if (!Array.isArray(body)) return grownSize(sizeAskedFor(catalog, forms, body))
  let bytes = 0
  for (const message of body) {
    bytes += grownSize(sizeAskedFor(catalog, forms, message))
    if (bytes > MOST_BYTES) return MOST_BYTES
  }
  return bytes
}

/**
 * The usual growth by base64 and JSON escapes. The result is in whole bytes: sums of fractions would not return to
 * zero.
 */
function grownSize(size: number): number {
  return Math.ceil(size * 1.4)
}

function sizeOfPrompt(catalog: Catalog, { skillPrompts }: Forms, params: Params): number {
  return bytesOfPrompt(catalog, params) + (skillPrompts ? bytesOfSkillPrompt(catalog, params) : 0)
}

function sizeAskedFor(catalog: Catalog, forms: Forms, message: unknown): number {
  if (!isObject(message) || !isObject(message['params'])) return 0
  if (message['method'] === 'tools/call') return bytesOfCall(catalog, message['params'])
  if (message['method'] === 'prompts/get') return sizeOfPrompt(catalog, forms, message['params'])
  const { uri } = message['params']
  if (message['method'] !== 'resources/read' || typeof uri !== 'string') return 0
  // Nearly all URIs are in their listed spelling, so the lookup of other spellings is rarely needed.
  const listed = catalog.files.get(uri)
  if (listed !== undefined) return listed.file.size
  const found = findResource(catalog, forms, uri)
  return found.kind === 'resource' ? found.resource.contentBytes() : 0
}
