import { FolderFollower } from '../features/agent-folders/folder-follower.ts'
import { ChannelWatches } from '../features/channel/channel-watches.ts'
import type { FollowedParts } from '../features/channel/follow/channel-upstream.ts'
import { HubSources } from '../features/channel/hub-sources.ts'
import { Channels } from '../features/channel/publish/channels.ts'
import { Recalls } from '../features/channel/recall/recalls.ts'
import { LockFollower } from '../features/lock-repository/lock-follower.ts'
import type { MarketplaceHost } from '../features/marketplace/marketplaces.ts'
import { marketplaceScratch } from '../features/marketplace/publish/marketplace-scratch.ts'
import { Publications, whyIncomplete } from '../features/marketplace/publish/publications.ts'
import { McpDecisions } from '../features/mcp-sources/mcp-decisions.ts'
import { McpSources } from '../features/mcp-sources/mcp-sources.ts'
import { RingPromotions } from '../features/rings/ring-promotions.ts'
import { RingRepair } from '../features/rings/ring-repair.ts'
import { gateStep } from '../features/scan/gate-step.ts'
import { Scans } from '../features/scan/scans.ts'
import { usageReaderOf } from '../features/usage/usage-recorder.ts'
import { SearchService } from '../serve/mcp/tools/search/search-service.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import type { Fallback } from '../sync/pull/fallback/fallback-source.ts'
import type { Publisher } from '../sync/pull/publisher.ts'
import { Keyring } from './access/keyring.ts'
import { webhooksOf } from './access/webhooks.ts'
import { foldersIn, idsOf } from './config/config.ts'
import type { WholeConfig } from './configuration.ts'
import { Candidates } from './pull/candidates.ts'
import { CollectionTimes } from './pull/collection-times.ts'
import { DocumentThread } from './pull/document-thread.ts'
import { OperatorDecisions } from './pull/operator-decisions.ts'
import type { PullReport } from './pull/pull-report.ts'
import { Puller } from './pull/puller.ts'
import { Rollbacks } from './pull/rollbacks.ts'
import { PullActivity } from './pull/schedule/pull-activity.ts'
import { PullScheduler } from './pull/schedule/pull-scheduler.ts'
import { ServedCatalog } from './pull/served-catalog.ts'
import { StoreContentReader } from './pull/store-content-reader.ts'
import type { KnownLock } from './pull/trust/known-lock.ts'
import { mustFollowLock } from './pull/trust/lock-rules.ts'
import type { ReloadState } from './reload-state.ts'
import type { DaemonCore, DaemonContext } from './runtime/context.ts'
import { sourceKinds } from './source-kinds.ts'
import type { ItemsOf } from './status/items.ts'
import type { ServingParts } from './status/page/mcp-serving.ts'
import { PageData } from './status/page/page-data.ts'
import { StatusReader } from './status/status-reader.ts'
import { lackingIn } from './status/unserved-sources.ts'

/** The parts of a daemon that were read from its state folder, or that its predecessor passed on. */
export interface LoadedParts extends DaemonContext, ReloadState {
  readonly config: WholeConfig
  readonly publisher: Publisher
  readonly report: PullReport
  readonly lock: KnownLock
  readonly itemsOf: ItemsOf
}

/** The parts of a running daemon. */
export type Composition = ReturnType<typeof compose>

/**
 * Builds a daemon bottom-up: each part is given parts that were built before it. A lower part reaches a higher one only
 * when it runs, through a function. Parts end in the reverse of the order in which they were built: what reads for clients
 * with `readers`, and what works with `work`, to which the daemon adds its reactions.
 */
