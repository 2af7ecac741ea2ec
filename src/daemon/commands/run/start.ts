import { once } from 'node:events'
import { inspect } from 'node:util'
import { systemClock } from '../../../base/async/clock.ts'
import { isLoopback } from '../../../base/host-name.ts'
import type { Log } from '../../../base/log.ts'
import { MODE_OPTIONS, configFor, logOf } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import type { Config, ListenAddress } from '../../config/config.ts'
import type { Environment } from '../../config/environment.ts'
import type { WholeConfig } from '../../configuration.ts'
import { configurationRequest, placeRequest, reloadRequest, stopRequest } from '../../control/process-requests.ts'
import { handlersOf } from '../../control/request.ts'
import type { Daemon } from '../../daemon.ts'
import { whileServing } from '../../http-server.ts'
import { Reload } from '../../reload.ts'
import type { Reloaded } from '../../reload.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { metricsPlaceOf } from '../../status/metrics/metrics-place.ts'
import { becomeWriter } from '../../writer.ts'
import { takeSockets } from '../service/handed-sockets.ts'
import type { HandedSocket, HandedSockets } from '../service/handed-sockets.ts'
import { notifySocketAt } from '../service/notify-socket.ts'
import { ServiceNotifier } from '../service/service-notifier.ts'

export const start: Command = {
  name: 'start',
  details: `
  It runs until skillsyncd stop, or Ctrl+C. skillsyncd service install runs it in the background.
`,
  serves: 'http',
  examples: ['skillsyncd start', 'skillsyncd start --port 9000 --source https://git.example.com/team/skills.git'],
  options: {
    port: { type: 'string', value: 'N', help: 'the port to listen on; 0 means any free port' },
    host: {
      type: 'string',
      value: 'NAME',
      help: 'the address to listen on; clients need a token unless it is a loopback address',
    },
    ...MODE_OPTIONS,
  },
  async run(context: Context<WholeConfig>) {
    const { environment, redactor, signal, streams } = context
    const config = await configFor(context, true)
    const sockets = takeSockets(environment.manager.sockets)
    const listen = listenOn(context, config, sockets)
    const place = metricsPlaceOf(config, listen, sockets.operations ?? config.serve.operations)
    const log = logOf(context)
    await using manager = notifierOf(environment, log)
    const reloading = Promise.withResolvers<Reload>()
    // Requests during startup wait for its end.
    const reloaded = async (work: (reload: Reload) => Promise<Reloaded>): Promise<Reloaded> => {
      const reload = await reloading.promise
      return manager.reloading(async () => work(reload))
    }
    let served: Daemon | undefined
    const handlers = handlersOf(
      {
        config,
        inUse: () => served?.config ?? config,
        reload: async (digest: string) => reloaded(async (reload) => reload.again(digest)),
        stop: context.stop,
        isManaged: environment.manager.notify !== undefined,
      },
      reloadRequest,
      stopRequest,
      placeRequest,
      configurationRequest,
    )
    context.onHangUp(() => {
      reloaded(async (reload) => reload.again()).catch((error: unknown) => logNotReloaded(log, error))
    })
    await using writer = await becomeWriter(
      { config, environment, log, redactor, command: 'start', handlers, servesReadOnly: true },
      signal,
    )
    await whileServing(writer, { listen, sockets, place, log }, async ({ url, operationsUrl, serve }) => {
      streams.stdout.write(`${url}/mcp\n`)
      if (streams.stderr.isTTY === true && !context.quiet && isPageShown(config))
        streams.stderr.write(`page: ${url}/\nCtrl+C or skillsyncd stop ends the daemon\n`)
      logStart(log, writer.daemon, operationsUrl)
      const serveWith = (daemon: Daemon): void => {
        served = daemon
        serve(daemon)
      }
      writer.serveWith(serveWith)
      writer.poll()
      const { file } = config
      const read = file === undefined ? undefined : async () => configFor(withFile(context, file), true)
      const listenBy = (by: Config): ListenAddress => listenOn(context, by, sockets)
      reloading.resolve(
        new Reload({ writer, read, listenBy, isApart: operationsUrl !== undefined, serve: serveWith, log }),
      )
      manager.ready(() => writer.daemon.parts.status.line)
      const ended = AbortSignal.any([signal, writer.lost])
      if (!ended.aborted) await once(ended, 'abort')
      log.info('stopping')
      manager.stopping()
      writer.ending()
      if (!signal.aborted) writer.lost.throwIfAborted()
    })
    return 0
  },
}

function isPageShown({ serve: { web } }: Config): boolean {
  return web.page !== undefined
}

/** A reload reads the file that the search found. */
function withFile(context: Context<WholeConfig>, config: string): Context<WholeConfig> {
  return { ...context, values: { ...context.values, config } }
}

/** The address of the inherited socket, else that of the options or the configuration. */
function listenOn(context: Context, config: Config, { http, operations }: HandedSockets): ListenAddress {
  const listen = http === undefined ? addressOf(context, config) : handedAddress(context, http)
  const isApart = operations !== undefined || config.serve.operations !== undefined
  if (!isLoopback(listen.host) && !isApart && config.sources.some(({ webhook }) => webhook)) {
    throw new UsageError(
      `Cannot listen on "${listen.host}": off loopback, webhooks are taken at an address of their own; set serve.operations`,
    )
  }
  return listen
}

function addressOf({ values }: Context, config: Config): ListenAddress {
  const { host: configuredHost, port: configuredPort } = config.serve.http
  const host = typeof values['host'] === 'string' ? values['host'] : configuredHost
  const port = typeof values['port'] === 'string' ? portOf(values['port']) : configuredPort
  if (port === undefined || port > 65_535) throw new UsageError('--port is a number from 0 to 65535')
  return { host, port }
}

/**
 * The address in the socket unit overrides the configuration. An option on the command line may contradict it, and is
 * an error.
 */
function handedAddress({ values }: Context, { host, port }: HandedSocket): ListenAddress {
  const given = ['host', 'port'].find((name) => values[name] !== undefined)
  if (given !== undefined)
    throw new UsageError(`The service manager handed over a socket: set its ListenStream, and not --${given}`)
  return { host, port }
}

/** The notifier of the service manager; without one it sends nothing. */
function notifierOf({ manager, path }: Environment, log: Log): ServiceNotifier {
  const socket = manager.notify === undefined ? undefined : notifySocketAt(manager.notify, { path })
  return new ServiceNotifier({ socket, manager, clock: systemClock, log })
}

/** `undefined` if the text is not a decimal number: `Number` reads an empty text as 0, which means any free port. */
function portOf(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) ? Number(text) : undefined
}

/** A signal has no sender to answer, so failures are logged. */
function logNotReloaded(log: Log, error: unknown): void {
  log.error('not-reloaded', { error: error instanceof OperatorError ? error.message : inspect(error) })
}

function logStart(log: Log, { config, registry }: Daemon, operations: string | undefined): void {
  const skills = registry.catalog.listed.length
  log.info('started', { state: config.state, sources: config.sources.length, skills, operations })
}
