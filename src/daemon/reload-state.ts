import { LinkSync } from '../features/agent-folders/link-sync.ts'
import { holdFor } from '../features/hub-of-several/notification-hold.ts'
import { PageSessionRecords } from '../features/hub-of-several/sessions/page-session-records.ts'
import { SharedSessionLog } from '../features/hub-of-several/sessions/shared-session-log.ts'
import { shareTokens } from '../features/hub-of-several/shared-texts.ts'
import { PublicationCounts } from '../features/marketplace/publish/publication-counts.ts'
import type { OAuthOptions } from '../serve/http/protected-resource.ts'
import { Registry } from '../serve/registry.ts'
import { Views } from '../serve/views.ts'
import { HostNames } from './access/host-names.ts'
import type { OAuthParts } from './access/oauth.ts'
import { Tokens } from './access/tokens.ts'
import type { OAuthConfig } from './config/auth.ts'
import type { Config } from './config/config.ts'
import { HostBackoff } from './pull/schedule/host-backoff.ts'
import type { DaemonContext } from './runtime/context.ts'
import { FetchedBytes } from './runtime/fetched-bytes.ts'
import { PullCounts } from './runtime/pull-counts.ts'
import { ContractNews } from './status/contract-news.ts'

/** The state that a daemon passes to its successor when the configuration is reloaded. */
export interface ReloadState {
  readonly registry: Registry
  /** Sessions that see only packs listen to one of these. */
  readonly views: Views
  readonly tokens: Tokens
  /** Includes its keys: while the issuer is down they could not be fetched again. */
  readonly oauth: OAuthOptions | undefined
  /** The sign-ins to the page that the processes of a hub share; `undefined` if there is one process. */
  readonly pageSessions: PageSessionRecords | undefined
  /** A host that requested a backoff keeps it across the reload. */
  readonly hosts: HostBackoff
  /** Keeps its last answers across the reload. */
  readonly names: HostNames
  readonly linking: LinkSync
  /** Reports each problem once, also across a reload. */
  readonly contract: ContractNews
  /** Counters increase as long as the process lives. */
  readonly pulls: PullCounts
  readonly fetched: FetchedBytes
  readonly published: PublicationCounts
  /** The sessions in the database that this process shares with others; `undefined` if it is the only one. */
  readonly sessions: SharedSessionLog | undefined
  readonly startedAt: Date
}

export async function newReloadState({ state, serve: { oauth } }: Config, parts: DaemonContext): Promise<ReloadState> {
  const { clock, shared } = parts
  const hold = parts.replica && holdFor(parts.replica)
  const registry = new Registry(hold)
  const views = new Views(registry, () => clock.monotonicMs(), hold)
  const tokens = new Tokens(
    state,
    () => clock.now(),
    async () => parts.store.folder.expectRight(),
  )
  await shareTokens(tokens, parts)
  const hasPacks = (): boolean => views.packs.length > 0
  return {
    registry,
    views,
    tokens,
    oauth: oauth && (await oauthOf(oauth, { ...parts, hasPacks })),
    pageSessions: shared && new PageSessionRecords({ ...parts, shared, tokens, hasPacks }),
    hosts: new HostBackoff(clock),
    names: new HostNames(clock),
    linking: new LinkSync(parts, views, registry),
    contract: new ContractNews(registry, parts),
    pulls: new PullCounts(),
    fetched: new FetchedBytes(),
    published: new PublicationCounts(),
    sessions: parts.shared && new SharedSessionLog({ ...parts, shared: parts.shared }),
    startedAt: clock.now(),
  }
}

/** Few configurations have an issuer, and the code that checks its tokens takes long to load. */
async function oauthOf(oauth: OAuthConfig, parts: OAuthParts): Promise<OAuthOptions> {
  return (await import('./access/oauth.ts')).oauthVerifier(oauth, parts)
}