export function compose(loaded: LoadedParts) {
  const { config, store, clock, log, environment, redactor, readOnly, shared, replica, open } = loaded
  const { contract, fetched, hosts, linking, lock, names, publisher, registry, report, tokens, views } = loaded
  const core: DaemonCore<WholeConfig> = { config, store, clock, log, environment, redactor, readOnly, shared, replica }
  const readers = new AsyncDisposableStack()
  readers.defer(async () => void (await contract.diagnostics()))
  readers.defer(async () => linking.settled())
  const keyring = new Keyring({ ...core, names, fetchMs: config.limits.fetch.totalMs })
  const activity = new PullActivity(foldersIn(config), clock)
  const reader = readers.use(new DocumentThread())
  const served = new ServedCatalog({ config, store, clock, log, views, publisher })
  const collections = new CollectionTimes(clock)
  const followed: FollowedParts = {
    objects: store.objects,
    logs: store.followed,
    decisions: store.decisions,
    now: () => clock.now(),
    onRecalled: async (origin, fresh) => recalls.obeyed(origin, fresh),
    below: () => recalls.below(),
  }
  const mcp = readers.use(new McpSources({ ...core, keyring, reader, fetched, served }))
  const servers = mcp.connections
  const kinds = sourceKinds({ config, servers, followed })
  const gate = config.gate && gateStep(config.gate, core)
  const reach = { reader, gate, snapshots: kinds.snapshots, open: open ?? kinds.open }
  const candidates = new Candidates({ ...core, ...reach, served, hosts, names, collections })
  const search = readers.use(new SearchService({ ...core, state: config.state }))

  const work = new AsyncDisposableStack()
  const puller = work.use(
    new Puller({
      ...core,
      ...reach,
      activity,
      candidates,
      collections,
      fetched,
      hosts,
      keyring,
      linking,
      lock,
      report,
      served,
      channels: { live: async (since) => channels.live(since) },
      fallbackTo: (id) => fallbackOf(id, candidates, mcp),
      advance: mcp.advance,
      onHubFollowed: async () => hub.check(),
    }),
  )
  // It ends just before the pulls: a folder that hangs holds up nothing else.
  const scheduler = work.use(
    new PullScheduler({
      config,
      store,
      clock,
      log,
      environment,
      hosts,
      activity,
      puller,
      served,
      report,
    }),
  )
  const onNews = (id: SourceId): void => {
    activity.heard(id)
    scheduler.trigger(id)
  }
  const decisions = new OperatorDecisions({ config, store, clock, log, registry, served, report, lock, puller })
  const rollbacks = new Rollbacks({ config, store, clock, log, served, puller, candidates })
  const mcpDecisions = new McpDecisions({ ...core, served, sources: mcp, puller })

  // What leaves this hub without a client has the content that every ring has, but for the channels of rings.
  const ofOldest = { ...core, publisher, registry: views.oldest }
  const folders = new FolderFollower({ ...ofOldest, linking })
  const channels = new Channels({
    ...ofOldest,
    names,
    registryOf: (ring) => views.inRing(ring),
    served: () => served.current.map(({ snapshot }) => snapshot),
    whyNot: () => whyIncomplete(ofOldest),
  })
  const ringRepair = new RingRepair({ ...core, served, candidates })
  const contents = new StoreContentReader({
    store,
    log,
    registry,
    puller,
    repairRings: (isDamaged, onBegin) => ringRepair.begin(isDamaged, onBegin),
    readUpstream: (...asked) => mcp.contents.read(...asked),
  })
  const publications = new Publications({ ...ofOldest, views, hosts, names, published: loaded.published, contents })
  const channelWatches = new ChannelWatches({ config, clock, keyring, hosts, onNews })
  const hub = new HubSources({ config, store, clock, log, redactor, keyring, hosts, served, lock, followed })
  const recalls = new Recalls({ ...core, tokens, served, channels })
  const scans = new Scans({ ...core, served })
  const rings = new RingPromotions({ ...core, registry, served, report, usage: usageReaderOf(config, shared) })
  const onMoved = (): void => idsOf(config).forEach((id) => scheduler.trigger(id))
  const followedLock = new LockFollower({ ...core, ...reach, keyring, hosts, lock, onMoved })

  const fetchedFrom = (id: SourceId): number => mcp.fetchedFrom(id)
  const status = new StatusReader({
    ...core,
    registry,
    report,
    activity,
    lock,
    served,
    startedAt: loaded.startedAt,
    itemsOf: loaded.itemsOf,
    channels,
    scheduler,
    fetchedFrom,
    publications,
    hub,
    followedLock,
    rings,
    scans,
  })
  const page = readers.use(
    new PageData({
      ...core,
      registry,
      undecided: (id) => decisions.undecided(id),
      servedOf: (id) => served.currentOf(id),
      take: (id, commit, signal) => candidates.take(id, commit, signal),
      status: () => status.status(true),
      itemsOf: loaded.itemsOf,
      isBound: (id) => mustFollowLock(status.sourceNotes(id).lock),
      contractProblems: () => contract.known,
    }),
  )

  channels.onReach(() => recalls.reportSoon((id) => scheduler.trigger(id)))
  servers.onNews(onNews)
  linking.onDamaged((skill) => mcp.advance.recheck(skill))
  mcp.advance.onFetched(() => {
    linking.follow()
    folders.follow()
  })
  mcp.contents.onOutdated(async (id) => puller.refetch(id))
  const serving: ServingParts = {
    config,
    reading: {
      read: (kept, file, trace) => contents.read(kept, file, trace),
      isRefused: (kept) => mcp.contents.isRefused(kept),
    },
    host: {
      look: (source, mostMs) => scheduler.refresh(source, mostMs),
      lacking: (catalog) => lackingIn(catalog, config, store),
    },
    finder: search,
    views,
  }
  const webhooks = webhooksOf(config, {
    ...core,
    nudge: (id) => scheduler.trigger(id),
    nudgeLock: () => followedLock.nudge(),
  })
  const marketplace: Omit<MarketplaceHost, 'config'> = {
    openScratch: marketplaceScratch(store),
    onLeftOut: ({ place, why }) => log.warn('marketplace-skill-left-out', { skill: place, why }),
  }
  const linked = async (): Promise<void> => {
    await linking.settled()
    await folders.settled()
  }
  return {
    activity,
    candidates,
    channelWatches,
    channels,
    contents,
    decisions,
    folders,
    followedLock,
    hub,
    linked,
    marketplace,
    mcp,
    mcpDecisions,
    page,
    publications,
    puller,
    reader,
    recalls,
    readers,
    ringRepair,
    rings,
    rollbacks,
    scans,
    scheduler,
    search,
    served,
    serving,
    status,
    webhooks,
    work,
  }
}

/** Reads the locked skills of a source from another server, if their commit vanished from its own. */
function fallbackOf(id: SourceId, candidates: Candidates, { contents }: McpSources): Fallback {
  return {
    id,
    list: async (signal) => (await candidates.take(id, undefined, signal)).snapshot.skills,
    read: async (skill, file) => contents.bring(skill, file),
  }
}
