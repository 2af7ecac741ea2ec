import type { ServerCapabilities } from '@modelcontextprotocol/server'
import { OMITTED_LIST } from '../../../sync/skill/entry-faults.ts'
import type { Audit } from '../../audit.ts'
import type { ReadContent, StoredLocation } from '../../content.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import type { Meter } from '../../meter.ts'
import type { Scope } from '../../principal.ts'
import type { Registry } from '../../registry.ts'
import { WHOLE } from '../../view.ts'
import type { ViewName } from '../../view.ts'
import type { Views } from '../../views.ts'
import type { Forms } from '../resources/forms.ts'
import type { SkillPart } from '../resources/resource-family.ts'
import { listResources, listTemplates, readResource, subscribeResource, unsubscribe } from '../resources/resources.ts'
import { getSkill, listOmitted, listSkills, readDirectory } from '../resources/skills.ts'
import type { CacheHint, Caller } from '../rpc/caller.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import { requiredUri } from '../rpc/params.ts'
import type { Params } from '../rpc/params.ts'
import { readingFor } from '../rpc/trace.ts'
import type { Finder } from './finder.ts'

/** The state that responses are built from. */
export interface Serving {
  readonly registry: Registry
  readonly read: ReadContent
  /** True if the content is refused although the catalog still lists it. Cached text of it must not be used then. */
  readonly isRefused?: (stored: StoredLocation) => boolean
  readonly pages: PageLimits
  /** The caching hint: how long, and by which clients, a response may be cached (2026-07-28). */
  readonly cache: CacheHint
  /** The forms of skills for clients of older revisions and of other servers. */
  readonly forms: Forms
  /** The methods in addition to skills and resources. */
  readonly surfaces?: readonly Surface[]
  /** Records every read, list and call. */
  readonly audit?: Audit
  /** The search of tools, for other ways to search. `undefined` if search is off. */
  readonly finder?: Finder
  /** Counts the HTTP requests. */
  readonly meter?: Meter
  /** Counts what clients were answered. Never throws and never blocks the caller. */
  readonly use?: CountUse
  /** Text about this server for the client's model; it may name skills by URI. */
  readonly instructions?: string
  /** The views of packs and rings, beside everything. */
  readonly views?: Views
  /** Returns the serving state of a view. It is there if `views` is. */
  readonly ofView?: (view: ViewName) => Serving
  /** The view that it serves; by default, everything. */
  readonly view?: ViewName
}

/** Counts one answer. It is called once for each message or file that is answered, also with an error. */
export type CountUse = (answered: AnsweredMessage | AnsweredFile) => void

/** A message that was answered, and the state that the answer was built from. */
export interface AnsweredMessage {
  readonly method: string
  readonly params: unknown
  readonly serving: Pick<Serving, 'registry' | 'forms' | 'view'>
  /** The name that the client gives itself, as `clientNameIn` returns it. */
  readonly client: string | undefined
  /** The id of a token. */
  readonly principal: string | undefined
  /** Present if the answer is an error: the code of JSON-RPC; without one for a tool, whose result has the error. */
  readonly error?: { readonly code: number | undefined } | undefined
}

/** A file that a client without MCP requested. */
export interface AnsweredFile extends Pick<AnsweredMessage, 'client' | 'principal'> {
  /** The skill of the file; `undefined` for the list of skills. */
  readonly part: SkillPart | undefined
  readonly serving: Pick<Serving, 'view'>
  /** True if the file could not be read, or the client could not use the skill. */
  readonly isFailed?: boolean
}

/** Returns the serving state of a view. */
export function servingFor<Whole extends Pick<Serving, 'ofView'>>(serving: Whole, view: ViewName): Whole | Serving {
  if (view === WHOLE) return serving
  if (serving.ofView === undefined)
    throw new TypeError(`There are no views, and one of ${JSON.stringify(view)} was asked for`)
  return serving.ofView(view)
}

/** Returns true if the holder is served from the view: the number of views is limited. */
export function admits({ views }: Pick<Serving, 'views'>, view: ViewName, holder: ShareHolder): boolean {
  return views?.admit(view, holder) !== false
}

/** A group of methods, with the capabilities that it declares. */
export interface Surface {
  /** The required scope. For a caller without it, the surface does not exist. */
  readonly scope?: Scope
  readonly capabilities: ServerCapabilities
  /** Returns all methods, given those without this surface: it may handle what a known method rejects. */
  readonly methods: (known: Methods) => Methods
}

export type Methods = Readonly<Record<string, Method>>

/**
 * One method of the protocol. It refuses with an `RpcError`; the era may add to its result. The signal aborts when the
 * caller no longer waits.
 */
export type Method = (params: Params, caller: Caller, signal: AbortSignal) => object | Promise<object>

/** Returns all methods of both eras. */
export function methodsOf(serving: Serving): Methods {
  let known: Methods = skillMethodsOf(serving)
  for (const { methods } of serving.surfaces ?? []) known = methods(known)
  return known
}

/** Returns the methods of skills and resources. Each response uses a single catalog. */
function skillMethodsOf({ registry, read, pages, forms }: Serving) {
  return {
    'skills/list': (params) => listSkills(registry.catalog, params, pages),
    [OMITTED_LIST]: (params) => listOmitted(registry.catalog, params, pages),
    'skills/get': (params) => getSkill(registry.catalog, params),
    'resources/directory/read': (params) => readDirectory(registry.catalog, params, pages),
    'resources/list': (params) => listResources(registry.catalog, forms, params['cursor'], pages),
    'resources/templates/list': (params) => listTemplates(registry.catalog, forms, params['cursor']),
    'resources/read': (params, caller) =>
      readResource(registry.catalog, requiredUri(params), caller, { forms, read: readingFor(caller, read) }),
    'resources/subscribe': (params, caller) => subscribeResource(registry.catalog, forms, requiredUri(params), caller),
    'resources/unsubscribe': (params, caller) => unsubscribe(requiredUri(params), caller),
  } as const satisfies Readonly<Record<string, Method>>
}

/** The name of one of our methods on the wire. */
export type MethodName = keyof ReturnType<typeof skillMethodsOf>
