import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { Principal, Scope } from '../../principal.ts'
import { formsFor } from '../resources/forms.ts'
import type { Caller, Era } from '../rpc/caller.ts'
import type { Serving } from './methods.ts'
import { multiplexerFor } from './multiplexer.ts'
import type { Multiplexer, Response } from './multiplexer.ts'
import { buildServer } from './sdk-server.ts'

/** Serves the requests of one era. */
export type Core = Pick<Multiplexer, 'serve'>

/**
 * Holds one core for each set of surfaces and forms that callers can have. If a caller's token does not open a surface,
 * the surface is neither declared to it nor usable. One server of the SDK cannot do that, because it declares the same
 * to all. A core is created for the first caller of a set of scopes.
 */
export class ScopedServer implements Core {
  readonly #serving: Serving
  readonly #era: Era
  readonly #scopes: readonly Scope[]
  readonly #cores = new Map<string, Promise<Multiplexer>>()

  constructor(serving: Serving, era: Era) {
    this.#serving = serving
    this.#era = era
    const scopes = (serving.surfaces ?? []).flatMap(({ scope }) => scope ?? [])
    this.#scopes = [...new Set<Scope>([...scopes, ...serving.forms.families.map(({ scope }) => scope)])]
  }

  async serve(request: JSONRPCRequest, caller: Caller, signal: AbortSignal): Promise<Response> {
    const core = await this.#coreFor(caller.principal)
    return core.serve(request, caller, signal)
  }

  async #coreFor(principal: Principal | undefined): Promise<Multiplexer> {
    const key = principal && this.#scopes.filter((scope) => principal.scopes.has(scope)).join(' ')
    const known = this.#cores.get(key ?? EVERYBODY)
    if (known !== undefined) return known
    const core = coreOf(principal === undefined ? this.#serving : servingOpenTo(principal, this.#serving), this.#era)
    this.#cores.set(key ?? EVERYBODY, core)
    return core
  }
}

/** No scope has this name. */
const EVERYBODY = '*'

/** A result that depends on the caller must not be cached for others. */
function servingOpenTo(principal: Principal, serving: Serving): Serving {
  const { scopes } = principal
  const surfaces = (serving.surfaces ?? []).filter(({ scope }) => scope === undefined || scopes.has(scope))
  const forms = formsFor(principal, serving.forms)
  return { ...serving, forms, surfaces, cache: { ...serving.cache, cacheScope: 'private' } }
}

async function coreOf(serving: Serving, era: Era): Promise<Multiplexer> {
  const multiplexer = multiplexerFor(era)
  const server = buildServer(serving, era, (context) => multiplexer.callerOf(context.mcpReq.id))
  await server.connect(multiplexer.transport)
  return multiplexer
}
