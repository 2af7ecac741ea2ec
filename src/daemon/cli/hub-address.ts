import { isObject } from '../../base/json-object.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Config } from '../config/config.ts'
import { askRunning } from '../control/running-daemon.ts'
import { statusRequest } from '../control/status-request.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { UsageError } from '../runtime/usage-error.ts'

/** Returns the URL by which clients reach the daemon of a configuration. */
export async function hubAddressOf(config: Config, signal: AbortSignal): Promise<string> {
  return config.serve.http.publicUrl ?? listeningAt(config, signal)
}

/** The address that the daemon reports, else the configured one. */
async function listeningAt(config: Config, signal: AbortSignal): Promise<string> {
  const { host, port } = config.serve.http
  const http = await httpStatusOf(config, signal)
  if (typeof http?.['url'] === 'string') return http['url']
  if (port === 0) throw new UsageError('No daemon runs that reports its port; name the address')
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function httpStatusOf(config: Config, signal: AbortSignal) {
  try {
    const answer = await askRunning(config, statusRequest, {}, { signal })
    const http = isObject(answer?.answer) ? answer.answer['http'] : undefined
    return isObject(http) ? http : undefined
  } catch (error) {
    // One with another configuration listens where that says.
    if (error instanceof OperatorError || error instanceof SyncError) return undefined
    throw error
  }
}
