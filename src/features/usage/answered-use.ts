import { isObject } from '../../base/json-object.ts'
import { Memo } from '../../base/memo.ts'
import type { AnsweredFile, AnsweredMessage } from '../../serve/mcp/core/methods.ts'
import { SKILLS_CATALOG, skillPromptsIn } from '../../serve/mcp/core/prompt-list.ts'
import { findResource } from '../../serve/mcp/resources/find-resource.ts'
import { INTERNAL_ERROR } from '../../serve/mcp/rpc/rpc-error.ts'
import { skillMeantAtOnce } from '../../serve/mcp/tools/find-skill.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { pathIdOf } from '../../sync/catalog/tool-catalog.ts'
import type { Offered } from '../../sync/catalog/tool-catalog.ts'
import { OMITTED_LIST } from '../../sync/skill/entry-faults.ts'
import { withHiddenEscaped } from '../../sync/skill/hidden-unicode.ts'

/**
 * The use of skills in one answer. `list`: it shows the skills of a view. `load`: it has the instructions of a skill.
 * `read`: it has another file of a skill. `failure`: it should have one of these, and the content or the store did not
 * allow it. `skill`: `<source>/<path>`, with invisible characters escaped. `content`: the digest of the skill.
 */
export type CountedUse =
  | { readonly kind: 'list' }
  | { readonly kind: 'load' | 'read' | 'failure'; readonly skill: string; readonly content: string | undefined }

/** Returns the use in an answer; `undefined` if it shows no skill. Only skills of the served catalog are named. */
export function useIn(answered: AnsweredMessage | AnsweredFile): CountedUse | undefined {
  if ('part' in answered) {
    const use = useOfPart(answered.part)
    return answered.isFailed === true ? failureOf(use) : use
  }
  if (answered.error === undefined) return useOfMessage(answered)
  return isFault(answered, answered.error) ? failureOf(useOfMessage(answered)) : undefined
}

/** A list names no skill that could have failed. */
function failureOf(use: CountedUse | undefined): CountedUse | undefined {
  return use === undefined || use.kind === 'list' ? undefined : { ...use, kind: 'failure' }
}

/**
 * True for an error that the content or the store is the reason of. The mistakes of clients have other codes; a tool has
 * no codes, but its arguments show them: an unknown file, or an offset that is none of the file. So a file that fails at a
 * later part is not counted.
 */
function isFault(
  { method, params, serving }: AnsweredMessage,
  { code }: NonNullable<AnsweredMessage['error']>,
): boolean {
  if (code !== undefined || method !== 'tools/call') return code === INTERNAL_ERROR
  if (!isObject(params)) return false
  if (params['name'] !== 'read_skill_file') return true
  const { id, path, offset = 0 } = isObject(params['arguments']) ? params['arguments'] : {}
  const offered = typeof id === 'string' ? skillMeantAtOnce(serving.registry.catalog, id) : undefined
  return offset === 0 && offered?.skill.files.some((file) => file.path === path) === true
}

function useOfMessage({ method, params, serving }: AnsweredMessage): CountedUse | undefined {
  if (LISTS.has(method)) return LIST
  if (!isObject(params)) return undefined
  switch (method) {
    case 'resources/read':
      return typeof params['uri'] === 'string' ? useOfResource(serving, params['uri']) : undefined
    case 'tools/call':
      return useOfCall(serving, params)
    case 'prompts/get':
      return useOfPrompt(serving, params['name'])
    default:
      return undefined
  }
}

const LIST: CountedUse = { kind: 'list' }

const LISTS: ReadonlySet<string> = new Set(['skills/list', OMITTED_LIST, 'resources/list', 'prompts/list'])

/** Most reads are of a few files, and the search for one takes longer than the rest. */
function useOfResource(serving: AnsweredMessage['serving'], uri: string): CountedUse | undefined {
  const { catalog } = serving.registry
  const known = USES.of(catalog, () => new Map())
  const use = known.get(uri) ?? foundUse(serving, uri)
  if (use !== undefined && known.size < MOST_USES && uri.length <= MOST_CHARACTERS) known.set(uri, use)
  return use
}

/** Uses by the URIs of served resources, dropped with their catalog. */
const USES = new Memo<Catalog, Map<string, CountedUse>>()
const MOST_USES = 10_000
const MOST_CHARACTERS = 512

function foundUse({ registry, forms }: AnsweredMessage['serving'], uri: string): CountedUse | undefined {
  const found = findResource(registry.catalog, forms, uri)
  return found.kind === 'resource' ? useOfPart(found.resource.part) : undefined
}

function useOfPart(part: AnsweredFile['part']): CountedUse {
  if (part === undefined) return LIST
  const { source, path, digest: content, isDocument } = part
  return { kind: isDocument ? 'load' : 'read', skill: `${source}/${withHiddenEscaped(path)}`, content }
}

function useOfCall(
  { registry }: AnsweredMessage['serving'],
  params: Readonly<Record<string, unknown>>,
): CountedUse | undefined {
  const { name, arguments: given } = params
  if (name === 'list_skills' || name === 'search_skills') return LIST
  if (name !== 'get_skill' && name !== 'read_skill_file') return undefined
  const { id, path } = isObject(given) ? given : {}
  const isDocument = name === 'get_skill' || path === 'SKILL.md'
  return typeof id === 'string' ? useOfOffered(skillMeantAtOnce(registry.catalog, id), isDocument) : undefined
}

function useOfPrompt({ registry }: AnsweredMessage['serving'], name: unknown): CountedUse | undefined {
  if (name === SKILLS_CATALOG.name) return LIST
  return typeof name === 'string' ? useOfOffered(skillPromptsIn(registry.catalog).get(name)?.offered, true) : undefined
}

function useOfOffered(offered: Offered | undefined, isDocument: boolean): CountedUse | undefined {
  return offered && { kind: isDocument ? 'load' : 'read', skill: pathIdOf(offered), content: offered.skill.digest }
}
