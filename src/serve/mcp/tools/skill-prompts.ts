import { isObject } from '../../../base/json-object.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { inTurn } from '../../content.ts'
import type { UnreadContent } from '../../content.ts'
import type { Serving, Surface } from '../core/methods.ts'
import { TAKEN, promptingSkills, skillPromptsIn } from '../core/prompt-list.ts'
import type { SkillPrompt } from '../core/prompt-list.ts'
import { pageOf } from '../rpc/pagination.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import type { Params } from '../rpc/params.ts'
import { INTERNAL_ERROR, RpcError, invalidParams } from '../rpc/rpc-error.ts'
import { readingFor } from '../rpc/trace.ts'
import { wrapMethod, COMPLETE, noValues, promptIn } from './prompts.ts'
import { MOST_DOCUMENT_BYTES, instructionsOf, markedAs } from './tool-answer.ts'
import { isBehind, readSkillDocument } from './tool-document.ts'
import type { SkillDocument, ToolHost } from './tool-document.ts'
import { waitingFor } from './tools.ts'

/**
 * Skills as prompts, in addition to the known prompts: a person starts a skill by its name. The server only delivers
 * them, and runs nothing.
 */
export function skillPrompts(serving: Pick<Serving, 'registry' | 'read' | 'pages'>, host: ToolHost): Surface {
  const { registry, read, pages } = serving
  return {
    scope: 'prompts',
    capabilities: { prompts: { listChanged: true } },
    methods: (known) => ({
      ...known,
      'prompts/list': async ({ cursor }, caller, signal) => {
        if (cursor === undefined) await waitingFor(signal, host).look()
        const own: { readonly prompts?: readonly object[] } = (await known['prompts/list']?.({}, caller, signal)) ?? {}
        return listPrompts(own.prompts ?? [], registry.catalog, cursor, pages)
      },
      ...wrapMethod(known, 'prompts/get', async (params, caller, signal) => {
        if (typeof params['name'] === 'string' && TAKEN.has(params['name'])) return undefined
        const asked = new SkillPrompts(
          { registry, read: inTurn(readingFor(caller, read), caller.turn) },
          waitingFor(signal, host),
        )
        return asked.get(nameIn(params), wordsIn(params))
      }),
      ...wrapMethod(known, COMPLETE, async (params) => {
        const name = promptIn(params)?.name
        if (typeof name !== 'string') return undefined
        const prompt = (await promptingSkills(registry.catalog)).get(name)
        const names = (prompt?.listed.arguments ?? []).map((argument) => argument.name)
        return prompt && noValues(params, name, names)
      }),
    }),
  }
}

/** Estimates the size of the response to `prompts/get` from the size of its skill. */
export function bytesOfSkillPrompt(catalog: Catalog, { name, arguments: given }: Params): number {
  const prompt = typeof name === 'string' ? skillPromptsIn(catalog).get(name) : undefined
  const size = prompt?.offered.skill.files.find(({ path }) => path === 'SKILL.md')?.size ?? 0
  if (prompt === undefined || size > MOST_DOCUMENT_BYTES) return 0
  const words = isObject(given) && typeof given['arguments'] === 'string' ? given['arguments'] : ''
  return Math.min(size + Buffer.byteLength(words), MOST_PROMPT_BYTES)
}

async function listPrompts(
  own: readonly object[],
  catalog: Catalog,
  cursor: unknown,
  limits: PageLimits,
): Promise<object> {
  const all = [...own, ...Array.from((await promptingSkills(catalog)).values(), ({ listed }) => listed)]
  const { items, nextCursor } = pageOf(
    all,
    { catalog, of: 'prompts/list' },
    { cursor, limits, sizeOf: (listed) => Buffer.byteLength(JSON.stringify(listed)) },
  )
  return { prompts: items, ...(nextCursor !== undefined && { nextCursor }) }
}

class SkillPrompts {
  readonly #serving: Pick<Serving, 'registry' | 'read'>
  readonly #host: ToolHost

  constructor(serving: Pick<Serving, 'registry' | 'read'>, host: ToolHost) {
    this.#serving = serving
    this.#host = host
  }

  async get(name: string, words: string): Promise<object> {
    const leftMs = await this.#host.look()
    const first = await this.#find(name)
    const document = await this.#documentOf(first)
    if (!isBehind(document)) return answerOf(first, document, words)
    // The folder has changed since the last check, as in `get_skill`.
    await this.#host.look(first.offered.source, leftMs)
    const second = await this.#find(name)
    return answerOf(second, await this.#documentOf(second), words)
  }

  async #find(name: string): Promise<SkillPrompt> {
    const found = (await promptingSkills(this.#serving.registry.catalog)).get(name)
    if (found !== undefined) return found
    throw invalidParams(
      `There is no prompt ${JSON.stringify(name.slice(0, 100))}; prompts/list gives those that there are`,
    )
  }

  async #documentOf({ offered }: SkillPrompt): Promise<SkillDocument | UnreadContent> {
    return readSkillDocument(offered, this.#serving.read, this.#host.disk)
  }
}

/** Returns the instructions of the skill with the words of the person, and their origin. */
function answerOf({ offered, listed }: SkillPrompt, document: SkillDocument | UnreadContent, words: string): object {
  const told = instructionsOf(offered, document)
  if ('why' in told) throw new RpcError(INTERNAL_ERROR, told.why)
  const { path, uri } = told.place
  const place = path ?? uri
  const texts = [
    withWords(told.text, words, (text) => markedAs(offered, text)),
    ...(place === undefined ? [told.note] : [`Its SKILL.md is ${place}. ${told.note}`]),
  ]
  const messages = texts.map((text) => ({ role: 'user', content: { type: 'text', text } }))
  return { description: listed.description, messages }
}

/**
 * Follows Claude Code: `$ARGUMENTS` becomes the words of the person; without such a placeholder, they follow the text.
 * Placeholders of single words (`$ARGUMENTS[0]`, `$0`) are left to the model, because `$1` also occurs in scripts.
 */
function withWords(text: string, words: string, mark: (text: string) => string): string {
  const places = text.match(PLACES)?.length ?? 0
  if (Buffer.byteLength(text) + places * Buffer.byteLength(words) > MOST_PROMPT_BYTES)
    throw invalidParams(`With these arguments the prompt would have over ${MOST_PROMPT_BYTES} bytes`)
  // A function as replacement, because `$&` has a meaning in a replacement text.
  const placed = mark(text.replace(PLACES, () => words))
  return places > 0 || words === '' ? placed : `${placed.trimEnd()}\n\nARGUMENTS: ${words}`
}

const PLACES = /\$ARGUMENTS(?![\w[])/g

/** A text may have a thousand placeholders for the same words. */
const MOST_PROMPT_BYTES = 2 * MOST_DOCUMENT_BYTES

function nameIn({ name }: Params): string {
  if (typeof name !== 'string') throw invalidParams('`name` is required, and is a string')
  return name
}

function wordsIn({ arguments: given = {} }: Params): string {
  if (!isObject(given)) throw invalidParams('`arguments` is an object')
  const { arguments: words = '' } = given
  if (typeof words !== 'string') throw invalidParams('The argument `arguments` is a string')
  return words
}
