import type { Catalog } from '../../sync/model/catalog.ts'
import { textOfCatalog } from '../catalog-text.ts'
import type { Registry } from '../registry.ts'
import { isObject } from '../json-object.ts'
import { MadeOnce } from './made-once.ts'
import type { Method, Methods, Surface } from './methods.ts'
import type { Params } from './params.ts'

/**
 * The prompt `skills-catalog`, beside those that there are: the skills as text, for hosts that put it into the context of a model
 * themselves. Without a message where there are none.
 */
export function catalogPrompt(registry: Registry): Surface {
  return {
    scope: 'prompts',
    capabilities: { prompts: {} },
    methods: (known) => ({ ...known, ...withList(known), ...withGet(known, registry), ...withCompletion(known) }),
  }
}

export const SKILLS_CATALOG = {
  name: 'skills-catalog',
  title: 'The skills that there are',
  description: 'Name, description and source of each skill that is available, to be put before a model',
} as const

/** About how large the answer to `prompts/get` will be. */
export function bytesOfPrompt(catalog: Catalog, { name }: Params): number {
  return name === SKILLS_CATALOG.name ? Buffer.byteLength(textOf(catalog)) : 0
}

function withList(known: Methods): Methods {
  return extended(known, 'prompts/list', (others) => async (...asked) => {
    const answer: { readonly prompts?: readonly unknown[] } = await others(...asked)
    return { ...answer, prompts: [...(answer.prompts ?? []), SKILLS_CATALOG] }
  })
}

function withGet(known: Methods, registry: Registry): Methods {
  return extended(known, 'prompts/get', (others) => async (params, ...rest) => {
    if (params['name'] !== SKILLS_CATALOG.name) return others(params, ...rest)
    const text = textOf(registry.catalog)
    const messages = text === '' ? [] : [{ role: 'user', content: { type: 'text', text } }]
    return { description: SKILLS_CATALOG.description, messages }
  })
}

/** It has no argument. */
function withCompletion(known: Methods): Methods {
  return extended(known, 'completion/complete', (others) => async (params, ...rest) => {
    const { ref } = params
    if (!isObject(ref) || ref['type'] !== 'ref/prompt' || ref['name'] !== SKILLS_CATALOG.name)
      return others(params, ...rest)
    return { completion: { values: [], total: 0, hasMore: false } }
  })
}

/** Answers for what the method that there is does not know. */
function extended(known: Methods, name: string, by: (others: Method) => Method): Methods {
  const others = known[name]
  return others === undefined ? {} : { [name]: by(others) }
}

function textOf(catalog: Catalog): string {
  return TEXTS.of(catalog, textOfCatalog)
}

const TEXTS = new MadeOnce<Catalog, string>()
