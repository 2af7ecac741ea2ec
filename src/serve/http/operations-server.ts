import type { IncomingMessage } from 'node:http'
import { NO_ROUTE } from '../meter.ts'
import type { Meter } from '../meter.ts'
import { admission, rateOf } from './admission.ts'
import type { RateOptions } from './admission.ts'
import { healthRoutes } from './health.ts'
import type { Unready } from './health.ts'
import { HostCheck, refusalOfBrowser } from './host-check.ts'
import type { Names } from './host-check.ts'
import { HttpAccess } from './http-access.ts'
import type { AccessRules } from './http-access.ts'
import { metricsRoutes } from './metrics.ts'
import type { MetricsText } from './metrics.ts'
import { openListener } from './server/listener.ts'
import type { HttpListener, ListenerLimits, ListenerOptions, Site } from './server/listener.ts'
import { statusTo } from './server/response.ts'
import { holdersBehind } from './server/share-holder.ts'
import { TrustedProxies } from './server/trusted-proxies.ts'
import { hookRoutes } from './webhook-endpoint.ts'
import type { WebhookEndpoint } from './webhook-endpoint.ts'

/** The options of the second listener. */
export interface OperationsOptions extends ListenerOptions {
  readonly limits: ListenerLimits & RateOptions['limits']
  readonly now: () => number
  /** The host names that clients may use in addition to the host. Webhooks accept any name. */
  readonly names?: Pick<Names, 'hosts'>
  readonly webhooks: WebhookEndpoint
  readonly metrics?: MetricsText | undefined
  readonly unready: () => readonly Unready[]
  readonly isReadOnly?: () => boolean
  /** True if the processes of the hub cannot reach the store that they share. */
  readonly isApart?: () => boolean
  readonly access: AccessRules
  readonly meter?: Meter | undefined
}

/**
 * Opens the second listener, for programs of the operator and of git hosts. It may be outside loopback, and serves no
 * browsers.
 */
export async function serveOperations(options: OperationsOptions): Promise<HttpListener> {
  const { host, names, webhooks, metrics, unready, isReadOnly, isApart, access, meter } = options
  const guard = new HostCheck({ ...names, host })
  const holderOf = holdersBehind(new TrustedProxies(options.trustedProxies ?? []))
  const isHook = ({ url = '/' }: IncomingMessage): boolean => url.startsWith('/hooks/')
  const site: Site = {
    refusalOf: (request) => refusalOfBrowser(request) ?? (isHook(request) ? undefined : guard.refusalOf(request)),
    admit: admission(new HttpAccess(access), rateOf(options), holderOf),
    answered: (_, response, { route }) => meter?.answered(route ?? NO_ROUTE, statusTo(response)),
    routes: {
      ...hookRoutes(webhooks),
      ...healthRoutes({ unready, isReadOnly, isApart, isOpen: !access.isTokenRequired }),
      ...(metrics !== undefined && metricsRoutes(metrics)),
    },
    nothingHere: 'Nothing is served at this path',
  }
  return openListener(() => site, options)
}
