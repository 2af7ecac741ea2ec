import type { Catalog } from '../../sync/model/catalog.ts'
import { offeredIn, offeringIn } from '../../sync/model/offered.ts'
import type { Offered, OfferedSkills } from '../../sync/model/offered.ts'
import { isObject } from '../json-object.ts'
import type { Unread } from '../content.ts'
import type { Finder } from '../search/finder.ts'
import type { Holder } from '../shares.ts'
import type { Serving, Surface } from './methods.ts'
import type { Params } from './params.ts'
import { invalidParams } from './rpc-error.ts'
import { bytesOfSearch, searchAsked, searchSkills } from './search-tool.ts'
import { bytesOfList, listingForModels, skillList } from './skill-list.ts'
import { MOST_DOCUMENT_BYTES, answerOf, refusal } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'
import { toolsFor } from './tool-list.ts'
import { isBehind, readDocument } from './tool-document.ts'
import { readingFor } from './trace.ts'
import type { Document, ToolHost } from './tool-document.ts'

type Served = Pick<Serving, 'registry' | 'read' | 'pages'>

/**
 * The tools `list_skills`, `search_skills` and `get_skill`, for agents whose host has tools and nothing newer. They find skills
 * and hand them out; they run nothing. Without a finder nothing is searched.
 */
export function skillTools(serving: Served, host: ToolHost, finder?: Finder): Surface {
  const list = { tools: toolsFor({ hasPaths: host.disk !== undefined, hasSearch: finder !== undefined }) }
  return {
    scope: 'tools',
    capabilities: { tools: {} },
    methods: (known) => ({
      ...known,
      'tools/list': ({ cursor }) => {
        if (cursor !== undefined) throw invalidParams('The cursor is not one of this listing')
        return list
      },
      'tools/call': (params, caller, signal) =>
        new SkillTools(
          { ...serving, read: readingFor(caller, serving.read) },
          waitingFor(signal, host),
          finder && findingFor(signal, finder),
        ).call(params, caller.holder),
    }),
  }
}

/** The host as a caller has it: nothing is waited for any more once that has left. What was begun goes on. */
export function waitingFor(signal: AbortSignal, host: ToolHost): ToolHost {
  return { ...host, look: async (...asked) => unlessAborted(signal, host.look(...asked)) }
}

function findingFor(signal: AbortSignal, finder: Finder): Finder {
  return { find: async (...asked) => unlessAborted(signal, finder.find(...asked)) }
}

async function unlessAborted<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** About how large the answer to a call will be, as far as the size of what it asks for tells. */
export function bytesOfCall(catalog: Catalog, { name, arguments: given }: Params): number {
  if (name === 'list_skills') return bytesOfList(catalog, isObject(given) ? given : {})
  if (name === 'search_skills') return bytesOfSearch(isObject(given) ? given : {})
  const id = name === 'get_skill' && isObject(given) ? given['id'] : undefined
  const [offered] = typeof id === 'string' ? offeredIn(catalog).find(id) : []
  const size = offered?.skill.files.find(({ path }) => path === 'SKILL.md')?.size ?? 0
  // Once as an object, once as its text.
  return size > MOST_DOCUMENT_BYTES ? 0 : 2 * size
}

class SkillTools {
  readonly #serving: Served
  readonly #host: ToolHost
  readonly #finder: Finder | undefined

  constructor(serving: Served, host: ToolHost, finder: Finder | undefined) {
    this.#serving = serving
    this.#host = host
    this.#finder = finder
  }

  async call({ name, arguments: given = {} }: Params, holder: Holder | undefined): Promise<ToolAnswer> {
    if (!isObject(given)) throw invalidParams('`arguments` is an object')
    switch (name) {
      case 'list_skills':
        await this.#host.look()
        return this.#listSkills(this.#serving.registry.catalog, given)
      case 'search_skills':
        if (this.#finder === undefined) throw unknownTool(name, THERE_ARE)
        return this.#searchSkills(this.#finder, given, holder)
      case 'get_skill':
        if (typeof given['id'] !== 'string') throw invalidParams('`id` is required, and is a string')
        return this.#getSkill(given['id'])
      default:
        throw unknownTool(name, this.#finder === undefined ? THERE_ARE : THERE_ARE_TO_SEARCH)
    }
  }

  async #listSkills(catalog: Catalog, given: Params): Promise<ToolAnswer> {
    await listingForModels(catalog)
    return skillList(catalog, given, this.#serving.pages, this.#finder !== undefined)
  }

  async #searchSkills(finder: Finder, given: Params, holder?: Holder): Promise<ToolAnswer> {
    const asked = searchAsked(given)
    if ('content' in asked) return asked
    await this.#host.look()
    return searchSkills(finder, this.#serving.registry, asked, holder)
  }

  async #getSkill(id: string): Promise<ToolAnswer> {
    const leftMs = await this.#lookFor(id)
    const first = await this.#find(id)
    if ('answer' in first) return first.answer
    const document = await this.#documentOf(first)
    if (!isBehind(document)) return answerOf(first, document)
    // The folder has moved on since it was looked at. What it has now is served like anything else, or not at all.
    await this.#host.look(first.source, leftMs)
    const second = await this.#find(id)
    return 'answer' in second ? second.answer : answerOf(second, await this.#documentOf(second))
  }

  /** An id that nobody knows may be that of a skill that has just been written. */
  async #lookFor(id: string): Promise<number> {
    const leftMs = await this.#host.look()
    const { folders = [] } = this.#host
    if ((await this.#offered()).find(id).length > 0) return leftMs
    return Math.min(leftMs, ...(await Promise.all(folders.map((folder) => this.#host.look(folder, leftMs)))))
  }

  async #offered(): Promise<OfferedSkills> {
    return offeringIn(this.#serving.registry.catalog)
  }

  async #find(id: string): Promise<Offered | { readonly answer: ToolAnswer }> {
    const found = (await this.#offered()).find(id)
    const [offered, ...others] = found
    if (offered === undefined) return { answer: unknownId(id) }
    return others.length === 0 ? offered : { answer: ambiguousId(id, found) }
  }

  async #documentOf(offered: Offered): Promise<Document | Unread> {
    return readDocument(offered, this.#serving.read, this.#host.disk)
  }
}

function unknownTool(name: unknown, there: string): Error {
  return invalidParams(`There is no tool ${JSON.stringify(name)}; there are ${there}`)
}

const THERE_ARE = 'list_skills and get_skill'
const THERE_ARE_TO_SEARCH = 'list_skills, search_skills and get_skill'

function unknownId(id: string): ToolAnswer {
  return refusal(`There is no skill with the id ${quoted(id)}; list_skills gives the ids of those that there are`)
}

function ambiguousId(id: string, candidates: readonly Offered[]): ToolAnswer {
  const named = candidates.slice(0, MOST_NAMED).map((offered) => `${quoted(offered.id)} (${offered.name})`)
  const more = candidates.length > MOST_NAMED ? ` and ${candidates.length - MOST_NAMED} more` : ''
  return refusal(`The id ${quoted(id)} can mean ${candidates.length} skills; ask for one of ${named.join(', ')}${more}`)
}

const MOST_NAMED = 32

/** What was asked for comes back in the answer, but not all of it where it is a book. */
function quoted(text: string): string {
  return JSON.stringify(text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)}…` : text)
}

const MOST_QUOTED = 1_200
