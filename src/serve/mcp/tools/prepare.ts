import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { isContractUri } from '../../../sync/catalog/contract-uri.ts'
import { offeringIn } from '../../../sync/catalog/tool-catalog.ts'
import { whileWanted } from '../../../base/abortable.ts'
import { isObject } from '../../../base/json-object.ts'
import { SKILLS_CATALOG, textingPrompt } from './catalog-prompt.ts'
import type { Forms } from '../resources/compatibility.ts'
import { skillsMeant } from './find-skill.ts'
import { listingForModels } from './skill-list.ts'
import { promptingSkills } from './skill-prompt-list.ts'

/**
 * Makes ready what the size of the answer to a body is read off, where the catalog was not asked for it yet. In slices: for ten
 * thousand skills it takes longer than others should wait. Their signal ends the wait, and not the work: others wait for it too.
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
    const making = makingFor(catalog, forms, message)
    if (making === undefined) continue
    // One for all messages: each listens to the connection.
    signal ??= signalOf()
    await whileWanted(making, signal)
    signal.throwIfAborted()
  }
}

/** The same for one message. Undefined where the size is not read off what is made of a catalog. */
export function makingFor(catalog: Catalog, forms: Forms, message: unknown): Promise<unknown> | undefined {
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
      return typeof uri === 'string' && isContractUri(uri) ? forms.contract?.ready(catalog) : undefined
    default:
      return undefined
  }
}

async function skillReady(catalog: Catalog, given: unknown): Promise<unknown> {
  const id = isObject(given) ? given['id'] : undefined
  return typeof id === 'string' ? skillsMeant(catalog, id) : offeringIn(catalog)
}
