import { once } from 'node:events'
import { serveHttp, serveOperations } from '../../serve/http/app.ts'
import type { Listener, ListenerOptions } from '../../serve/http/listener.ts'
import { WebhookEndpoint } from '../../serve/http/webhook.ts'
import { auditLogOf, withAudit } from '../audit-log.ts'
import { systemClock } from '../clock.ts'
import type { Config, ListenAddress } from '../config.ts'
import { ControlError } from '../control-client.ts'
import type { Log } from '../log.ts'
import { httpOptionsOf, isTokenRequired, reachedFromElsewhereBy } from '../http-edge.ts'
import { isLoopback } from '../config/loopback.ts'
import { becomeWriter } from '../writer.ts'
import { UsageError } from '../usage-error.ts'
import { MODE_DETAILS, MODE_OPTIONS, configOf, logOf } from './command.ts'
import type { Command, Context } from './command.ts'

export const start: Command = {
  name: 'start',
  summary: 'Run the daemon: pull on schedule, serve over HTTP',
  details: `
      --port N         the port to listen on; 0 picks a free one
      --host NAME      the address to listen on; off loopback, clients need a token${MODE_DETAILS}`,
  options: { port: { type: 'string' }, host: { type: 'string' }, ...MODE_OPTIONS },
  async run(context) {
    const { environment, redactor, signal, streams } = context
    const config = await configOf(context)
    const listen = listenOn(context, config)
    const log = logOf(context)
    await using writer = await becomeWriter({ config, environment, log, redactor, command: 'start' }, signal)
    const { daemon } = writer
    const { tokens, oauth } = daemon
    const required = isTokenRequired(config, listen)
    // A file that cannot be read keeps nobody from starting: it is mended while what is on loopback goes on.
    const isAnybodyKnown = oauth !== undefined || tokens.all === undefined || tokens.isAnyInForce
    if (required && !isAnybodyKnown) throw new UsageError(noToken(config, listen))
    const onError = (error: unknown): void => logFailed(log, error)
    const webhooks = new WebhookEndpoint(daemon.webhooks, config.limits.http.bodyBytes, () => systemClock.now())
    const options = httpOptionsOf(config, { listen, tokens, oauth, clock: systemClock, onError })
    await using operations = await operationsOf(config, webhooks, options)
    await using sessionLog = daemon.openSessions()
    await using audit = auditLogOf(config, 'http', log, systemClock)
    await using http = await serveHttp(withAudit(daemon.serving, audit), {
      ...options,
      sessionLog,
      ...(operations === undefined && { webhooks }),
    }).catch((error: unknown) => {
      throw listenError(listen, error, 'try --port 0')
    })
    tokens.listen(() => http.endWhatIsOver())
    daemon.isServedBy(() => ({
      url: http.url,
      ...http.counts(),
      tokens: { required, ...(tokens.all && { count: tokens.all.length }) },
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
  if (!isLoopback(host) && config.serve.operations === undefined && config.sources.some(({ webhook }) => webhook)) {
    throw new UsageError(
      `Cannot listen on "${host}": off loopback, webhooks are taken at an address of their own; set serve.operations`,
    )
  }
  return { host, port }
}

function noToken(config: Config, listen: ListenAddress): string {
  const why = `${reachedFromElsewhereBy(config, listen)} says that other machines reach it`
  return `Cannot listen on "${listen.host}": clients need a token, since ${why}, and there is none that counts; make one with skillsyncd token add NAME`
}

/** Undefined for what is no decimal number: `Number` takes the empty text for 0, and so for any free port. */
function portOf(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) ? Number(text) : undefined
}

async function operationsOf(
  { serve: { operations } }: Config,
  webhooks: WebhookEndpoint,
  { limits, trustedProxies, onError }: ListenerOptions,
): Promise<Listener | undefined> {
  if (operations === undefined) return undefined
  return serveOperations(webhooks, { ...operations, limits, onError, ...(trustedProxies && { trustedProxies }) }).catch(
    (error: unknown) => {
      throw listenError(operations, error, 'set another port in serve.operations')
    },
  )
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
