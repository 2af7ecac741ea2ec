import { isObject } from '../../../base/json-object.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { withHiddenEscaped } from '../../../sync/skill/hidden-unicode.ts'
import { inTurn } from '../../content.ts'
import type { UnreadContent } from '../../content.ts'
import type { Finder } from '../core/finder.ts'
import type { Serving, Surface } from '../core/methods.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'
import { readingFor } from '../rpc/trace.ts'
import { bytesOfFile, fileAsked, readSkillFile } from './file-tool.ts'
import type { FileAsked } from './file-tool.ts'
import { namesakesNote, notTheOne, skillMeantAtOnce, skillsMeant, skillsOfId } from './find-skill.ts'
import { bytesOfSearch, searchAsked, searchSkills } from './search-tool.ts'
import type { SearchCaller } from './search-tool.ts'
import { bytesOfList, listingForModels, skillList } from './skill-list.ts'
import { answerOf, MOST_DOCUMENT_BYTES, withText } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'
import { isBehind, readSkillDocument } from './tool-document.ts'
import type { SkillDocument, ToolHost } from './tool-document.ts'
import { toolsFor } from './tool-schemas.ts'
import type { Tool } from './tool-schemas.ts'
import { saidLacking, saidOffers, unservedReasonOf } from './unserved-sources.ts'
import type { UnservedSources } from './unserved-sources.ts'

type Served = Pick<Serving, 'registry' | 'read' | 'pages'>

interface ToolList {
  readonly tools: readonly Tool[]
}

/**
 * The tools `list_skills`, `search_skills`, `get_skill` and, for callers without the disk, `read_skill_file`, for
 * agents whose host supports only tools. They find and deliver skills, and run nothing. Without a finder, there is no
 * search.
 */
export function skillTools(serving: Served, host: ToolHost, finder?: Finder): Surface {
  const list: ToolList = { tools: toolsFor({ hasPaths: host.disk !== undefined, hasSearch: finder !== undefined }) }
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
          { ...serving, read: inTurn(readingFor(caller, serving.read), caller.turn) },
          waitingFor(signal, host),
          list,
          finder && findingFor(signal, finder),
        ).call(params, caller),
    }),
  }
}

/** Returns a host whose waits end when the caller leaves. Work that has begun continues. */
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

/** Estimates the size of the response to a call from the size of the requested thing. */
export function bytesOfCall(catalog: Catalog, { name, arguments: given }: Params): number {
  const asked = isObject(given) ? withoutNull(given) : {}
  if (name === 'list_skills') return bytesOfList(catalog, asked)
  if (name === 'search_skills') return bytesOfSearch(asked)
  if (name !== 'get_skill' && name !== 'read_skill_file') return 0
  const { id } = asked
  const offered = typeof id === 'string' ? skillMeantAtOnce(catalog, id) : undefined
  if (name === 'read_skill_file') return bytesOfFile(offered, asked)
  const size = offered?.skill.files.find(({ path }) => path === 'SKILL.md')?.size ?? 0
  // The text is sent once in an object, and once as text.
  return size > MOST_DOCUMENT_BYTES ? 0 : 2 * size
}

