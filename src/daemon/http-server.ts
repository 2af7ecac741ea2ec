import { systemClock } from '../base/async/clock.ts'
import { isLoopback } from '../base/host-name.ts'
import type { Log } from '../base/log.ts'
import { traceIds } from '../base/trace-context.ts'
import type { TraceContext } from '../base/trace-context.ts'
import { usageFamilies } from '../features/usage/usage-families.ts'
import type { UsageRecorder } from '../features/usage/usage-recorder.ts'
import { usageRecorderOf, withUsage } from '../features/usage/usage-recorder.ts'
import type { Unready } from '../serve/http/health.ts'
import { serveOperations } from '../serve/http/operations-server.ts'
import type { OperationsOptions } from '../serve/http/operations-server.ts'
import type { HttpListener } from '../serve/http/server/listener.ts'
import { WebhookEndpoint } from '../serve/http/webhook-endpoint.ts'
import type { Serving } from '../serve/mcp/core/methods.ts'
import { SessionJournal } from '../serve/mcp/transports/session-journal.ts'
import { serveHttp } from '../serve/site/server.ts'
import type { HttpOptions, HttpServer } from '../serve/site/server.ts'
import type { LifecycleRules } from '../sync/catalog/operator-lifecycle.ts'
import { httpOptionsOf, isTokenRequired, listenError, reachedFromElsewhereBy } from './access/http-options.ts'
import { expiringIn } from './access/tokens.ts'
import type { FeatureServer } from './cli/feature.ts'
import type { HandedSocket, HandedSockets } from './commands/service/handed-sockets.ts'
import type { ListenAddress } from './config/config.ts'
import type { WholeConfig } from './configuration.ts'
import type { Daemon, DaemonParts } from './daemon.ts'
import { loadSurfaces } from './features.ts'
import type { LoadedSurfaces } from './features.ts'
import { lifecyclesIn } from './pull/trust/serving-policy.ts'
import { UsageError } from './runtime/usage-error.ts'
import { auditLogOf, withAudit } from './status/audit/audit-log.ts'
import { daemonFiguresOf } from './status/metrics/daemon-figures.ts'
import type { Family } from './status/metrics/family.ts'
import type { MetricsPlace } from './status/metrics/metrics-place.ts'
import { Metrics } from './status/metrics/metrics.ts'
import type { DaemonFigures } from './status/metrics/metrics.ts'
import { servingOf } from './status/page/mcp-serving.ts'
import type { Writer } from './writer.ts'

/** The HTTP side of a daemon, while it listens. */
export interface HttpSide {
  /** Includes the port that was picked. */
  readonly url: string
  /** The separate address for the operator's programs and git hosts, if configured. */
  readonly operationsUrl: string | undefined
  /** Serves the existing clients from this daemon from now on. */
  readonly serve: (daemon: Daemon) => void
}

export interface FrontParts {
  readonly listen: ListenAddress
  readonly sockets: HandedSockets
  readonly place: MetricsPlace
  readonly log: Log
}

/** Serves clients over HTTP until the work settles. */
export async function whileServing(
  writer: Pick<Writer, 'daemon'>,
  parts: FrontParts,
  work: (front: HttpSide) => Promise<void>,
): Promise<void> {
  const { listen, sockets, place, log } = parts
  const { config, tokens, shared, sessions, registry } = writer.daemon.parts
  expectSomebodyKnown(writer.daemon.parts, listen)
  const surfaces = await loadSurfaces()
  const onError: HttpOptions['onError'] = (error, trace) => logFailed(log, error, trace)
  const now = (): number => systemClock.monotonicMs()
  await using features = surfaces.open({ registry, now, onError })
  await using usage = usageRecorderOf(config, log, systemClock, shared)
  const totals = config.serve.web.open.has('metrics') ? undefined : usage?.totals
  const uses = totals && ((): readonly Family[] => usageFamilies(totals))
  const figures = async (): Promise<DaemonFigures> => daemonFiguresOf(writer.daemon.parts)
  const ofFeatures = (): readonly Family[] => surfaces.families(writer.daemon.parts)
  const metrics = place === undefined ? undefined : new Metrics(figures, ofFeatures, uses)
  const webhooks = new WebhookEndpoint(writer.daemon.parts.webhooks, config.limits.http.bodyBytes, () =>
    systemClock.now(),
  )
  const unready = (): readonly Unready[] => writer.daemon.parts.status.unready
  const isReadOnly = (): boolean => writer.daemon.parts.readOnly?.() !== undefined
  const isApart = (): boolean => writer.daemon.parts.replica?.status.away !== undefined
  const edgeOf = (daemon: Daemon): HttpOptions => edgeOptions(daemon, { listen, usage, surfaces, features, onError })
  await using operations = await operationsOf(sockets.operations ?? config.serve.operations, config, {
    ...edgeOf(writer.daemon),
    webhooks,
    unready,
    isReadOnly,
    isApart,
    metrics,
  })
  const lifecycles = (): LifecycleRules => lifecyclesIn(writer.daemon.parts.config)
  sessions?.followLifecycles(lifecycles)
  // In the shared store, or else in the state folder.
  await using sessionLog = sessions ?? new SessionJournal({ ...writer.daemon.parts, lifecycles })
  await using audit = auditLogOf(config, 'http', log, systemClock)
  const servingBy = ({ parts }: Daemon): Serving =>
    withUsage(withAudit({ ...servingOf(parts.serving), ...(metrics && { meter: metrics.counts }) }, audit), usage)
  const optionsOf = (daemon: Daemon): HttpOptions => ({
    ...edgeOf(daemon),
    sessionLog,
    unready,
    isReadOnly,
    isApart,
    ...(operations === undefined && { webhooks }),
    ...(place === 'beside' && metrics !== undefined && { metrics: metrics.text }),
  })
  const opening = { ...optionsOf(writer.daemon), handed: sockets.http?.handed }
  await using http = await serveHttp(servingBy(writer.daemon), opening).catch(async (error: unknown) => {
    throw await listenError(listen, error, 'serve.http.port')
  })
  tokens.listen(() => http.endWhatIsOver())
  metrics?.isServedBy(() => http.figures())
  tellStatus(writer.daemon, { listen, http, operations })
  await work({
    url: http.url,
    operationsUrl: operations?.url,
    serve(daemon) {
      webhooks.serve(daemon.parts.webhooks)
      http.serve(servingBy(daemon), optionsOf(daemon))
      tellStatus(daemon, { listen, http, operations })
    },
  })
}

