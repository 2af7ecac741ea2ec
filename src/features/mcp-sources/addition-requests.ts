import { z } from 'zod'
import type { ControlHandlers } from '../../daemon/control/control-server.ts'
import { parseParams } from '../../daemon/control/request-params.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Additions } from './additions.ts'

/**
 * The requests of a running daemon about skills that no server lists. `sourceOf` checks a request and returns its
 * source.
 */
export function additionHandlers(additions: Additions, sourceOf: (params: unknown) => SourceId): ControlHandlers {
  return {
    async templates(params, _, signal) {
      return additions.spaces(sourceOf(params), signal)
    },
    async complete(params, _, signal) {
      return additions.complete(sourceOf(params), parseParams(COMPLETE, params), signal)
    },
    async resolve(params, _, signal) {
      const { template, values, isUnverified } = parseParams(RESOLVE, params)
      return additions.resolve(sourceOf(params), { template, values, isUnverified }, signal)
    },
    async 'add-uri'(params, _, signal) {
      const { uri, isUnverified } = parseParams(ADD_URI, params)
      return additions.add(sourceOf(params), { uri, isUnverified }, signal)
    },
    async measure(params) {
      await additions.measure(sourceOf(params), parseParams(MEASURE, params).path)
      return {}
    },
    async 'remove-uri'(params) {
      return additions.remove(sourceOf(params), parseParams(REMOVE_URI, params).uri)
    },
  }
}

const VALUES = z.record(z.string(), z.string())
const COMPLETE = z.object({ template: z.string(), variable: z.string(), values: VALUES })
const RESOLVE = z.object({ template: z.string(), values: VALUES, isUnverified: z.boolean() })
const ADD_URI = z.object({ uri: z.string(), isUnverified: z.boolean() })
const MEASURE = z.object({ path: z.string() })
const REMOVE_URI = z.object({ uri: z.string() })
