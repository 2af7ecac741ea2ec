import { abortable } from '../../../base/async/abortable.ts'
import { isObject } from '../../../base/json-object.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { offeringIn } from '../../../sync/catalog/tool-catalog.ts'
import { SKILLS_CATALOG, promptingSkills } from '../core/prompt-list.ts'
import { readyToFind } from '../resources/find-resource.ts'
import type { Forms } from '../resources/forms.ts'
import { textingPrompt } from './catalog-prompt.ts'
import { skillsMeant } from './find-skill.ts'
import { listingForModels } from './skill-list.ts'

/**
 * Builds in slices the catalog data that the size estimate of a response needs: for ten thousand skills it would block
 * others too long. The signal ends the wait, but not the work, because other requests wait for it too.
 */
export async function readyFor(
  catalog: Catalog,
  forms: Forms,
  body: unknown,
  signalOf: () => AbortSignal,
): Promise<void> {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  let signal: AbortSignal | undefined
  for (const message of messages) {
    const making = prepareFor(catalog, forms, message)
    if (making === undefined) continue
    // One signal for all messages, because each signal listens to the connection.
    signal ??= signalOf()
    await abortable(making, signal)
    signal.throwIfAborted()
  }
}

/** Works like `readyFor`, for one message. `undefined` if the estimate needs no such data. */
export function prepareFor(catalog: Catalog, forms: Forms, message: unknown): Promise<unknown> | undefined {
  if (!isObject(message)) return undefined
  const { name, uri, arguments: given } = isObject(message['params']) ? message['params'] : {}
  switch (message['method']) {
    case 'tools/call':
      return name === 'list_skills' ? listingForModels(catalog) : skillReady(catalog, given)
    case 'prompts/get':
      if (name === SKILLS_CATALOG.name) return textingPrompt(catalog)
      return forms.skillPrompts ? promptingSkills(catalog) : undefined
    case 'resources/read':
    case 'resources/subscribe':
      return typeof uri === 'string' ? readyToFind(catalog, forms, uri) : undefined
    default:
      return undefined
  }
}

async function skillReady(catalog: Catalog, given: unknown): Promise<unknown> {
  const id = isObject(given) ? given['id'] : undefined
  return typeof id === 'string' ? skillsMeant(catalog, id) : offeringIn(catalog)
}