/** An unreadable token file does not prevent the start: it can be repaired while loopback clients are served. */
function expectSomebodyKnown({ config, tokens, oauth }: DaemonParts, listen: ListenAddress): void {
  const isAnybodyKnown = oauth !== undefined || tokens.all === undefined || tokens.isAnyInForce
  if (isAnybodyKnown || !isTokenRequired(config, listen)) return
  const why = `${reachedFromElsewhereBy(config, listen)} makes it reachable for other machines`
  throw new UsageError(
    `Cannot listen on "${listen.host}": clients need a token, since ${why}, and there is no valid one; make one with skillsyncd hub token add NAME`,
  )
}

interface EdgeParts extends Pick<FrontParts, 'listen'>, Pick<HttpOptions, 'onError'> {
  readonly usage: UsageRecorder | undefined
  readonly surfaces: LoadedSurfaces
  readonly features: FeatureServer<DaemonParts>
}

function edgeOptions({ parts }: Daemon, { listen, usage, surfaces, features, onError }: EdgeParts): HttpOptions {
  const { config, tokens, oauth, page, pageSessions } = parts
  const { pages, sections } = surfaces
  const uses = usage && (async () => usage.recent.all())
  const host = { ...page.host, uses, pages, sections: sections(parts) }
  const shared = { clock: systemClock, host, onError, pageSessions, features: features.routesOf(parts) }
  return httpOptionsOf(config, { listen, tokens, oauth, ...shared })
}

interface Listening {
  readonly listen: ListenAddress
  readonly http: HttpServer
  readonly operations: HttpListener | undefined
}

/** Adds the HTTP side to the status. */
function tellStatus(daemon: Daemon, { listen, http, operations }: Listening): void {
  const { config, tokens, status } = daemon.parts
  const required = isTokenRequired(config, listen)
  status.isServedBy(() => ({
    url: http.url,
    ...http.counts(),
    unready: status.unready,
    tokens: {
      required,
      ...(tokens.all && { count: tokens.all.length, expiring: expiringIn(tokens.all, systemClock.now()) }),
    },
    ...(operations !== undefined && { operations: { url: operations.url } }),
  }))
}

interface Operations extends Omit<OperationsOptions, 'metrics' | 'meter'> {
  readonly metrics: Metrics | undefined
}

/**
 * If it is reachable from other machines, its metrics need a token as well. Webhooks authenticate themselves and never
 * need one.
 */
async function operationsOf(
  operations: ListenAddress | HandedSocket | undefined,
  { serve: { web } }: WholeConfig,
  { metrics, access, ...options }: Operations,
): Promise<HttpListener | undefined> {
  if (operations === undefined) return undefined
  return serveOperations({
    ...options,
    ...operations,
    access: { ...access, open: web.open, isTokenRequired: access.isTokenRequired || !isLoopback(operations.host) },
    metrics: metrics?.text,
    meter: metrics?.counts,
  }).catch(async (error: unknown) => {
    throw await listenError(operations, error, 'serve.operations')
  })
}

function logFailed(log: Log, error: unknown, trace: TraceContext | undefined): void {
  log.error('request-failed', { error: error instanceof Error ? error : String(error), ...traceIds(trace) })
}
