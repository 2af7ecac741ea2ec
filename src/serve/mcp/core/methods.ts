import type { ServerCapabilities } from '@modelcontextprotocol/server'
import { OMITTED_LIST } from '../../../sync/skill-md/entry-faults.ts'
import type { Audit } from '../../audit.ts'
import type { ReadFile, Stored } from '../../content.ts'
import type { Meter } from '../../meter.ts'
import type { Scope } from '../../principal.ts'
import type { Registry } from '../../registry.ts'
import type { Holder } from '../../fair-shares.ts'
import { NONE, WHOLE } from '../../views.ts'
import type { ViewName, Views } from '../../views.ts'
import type { CacheHint, Caller } from '../rpc/caller.ts'
import type { Forms } from '../resources/compatibility.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import { requiredUri } from '../rpc/params.ts'
import type { Params } from '../rpc/params.ts'
import { listResources, listTemplates, readResource, subscribe, unsubscribe } from '../resources/resources.ts'
import { getSkill, listOmitted, listSkills, readDirectory } from '../resources/skills.ts'
import { readingFor } from '../rpc/trace.ts'

/** What the answers are made from. */
export interface Serving {
  readonly registry: Registry
  readonly read: ReadFile
  /** True of what nothing is given out of although the catalog has it still: what was read of it before does not count. */
  readonly isRefused?: (stored: Stored) => boolean
  readonly pages: PageLimits
  /** How long, and by whom, an answer may be kept (2026-07-28). */
  readonly cache: CacheHint
  /** In which forms skills are offered beside the newest. */
  readonly forms: Forms
  /** What can be asked besides skills and resources. */
  readonly surfaces?: readonly Surface[]
  /** Is told of whatever is read, listed and called. */
  readonly audit?: Audit
  /** Counts all that is asked over HTTP. */
  readonly meter?: Meter
  /** Text for the client's model about this server; may name skills by URI. */
  readonly instructions?: string
  /** The same for those who see packs alone. Undefined where there are none. */
  readonly packs?: PackServing
}

/** What those are answered from who see a part of the catalog. */
export interface PackServing {
  readonly views: Views
  of(view: ViewName): Serving
}

/** What those of a view are answered from. */
export function servingFor<Whole extends Pick<Serving, 'packs'>>(serving: Whole, view: ViewName): Whole | Serving {
  if (view === WHOLE) return serving
  if (serving.packs === undefined)
    throw new TypeError(`There are no packs, and a view of ${JSON.stringify(view)} was asked for`)
  return serving.packs.of(view)
}

/**
 * The view of a caller who may see these packs alone; of everybody else, everything. Undefined where as many views are answered
 * from as may be, and the holder has its share of them.
 */
export function viewOf(
  { packs }: Pick<Serving, 'packs'>,
  named: ReadonlySet<string> | undefined,
  holder: Holder,
): ViewName | undefined {
  if (named === undefined) return WHOLE
  const view = packs?.views.nameOf(named) ?? NONE
  return packs?.views.admit(view, holder) === false ? undefined : view
}

/** A group of methods that is offered as a whole, with what the server declares for it. */
export interface Surface {
  /** What a token has to open for it. For a caller whose token does not, there is no such surface. */
  readonly scope?: Scope
  readonly capabilities: ServerCapabilities
  /** All methods, given those that there are without it: it may answer for what one of them does not know. */
  readonly methods: (known: Methods) => Methods
}

export type Methods = Readonly<Record<string, Method>>

/**
 * One method of the protocol. Refusals are `RpcError`s; the answer is what goes out, but for what the era adds. The signal is
 * aborted when the caller waits no more.
 */
export type Method = (params: Params, caller: Caller, signal: AbortSignal) => object | Promise<object>

/** Everything that a client can ask, in both eras. */
export function methodsOf(serving: Serving): Methods {
  let known: Methods = skillMethodsOf(serving)
  for (const { methods } of serving.surfaces ?? []) known = methods(known)
  return known
}

/** What can be asked of skills, and of resources. Each answer is made from one catalog. */
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
    'resources/subscribe': (params, caller) => subscribe(registry.catalog, forms, requiredUri(params), caller),
    'resources/unsubscribe': (params, caller) => unsubscribe(requiredUri(params), caller),
  } as const satisfies Readonly<Record<string, Method>>
}

/** The name of a method of ours, as it is on the wire. */
export type MethodName = keyof ReturnType<typeof skillMethodsOf>
