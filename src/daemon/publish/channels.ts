import type { ChannelHost, CheckpointWatcher } from '../../serve/http/routes/channel-routes.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import { objectsOf } from '../../sync/channel/channel-tree.ts'
import { parseFollowerHeader, parseReport } from '../../sync/channel/follower-report.ts'
import { parseSigner, parseVerifier, renamedSigner } from '../../sync/log/signed-note.ts'
import type { NoteSigner } from '../../sync/log/signed-note.ts'
import { CHANNEL_REF } from '../../sync/model/revision.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Digest } from '../../sync/store/objects/object-store.ts'
import type { RemoteWitness } from '../../sync/witness/remote-witness.ts'
import { OperatorError } from '../base/operator-error.ts'
import { readSecret, secretNameOf } from '../config/auth.ts'
import type { ChannelConfig, ChannelFolder, Config, WitnessConfig } from '../config/config.ts'
import type { DaemonContext } from '../context.ts'
import { Keyring } from '../credentials/keyring.ts'
import { ChannelKeeper } from './channel-keeper.ts'
import { ChannelPublisher } from './channel-publisher.ts'
import type { ChannelEnd } from './channel-publisher.ts'
import type { Quorum } from './cosigned-head.ts'
import { FollowerReach } from './follower-reach.ts'
import type { ChannelStatus } from './publication-status.ts'
import { epochOf, publishes } from './shared-channel.ts'

/** The parts of the daemon that its channels need. */
export interface ChannelsParts extends DaemonContext {
  readonly config: Config
  readonly registry: { readonly catalog: Catalog; watch(watcher: () => void): Disposable }
  /** Returns what is served of each source, also what is not published. */
  readonly served: () => readonly Snapshot[]
  /** The reason why nothing may be published now; `undefined` if it may. */
  readonly whyNot: () => string | undefined
}

/** The channels of this hub: that of everything, and one for each pack, each with a log of its own. */
export class Channels implements ChannelHost, AsyncDisposable {
  readonly #parts: ChannelsParts
  readonly #channels = new Map<string | undefined, ChannelPublisher>()
  /** Keep the logs up to date that clients ask this daemon for. */
  readonly #logs: readonly ChannelKeeper[]
  readonly #folders: readonly ChannelKeeper[]
  readonly #keyring: Keyring
  #watching: Disposable | undefined
  #reach: FollowerReach
  #isTakenOver = false
  #onReach: () => void = () => {}
  /** The state of the logs in the database, and the epoch of this process, at the last look. */
  #marks: readonly string[] = []
  #epoch: number | undefined

  constructor(parts: ChannelsParts) {
    const { config, clock, log, redactor, whyNot } = parts
    this.#parts = parts
    this.#reach = new FollowerReach(parts)
    const { channel } = config
    this.#keyring = new Keyring({ ...parts, fetchMs: config.limits.fetch.totalMs })
    if (channel !== undefined)
      for (const pack of [undefined, ...config.packs]) this.#channels.set(pack?.id, this.#publisherOf(channel, pack))
    const keeping = { clock, log, redactor, whyNot, catalog: () => parts.registry.catalog }
    this.#logs = [...this.#channels].map(
      ([pack, one]) => new ChannelKeeper({ to: undefined, pack }, { ...keeping, channel: one }),
    )
    this.#folders = config.channelFolders.map(
      (folder) => new ChannelKeeper(folder, { ...keeping, channel: this.#channelOf(folder.pack) }),
    )
  }

  /** Goes on with what the channels of the earlier daemon have served. */
  takeOver(before: Channels): void {
    this.#reach = before.#reach
    this.#reach.onChange(this.#onReach)
    before.#isTakenOver = true
    for (const [pack, channel] of this.#channels) {
      const earlier = before.#channels.get(pack)
      if (earlier !== undefined) channel.takeOver(earlier)
    }
  }

