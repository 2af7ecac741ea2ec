import { IncrementalCache } from '../../../base/async/incremental.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Registry } from '../../registry.ts'
import type { Method, Methods, Surface } from '../core/methods.ts'
import { SKILLS_CATALOG } from '../core/prompt-list.ts'
import type { Params } from '../rpc/params.ts'
import { textingCatalog } from './catalog-text.ts'
import { wrapMethod, COMPLETE, noValues, promptIn } from './prompts.ts'

/**
 * The prompt `skills-catalog`, in addition to the known prompts: the skills as text, for hosts that put it into the
 * context of a model themselves. It has no message if there are no skills.
 */
export function catalogPrompt(registry: Registry): Surface {
  return {
    scope: 'prompts',
    capabilities: { prompts: {} },
    methods: (known) => ({
      ...known,
      ...withList(known),
      ...wrapMethod(known, 'prompts/get', async ({ name }) =>
        name === SKILLS_CATALOG.name ? answerOf(registry.catalog) : undefined,
      ),
      ...wrapMethod(known, COMPLETE, async (params) =>
        promptIn(params)?.name === SKILLS_CATALOG.name ? noValues(params, SKILLS_CATALOG.name, []) : undefined,
      ),
    }),
  }
}

/** Estimates the size of the response to `prompts/get`. */
export function bytesOfPrompt(catalog: Catalog, { name }: Params): number {
  return name === SKILLS_CATALOG.name ? Buffer.byteLength(TEXTS.of(catalog)) : 0
}

function withList({ 'prompts/list': others }: Methods): Methods {
  if (others === undefined) return {}
  const list: Method = async (...asked) => {
    const answer: { readonly prompts?: readonly unknown[] } = await others(...asked)
    return { ...answer, prompts: [...(answer.prompts ?? []), SKILLS_CATALOG] }
  }
  return { 'prompts/list': list }
}

async function answerOf(catalog: Catalog): Promise<object> {
  const text = await textingPrompt(catalog)
  const messages = text === '' ? [] : [{ role: 'user', content: { type: 'text', text } }]
  return { description: SKILLS_CATALOG.description, messages }
}

/** Builds the text in slices. */
export async function textingPrompt(catalog: Catalog): Promise<string> {
  return TEXTS.ready(catalog)
}

const TEXTS = new IncrementalCache<Catalog, string>(textingCatalog)
