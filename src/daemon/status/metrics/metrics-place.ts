import { isLoopback } from '../../../base/host-name.ts'
import type { Config, ListenAddress } from '../../config/config.ts'
import { UsageError } from '../../runtime/usage-error.ts'

/** The place of /metrics: beside MCP, at the address for operations, or nowhere. */
export type MetricsPlace = 'beside' | 'operations' | undefined

/**
 * Off loopback, metrics are only for the operator's programs, as webhooks are. Without an address for operations there
 * are none.
 */
export function metricsPlaceOf(
  { serve, file }: Config,
  { host }: ListenAddress,
  operations: ListenAddress | undefined,
): MetricsPlace {
  if (!serve.forms.has('metrics')) return undefined
  if (operations !== undefined) return 'operations'
  if (isLoopback(host)) return 'beside'
  if (!serve.needsMetrics) return undefined
  const mend =
    file === undefined ? 'leave out --form metrics' : 'set serve.operations, or remove metrics from serve.forms'
  throw new UsageError(`Cannot listen on "${host}": off loopback, /metrics is at an address of its own; ${mend}`)
}