  /** Adds what is served now to the logs and the folders, and each catalog from now on. */
  follow(): void {
    if (this.#channels.size > 0) this.#reach.follow()
    this.#watching = this.#parts.registry.watch(() => this.#followAll())
    this.#followAll()
  }

  /**
   * Looks for entries that another process of the hub has appended, and serves them; after a change of the lead, publishes
   * or stops that. One short query if nothing is new. Throws `store-failed` if the database cannot be read.
   */
  async refresh(): Promise<void> {
    const { shared } = this.#parts
    if (shared === undefined || this.#channels.size === 0) return
    const epoch = epochOf(this.#parts)
    const names = [...this.#channels.values()].map((channel) => channel.names)
    const marks = await shared.logs.marks(names).catch((error: unknown) => {
      // All is looked at again once the database is back.
      this.#marks = []
      throw error
    })
    const isSameEpoch = epoch === this.#epoch
    this.#epoch = epoch
    for (const [index, keeper] of this.#logs.entries())
      if (!isSameEpoch || marks[index] !== this.#marks[index]) keeper.follow()
    if (!isSameEpoch) for (const keeper of this.#folders) keeper.follow()
    this.#marks = marks
  }

  /** Publishes recalls that are new, or that ended: they need not change what is served. */
  followRecalls(): void {
    // Before the first catalog, `follow` does.
    if (this.#watching !== undefined) this.#followAll()
  }

  #followAll(): void {
    for (const keeper of [...this.#logs, ...this.#folders]) keeper.follow()
  }

  /** Writes the channel to this folder now. Throws an `OperatorError` or a `SyncError` if that fails. */
  async publish(folder: ChannelFolder, signal: AbortSignal): Promise<ChannelEnd> {
    const why = this.#parts.whyNot()
    if (why !== undefined) throw new OperatorError('nothing-served', `Cannot publish: ${why}`)
    if (!publishes(this.#parts))
      throw new OperatorError('nothing-served', 'Cannot publish: another process leads the hub, and it alone publishes')
    const kept = this.#folders[this.#parts.config.channelFolders.findIndex((one) => isSame(one, folder))]
    return kept === undefined ? this.#channelOf(folder.pack).publish(folder.to, signal) : kept.publish(signal)
  }

  get status(): readonly ChannelStatus[] {
    return this.#kept.map(({ status }) => status)
  }

  /** The state of each channel, with the time of its newest entry. */
  get figures(): readonly { readonly status: ChannelStatus; readonly newestAt: string | undefined }[] {
    return this.#kept.map(({ status, newestAt }) => ({ status, newestAt }))
  }

  /** Folders are written by the leader of the hub alone. */
  get #kept(): readonly ChannelKeeper[] {
    return publishes(this.#parts) ? [...this.#logs, ...this.#folders] : this.#logs
  }

  hasPack(pack: string): boolean {
    return this.#channels.has(pack)
  }

  seen(pack: string | undefined, principal: string, text: string): void {
    const told = parseFollowerHeader(text)
    if (told !== undefined) this.#reach.report({ pack, principal }, told)
  }

  report(pack: string | undefined, principal: string, bytes: Uint8Array): boolean {
    const report = parseReport(bytes)
    if (report !== undefined) this.#reach.report({ pack, principal }, report)
    return report !== undefined
  }

  /** Calls back after each change of what followers obey, or report of their own. */
  onReach(listener: () => void): void {
    this.#onReach = listener
    this.#reach.onChange(listener)
  }

  /** The followers of the channels, and how far they obey. */
  get reach(): FollowerReach {
    return this.#reach
  }

  async read(pack: string | undefined, path: string): Promise<Uint8Array | undefined> {
    return this.#channels.get(pack)?.read(path)
  }

  async reaches(pack: string | undefined, size: number): Promise<boolean> {
    return (await this.#channels.get(pack)?.reaches(size)) === true
  }

  isReady(pack: string | undefined): boolean {
    return this.#channels.get(pack)?.isReady === true
  }

  watch(pack: string | undefined, watcher: CheckpointWatcher): Disposable {
    return this.#channelOf(pack).watch(watcher)
  }

  /**
   * The objects that followers may still ask for, and that this daemon needs of the channels that it follows: a
   * collection keeps them.
   */
  async live(since: Date): Promise<ReadonlySet<Digest>> {
    const entries = await Promise.all([...this.#channels.values()].map(async (channel) => channel.keptSince(since)))
    const { store, served, config } = this.#parts
    const followed = served().flatMap(({ revision: { ref, commit } }) => (ref === CHANNEL_REF ? [commit] : []))
    const hub = config.follow === undefined ? undefined : await store.followed.read('all-sources')
    const heads = [...entries.flat().map(({ head }) => head), ...(hub === undefined ? followed : [hub.entry.head])]
    return objectsOf(new Set(heads), store.objects)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching?.[Symbol.dispose]()
    for (const channel of this.#channels.values()) channel.end()
    if (!this.#isTakenOver) await this.#reach[Symbol.asyncDispose]()
    await Promise.all([...this.#logs, ...this.#folders].map((keeper) => keeper[Symbol.asyncDispose]()))
  }

  #channelOf(pack: string | undefined): ChannelPublisher {
    const channel = this.#channels.get(pack)
    if (channel !== undefined) return channel
    const why = this.#channels.size === 0 ? 'the configuration has no `channel`' : `no pack is called "${pack}"`
    throw new OperatorError('bad-request', `Cannot publish: ${why}`)
  }

  #publisherOf(channel: ChannelConfig, pack: Pack | undefined): ChannelPublisher {
    const { registry } = this.#parts
    const origin = originOf(channel, pack?.id)
    const signers = async (): Promise<readonly NoteSigner[]> =>
      (await channelSigners(channel, this.#parts)).map((signer) => renamedSigner(signer, origin))
    const quorum = this.#quorumOf(channel)
    const onRecalls = (recalls: readonly string[], size: number): void => this.#reach.published(pack?.id, recalls, size)
    const catalog = (): Catalog => registry.catalog
    return new ChannelPublisher({ ...this.#parts, origin, signers, quorum, pack, catalog, onRecalls })
  }

  #quorumOf({ witnesses, quorum }: ChannelConfig): Quorum {
    const { config } = this.#parts
    return {
      witnesses: witnesses.flatMap((witness) => this.#witnessOf(witness)),
      enough: quorum,
      limits: config.limits.fetch,
      whyNot: () => (config.mode.offline ? '--offline forbids network access' : undefined),
    }
  }

  #witnessOf({ url, key: text, ca, proxy }: WitnessConfig): RemoteWitness[] {
    const key = parseVerifier(text, 'cosignature')
    if (key === undefined) return []
    const source = { id: url, url, kind: 'witness' }
    return [{ url, key, way: this.#keyring.wayTo({ source, access: { kind: 'none' }, ca, proxy }) }]
  }
}

/** The name of the log of the whole channel, or of that of a pack. */
export function originOf({ name }: ChannelConfig, pack: string | undefined): string {
  return pack === undefined ? name : `${name}/${pack}`
}

/** Reads the private keys of the channel. */
export async function channelSigners(
  { name, keys }: ChannelConfig,
  { environment, redactor }: Pick<DaemonContext, 'environment' | 'redactor'>,
): Promise<readonly NoteSigner[]> {
  const signers: NoteSigner[] = []
  for (const reference of keys) {
    const signer = parseSigner((await readSecret(reference, environment, redactor)).trim())
    if (signer?.name !== name)
      throw new SyncError(
        'credentials-rejected',
        `Cannot use the ${secretNameOf(reference)}: it is no private key of the channel "${name}"; skillsyncd channel new-key makes one`,
      )
    signers.push(signer)
  }
  return signers
}

function isSame(one: ChannelFolder, other: ChannelFolder): boolean {
  return one.to === other.to && one.pack === other.pack
}
