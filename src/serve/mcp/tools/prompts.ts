import { isObject } from '../../../base/json-object.ts'
import type { Method, Methods, Surface } from '../core/methods.ts'
import { INIT_SKILLS, SKILLS_CATALOG } from '../core/prompt-list.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'
import { INSTRUCTIONS } from './instructions.ts'

/** The prompt `init-skills`: background on working with skills, for the start of a conversation. */
export const PROMPTS: Surface = {
  scope: 'prompts',
  capabilities: { prompts: {} },
  methods: (known) => ({
    ...known,
    'prompts/list': ({ cursor }) => {
      if (cursor !== undefined) throw invalidParams('The cursor is not one of this listing')
      return { prompts: [INIT_SKILLS] }
    },
    'prompts/get': ({ name }) => {
      if (name !== INIT_SKILLS.name) throw unknownPrompt(name)
      const content = { type: 'text', text: INSTRUCTIONS }
      return { description: INIT_SKILLS.description, messages: [{ role: 'user', content }] }
    },
    ...withPromptCompletion(known),
  }),
}

function withPromptCompletion(known: Methods): Methods {
  const complete = known[COMPLETE]
  if (complete === undefined) return {}
  const method: Method = (params, caller, signal) => {
    const prompt = promptIn(params)
    if (prompt === undefined) return complete(params, caller, signal)
    if (prompt.name !== INIT_SKILLS.name) throw unknownPrompt(prompt.name)
    return noValues(params, INIT_SKILLS.name, [])
  }
  return { [COMPLETE]: method }
}

export const COMPLETE = 'completion/complete'

/**
 * Returns the completion of an argument of a prompt: no values are known. Throws if the prompt has no such argument.
 */
export function noValues({ argument }: Params, prompt: string, names: readonly string[]): object {
  const asked = isObject(argument) ? argument['name'] : undefined
  if (typeof asked !== 'string') throw invalidParams('`argument` is required, and is { name, value }')
  if (names.includes(asked)) return NO_VALUES
  const there = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
  throw invalidParams(
    `The prompt ${JSON.stringify(prompt)} has no argument ${JSON.stringify(asked.slice(0, 100))}; ${there}`,
  )
}

const NO_VALUES = { completion: { values: [], total: 0, hasMore: false } } as const

/**
 * Wraps a method: `answer` handles some requests, and the known method the rest. Without a known method, it adds
 * nothing.
 */
export function wrapMethod(
  known: Methods,
  name: string,
  answer: (...asked: Parameters<Method>) => Promise<object | undefined>,
): Methods {
  const rest = known[name]
  return rest === undefined ? {} : { [name]: async (...asked) => (await answer(...asked)) ?? rest(...asked) }
}

/** Returns the prompt that a completion is for; `undefined` if it is for something else. */
export function promptIn({ ref }: Params): { readonly name: unknown } | undefined {
  if (typeof ref !== 'object' || ref === null || !('type' in ref) || ref.type !== 'ref/prompt') return undefined
  return { name: 'name' in ref ? ref.name : undefined }
}

function unknownPrompt(name: unknown): Error {
  const asked =
    typeof name === 'string' ? `${JSON.stringify(name.slice(0, 100))} is not a prompt` : '`name` is required'
  return invalidParams(`The prompts here are "${INIT_SKILLS.name}" and "${SKILLS_CATALOG.name}"; ${asked}`)
}
