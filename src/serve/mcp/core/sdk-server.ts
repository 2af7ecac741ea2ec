import { Server } from '@modelcontextprotocol/server'
import type { ServerContext, ServerOptions } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { OMITTED, OMITTED_LIST } from '../../../sync/skill/entry-faults.ts'
import { VERSION } from '../../version.ts'
import type { Caller, Era } from '../rpc/caller.ts'
import { methodsOf } from './methods.ts'
import type { MethodName, Serving } from './methods.ts'

/** The extension id of SEP-2640. */
const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

/** The revision of the modern era. The SDK's own list of supported versions has only the legacy ones. */
export const MODERN_REVISION = '2026-07-28'

/** The methods without a cache hint in the SDK: our response includes it (SEP-2640, R7), in the modern era only. */
const HINTED_BY_US: ReadonlySet<string> = new Set<MethodName>([
  'skills/list',
  'skills/get',
  'resources/directory/read',
  OMITTED_LIST,
])

/** The methods with a cache hint in the SDK. */
const HINTED_BY_SDK = [
  'server/discover',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'tools/list',
  'prompts/list',
] as const

/**
 * Creates a server of the SDK for one era, with our table of methods. It accepts any params: the SDK would answer a
 * wrong type with an internal error, but the methods answer it with invalid params.
 */
export function buildServer(serving: Serving, era: Era, callerOf: (context: ServerContext) => Caller): Server {
  const server = new Server({ name: 'skillsyncd', version: VERSION }, optionsOf(serving, era))
  for (const [name, method] of Object.entries(methodsOf(serving))) {
    if (era === 'modern' && LEGACY_ONLY.has(name)) continue
    const hint = era === 'modern' && HINTED_BY_US.has(name) ? serving.cache : {}
    server.setRequestHandler(name, { params: ANY_PARAMS }, async (params, context): Promise<Answer> => {
      const result = await method(params, callerOf(context), context.mcpReq.signal)
      return { ...result, ...hint }
    })
  }
  return server
}

const ANY_PARAMS = z.looseObject({})

const LEGACY_ONLY: ReadonlySet<string> = new Set<MethodName>(['resources/subscribe', 'resources/unsubscribe'])

function optionsOf(serving: Serving, era: Era): ServerOptions {
  return {
    capabilities: {
      resources: { subscribe: true, listChanged: true },
      extensions: { [SKILLS_EXTENSION]: { directoryRead: true }, [OMITTED]: {} },
      ...Object.assign({}, ...(serving.surfaces ?? []).map(({ capabilities }) => capabilities)),
    },
    cacheHints: Object.fromEntries(HINTED_BY_SDK.map((name) => [name, serving.cache])),
    ...(serving.instructions !== undefined && { instructions: serving.instructions }),
    ...(era === 'modern' && { supportedProtocolVersions: [MODERN_REVISION] }),
  }
}

type Answer = Record<string, unknown>