/** Removes null arguments: some hosts send null for an argument that the model omits. */
function withoutNull(given: Params): Params {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

class SkillTools {
  readonly #serving: Served
  readonly #host: ToolHost
  readonly #list: ToolList
  readonly #finder: Finder | undefined

  constructor(serving: Served, host: ToolHost, list: ToolList, finder: Finder | undefined) {
    this.#serving = serving
    this.#host = host
    this.#list = list
    this.#finder = finder
  }

  async call({ name, arguments: all = {} }: Params, caller: SearchCaller): Promise<ToolAnswer> {
    if (!isObject(all)) throw invalidParams('`arguments` is an object')
    const given = withoutNull(all)
    const { tools } = this.#list
    if (!tools.some((tool) => tool.name === name)) throw unknownTool(name, tools)
    switch (name) {
      case 'list_skills':
        await this.#host.look()
        return this.#listSkills(this.#serving.registry.catalog, given)
      case 'search_skills':
        if (this.#finder === undefined) throw unknownTool(name, tools)
        return this.#searchSkills(this.#finder, given, caller)
      case 'get_skill':
        if (typeof given['id'] !== 'string') throw invalidParams('`id` is required, and is a string')
        return this.#getSkill(given['id'])
      case 'read_skill_file':
        return this.#readFile(fileAsked(given))
      default:
        throw unknownTool(name, tools)
    }
  }

  async #listSkills(catalog: Catalog, given: Params): Promise<ToolAnswer> {
    const { rows } = await listingForModels(catalog)
    const answer = skillList(catalog, given, this.#serving.pages, this.#finder !== undefined)
    if (answer.isError === true) return answer
    const lacking = await this.#host.lacking?.(catalog)
    const told = rows.length > 0 ? saidLacking(answer, lacking) : withText(answer, emptyReason(catalog, lacking))
    return given['cursor'] === undefined ? saidOffers(told, catalog) : told
  }

  async #searchSkills(finder: Finder, given: Params, caller: SearchCaller): Promise<ToolAnswer> {
    const asked = searchAsked(given)
    if ('content' in asked) return asked
    await this.#host.look()
    const { catalog } = this.#serving.registry
    const answer = await searchSkills(finder, this.#serving.registry, asked, caller)
    return answer.isError === true ? answer : saidLacking(answer, await this.#host.lacking?.(catalog))
  }

  async #getSkill(id: string): Promise<ToolAnswer> {
    const leftMs = await this.#lookFor(id)
    const first = await this.#find(id)
    if ('answer' in first) return first.answer
    const document = await this.#documentOf(first)
    if (!isBehind(document)) return this.#answer(id, first, document)
    // The folder has changed since the last check. Its current content is served by the usual rules, or not at all.
    await this.#host.look(first.source, leftMs)
    const second = await this.#find(id)
    return 'answer' in second ? second.answer : this.#answer(id, second, await this.#documentOf(second))
  }

  async #answer(id: string, offered: Offered, document: SkillDocument | UnreadContent): Promise<ToolAnswer> {
    return answerOf(offered, document, await namesakesNote(this.#serving.registry.catalog, id, offered))
  }

  async #readFile(asked: FileAsked): Promise<ToolAnswer> {
    await this.#lookFor(asked.id)
    const found = await this.#find(asked.id)
    return 'answer' in found ? found.answer : readSkillFile(found, asked, this.#serving.read)
  }

  /** An unknown id may belong to a skill that was just written. */
  async #lookFor(id: string): Promise<number> {
    const leftMs = await this.#host.look()
    const { folders = [] } = this.#host
    if ((await skillsOfId(this.#serving.registry.catalog, id)).length > 0) return leftMs
    return Math.min(leftMs, ...(await Promise.all(folders.map((folder) => this.#host.look(folder, leftMs)))))
  }

  async #find(id: string): Promise<Offered | { readonly answer: ToolAnswer }> {
    const { catalog } = this.#serving.registry
    const meant = await skillsMeant(catalog, id)
    const [offered, ...others] = meant
    if (offered !== undefined && others.length === 0) return offered
    return { answer: saidLacking(await notTheOne(catalog, id, meant), await this.#host.lacking?.(catalog)) }
  }

  async #documentOf(offered: Offered): Promise<SkillDocument | UnreadContent> {
    return readSkillDocument(offered, this.#serving.read, this.#host.disk)
  }
}

function unknownTool(name: unknown, there: readonly Tool[]): Error {
  const names = there.map((tool) => tool.name)
  return invalidParams(
    `There is no tool ${JSON.stringify(name)}; there are ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`,
  )
}

/**
 * Returns the reason, in words for a model, why a list of skills is empty. `lacking`: the sources without served
 * skills. The rest comes from the catalog that the caller sees.
 */
export function emptyReason(catalog: Catalog, lacking: UnservedSources = NONE): string {
  const reasons = [
    ...catalog.snapshots.map((snapshot) => `${quote(snapshot.source)} ${reasonIn(catalog, snapshot)}`),
    ...lacking.named.map(unservedReasonOf),
  ]
  if (reasons.length > 0) return `No skill is available. ${sentenceOf(reasons, unnamedIn(lacking))}`
  if (catalog.generation === 0) return 'No skill is available yet: nothing has been fetched. Try again in a moment.'
  return lacking.count > 0 ? NOT_YET : 'No skill is available to you here.'
}

const NONE: UnservedSources = { count: 0, named: [] }

const NOT_YET = 'No skill is available to you here: something has not been fetched yet. Try again later.'

/** A caller that learns no source names does not learn their number either. */
function unnamedIn({ count, named }: UnservedSources): number {
  return named.length === 0 ? 0 : count - named.length
}

function sentenceOf(reasons: readonly string[], unnamed: number): string {
  const left = Math.max(0, reasons.length - MOST_REASONS) + unnamed
  const more = left > 0 ? [`${left} more ${left === 1 ? 'source has' : 'sources have'} none`] : []
  return `By source: ${[...reasons.slice(0, MOST_REASONS), ...more].join('; ')}. The operator finds more in skillsyncd status.`
}

const MOST_REASONS = 10

/** The reason omits skills that are disabled or wait for approval: clients must not learn their names. */
function reasonIn({ sources }: Catalog, { source, skills, findings }: Snapshot): string {
  const [, ...absent] = sources.find(([id]) => id === source) ?? [source]
  const withheld = skills.filter(({ standing, path }) => standing === 'withheld' && !absent.includes(path))
  const [first] = withheld
  if (first !== undefined) {
    const id = quote(`${source}/${withHiddenEscaped(first.path)}`)
    return `has ${countOf(withheld.length, 'skill')} that ${withheld.length === 1 ? 'is' : 'are'} withheld: get_skill with the id ${id} gives the reason`
  }
  const link = findings.find(({ rule }) => rule === 'link-refused')
  if (link !== undefined)
    return `has links in place of skills, such as ${quote(withHiddenEscaped(link.path))}, that lead elsewhere and are refused`
  return skills.length === 0 ? 'has no SKILL.md' : 'has no skill that is offered'
}

function quote(text: string): string {
  return JSON.stringify(text)
}
