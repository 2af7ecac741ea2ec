import type { Subscriptions } from '../../../src/serve/mcp/events/subscriptions.ts'
import type { Forms } from '../../../src/serve/mcp/resources/forms.ts'
import { NO_SESSION_LOG } from '../../../src/serve/mcp/transports/session-store.ts'
import type { SessionLimits, SessionLog } from '../../../src/serve/mcp/transports/session-store.ts'
import { Sessions } from '../../../src/serve/mcp/transports/sessions.ts'
import { ViewHubs } from '../../../src/serve/mcp/transports/view-hubs.ts'
import { Registry } from '../../../src/serve/registry.ts'
import { WHOLE } from '../../../src/serve/view.ts'
import { EMPTY_CATALOG } from '../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../support/clients/forms.ts'

/** Sessions beside a registry, wired as the server wires them. */
export interface Opened {
  readonly hub: Subscriptions
  readonly registry: Registry
  readonly sessions: Sessions
}

export interface OpenedOptions {
  readonly limits?: Partial<SessionLimits>
  readonly now?: () => number
  readonly log?: SessionLog
  /** What is served when they are restored. */
  readonly catalog?: Catalog
  readonly forms?: Forms
}

export async function openSessions(options: OpenedOptions = {}): Promise<Opened> {
  const { limits, now = () => 0, log = NO_SESSION_LOG, catalog = EMPTY_CATALOG, forms = formsOf() } = options
  const registry = new Registry()
  registry.publish(catalog)
  const rooms = new ViewHubs({ registry, forms }, (mark) => log.catalogOf(mark))
  const sessions = new Sessions({ rooms, limits: { sessions: 10, idleMs: 1_000, ...limits }, now, log })
  rooms.spent.freeBy((holder, asking) => sessions.freeSubscriptionsOf(holder, asking))
  registry.watch((earlier, catalog) => {
    const { before, now: told } = rooms.marksBetween(earlier, catalog)
    sessions.told(before, told)
  })
  await sessions.restore()
  return { hub: rooms.of(WHOLE).hub, registry, sessions }
}
