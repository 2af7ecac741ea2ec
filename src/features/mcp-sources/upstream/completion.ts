import { isMapping } from '../../../base/json-value.ts'
import type { McpConnection } from '../client/mcp-connection.ts'
import { orSilence } from '../client/rpc-errors.ts'

/** A template variable that needs a value. */
export interface Completing {
  readonly template: string
  readonly variable: string
  /** The values of other variables so far. */
  readonly values: Readonly<Record<string, string>>
}

/** The server's suggestions for a variable. */
export interface Completed {
  readonly values: readonly string[]
  /** True if there may be more values. */
  readonly hasMore: boolean
}

/** Requests the values of a variable. A server that refuses or times out has none. */
export async function completeVariable(
  { template, variable, values }: Completing,
  { connection, timeoutMs, signal }: Asking,
): Promise<Completed> {
  const params = {
    ref: { type: 'ref/resource', uri: template },
    argument: { name: variable, value: '' },
    ...(Object.keys(values).length > 0 && { context: { arguments: values } }),
  }
  const reply = await orSilence(connection.request('completion/complete', params, signal, timeoutMs))
  if (reply instanceof Error || !reply.ok) return { values: [], hasMore: false }
  const { completion } = reply.result
  const found: unknown = isMapping(completion) ? completion['values'] : undefined
  const all = (Array.isArray(found) ? found : []).slice(0, MOST_VALUES)
  const usable = all.filter((value) => typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH)
  return { values: [...new Set(usable)], hasMore: isMapping(completion) && completion['hasMore'] === true }
}

interface Asking {
  readonly connection: McpConnection
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The protocol's maximum per answer. */
const MOST_VALUES = 100
const MAX_LENGTH = 512
