import type { ReadFile } from '../content.ts'
import type { Registry } from '../registry.ts'
import type { Caller } from './caller.ts'
import type { PageLimits } from './page.ts'
import { requiredUri } from './params.ts'
import type { Params } from './params.ts'
import { listResources, listTemplates, readResource, subscribe, unsubscribe } from './resources.ts'
import { getSkill, listSkills, readDirectory } from './skills.ts'

/** What the answers are made from. */
export interface Serving {
  readonly registry: Registry
  readonly read: ReadFile
  readonly pages: PageLimits
  /** Text for the client's model about this server; may name skills by URI. */
  readonly instructions?: string
}

/** One method of the protocol. Refusals are `RpcError`s; the answer is what goes out, but for what the era adds. */
export type Method = (params: Params, caller: Caller) => object | Promise<object>

/** Everything that a client can ask, in both eras. Each answer is made from one catalog. */
export function methodsOf({ registry, read, pages }: Serving) {
  return {
    'skills/list': (params) => listSkills(registry.catalog, params, pages),
    'skills/get': (params) => getSkill(registry.catalog, params),
    'resources/directory/read': (params) => readDirectory(registry.catalog, params, pages),
    'resources/list': (params) => listResources(registry.catalog, params['cursor'], pages),
    'resources/templates/list': (params) => listTemplates(registry.catalog, params['cursor']),
    'resources/read': (params, caller) => readResource(registry.catalog, requiredUri(params), caller, read),
    'resources/subscribe': (params, caller) => subscribe(registry.catalog, requiredUri(params), caller),
    'resources/unsubscribe': (params, caller) => unsubscribe(requiredUri(params), caller),
  } as const satisfies Readonly<Record<string, Method>>
}

/** The name of a method, as it is on the wire. */
export type MethodName = keyof ReturnType<typeof methodsOf>
