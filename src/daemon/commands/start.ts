import { once } from 'node:events'
import { serveHttp, serveOperations } from '../../serve/http/app.ts'
import type { Listener, ListenerOptions } from '../../serve/http/listener.ts'
import { WebhookEndpoint } from '../../serve/http/webhook.ts'
import { systemClock } from '../clock.ts'
import type { Config, ListenAddress } from '../config.ts'
import { ControlError } from '../control-client.ts'
import type { Log } from '../log.ts'
import { isLoopback } from '../config/loopback.ts'
import { becomeWriter } from '../writer.ts'
import { MODE_DETAILS, MODE_OPTIONS, UsageError, configOf, logOf } from './command.ts'
import type { Command, Context } from './command.ts'

/** How often an idle stream carries a comment. */
const KEEP_ALIVE_MS = 15_000

export const start: Command = {
  name: 'start',
  summary: 'Run the daemon: pull on schedule, serve over HTTP',
  details: `
      --port N         the port to listen on; 0 picks a free one
      --host NAME      the loopback address to listen on${MODE_DETAILS}`,
  options: { port: { type: 'string' }, host: { type: 'string' }, ...MODE_OPTIONS },
  async run(context) {
    const { environment, redactor, signal, streams } = context
    const config = await configOf(context)
    const listen = listenOn(context, config)
    const log = logOf(context)
    await using writer = await becomeWriter({ config, environment, log, redactor, command: 'start' }, signal)
    const { daemon } = writer
    const { oauth } = daemon
    const limits = httpLimits(config)
    const edge = { limits, onError: (error: unknown) => logFailed(log, error) }
    const webhooks = new WebhookEndpoint(daemon.webhooks, limits.bodyBytes, () => systemClock.now())
    await using operations = await operationsOf(config, webhooks, edge)
    await using http = await serveHttp(daemon.serving, {
      ...listen,
      ...edge,
      web: config.serve.web,
      ...(oauth !== undefined && { oauth }),
      now: () => systemClock.monotonicMs(),
      ...(operations === undefined && { webhooks }),
    }).catch((error: unknown) => {
      throw listenError(listen, error, 'try --port 0')
    })
    daemon.isServedBy(() => ({
      url: http.url,
      ...http.counts(),
      ...(operations !== undefined && { operations: { url: operations.url } }),
    }))
    streams.stdout.write(`${http.url}/mcp\n`)
    logStart(log, config, daemon.registry.catalog.listed.length, operations?.url)
    daemon.poll()
    if (!signal.aborted) await once(signal, 'abort')
    log.info('stopping')
    return 0
  },
}

function listenOn({ values }: Context, config: Config): ListenAddress {
  const { host: configuredHost, port: configuredPort } = config.serve.http
  const host = typeof values['host'] === 'string' ? values['host'] : configuredHost
  const port = typeof values['port'] === 'string' ? portOf(values['port']) : configuredPort
  if (port === undefined || port > 65_535) throw new UsageError('--port is a number from 0 to 65535')
  if (!isLoopback(host)) {
    throw new UsageError(
      `Cannot listen on "${host}": HTTP off loopback needs a token, which is not in this version yet`,
    )
  }
  return { host, port }
}

/** Undefined for what is no decimal number: `Number` takes the empty text for 0, and so for any free port. */
function portOf(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) ? Number(text) : undefined
}

function httpLimits(config: Config): Parameters<typeof serveHttp>[1]['limits'] {
  const { sessions, sessionIdleMs, ...limits } = config.limits.http
  return { ...limits, keepAliveMs: KEEP_ALIVE_MS, sessions: { sessions, idleMs: sessionIdleMs } }
}

async function operationsOf(
  { serve: { operations } }: Config,
  webhooks: WebhookEndpoint,
  edge: Pick<ListenerOptions, 'limits' | 'onError'>,
): Promise<Listener | undefined> {
  if (operations === undefined) return undefined
  return serveOperations(webhooks, { ...operations, ...edge }).catch((error: unknown) => {
    throw listenError(operations, error, 'set another port in serve.operations')
  })
}

function listenError({ host, port }: ListenAddress, error: unknown, mend: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const why = error.code === 'EADDRINUSE' ? `another program listens there; ${mend}` : error.message
  return new ControlError('cannot-listen', `Cannot listen on ${host}:${port}: ${why}`, { cause: error })
}

function logFailed(log: Log, error: unknown): void {
  log.error('request-failed', { error: error instanceof Error ? error : String(error) })
}

function logStart(log: Log, config: Config, skills: number, operations: string | undefined): void {
  log.info('started', { state: config.state, sources: config.sources.length, skills, operations })
}
