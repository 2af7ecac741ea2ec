import { channelSigners } from '../../../daemon/access/channel-keys.ts'
import type { HostNames } from '../../../daemon/access/host-names.ts'
import { Keyring } from '../../../daemon/access/keyring.ts'
import { channelName, channelNames, originOf, partOf } from '../../../daemon/config/channel-names.ts'
import type { ChannelName } from '../../../daemon/config/channel-names.ts'
import type { DaemonCore } from '../../../daemon/runtime/context.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import type { ChannelStatus } from '../../../daemon/status/publication-status.ts'
import type { View } from '../../../serve/view.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { CHANNEL_REF } from '../../../sync/model/revision.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { Digest } from '../../../sync/store/objects/object-store.ts'
import { parseVerifier, renamedSigner } from '../../../sync/transparency-log/signed-note.ts'
import type { NoteSigner } from '../../../sync/transparency-log/signed-note.ts'
import type { ChannelConfig, ChannelFolder, ChannelHubConfig, WitnessConfig } from '../channel-config.ts'
import type { ChannelHost, ChannelObject, CheckpointWatcher } from '../channel-routes.ts'
import { objectsOf } from '../content/channel-tree.ts'
import { parseFollowerHeader, parseReport } from '../content/follower-report.ts'
import type { RemoteWitness } from '../witness/remote-witness.ts'
import { ChannelKeeper } from './channel-keeper.ts'
import type { ChannelOutput, ServedRegistry } from './channel-keeper.ts'
import { ChannelPublisher } from './channel-publisher.ts'
import type { ChannelEnd } from './channel-publisher.ts'
import type { Quorum } from './cosigned-head.ts'
import { FollowerReach } from './follower-reach.ts'
import { epochOf, publishes } from './shared-channel.ts'

/** The parts of the daemon that its channels need. */
export interface ChannelsParts extends DaemonCore<ChannelHubConfig> {
  readonly names: HostNames
  /** Finds the registry of a ring. */
  readonly registryOf: (ring: string) => ServedRegistry
  /** The registry of the last ring; without rings, that of everything. */
  readonly registry: ServedRegistry
  /** Returns what is served of each source, also what is not published. */
  readonly served: () => readonly Snapshot[]
  /** The reason why nothing may be published now; `undefined` if it may. */
  readonly whyNot: () => string | undefined
}

/**
 * The channels of this hub, each with a log of its own: that of everything in the last ring, one for each pack there, and
 * one for each other ring.
 */
export class Channels implements ChannelHost, AsyncDisposable {
  readonly #parts: ChannelsParts
  readonly #channels = new Map<ChannelName, ChannelPublisher>()
  /** Keep the logs up to date that clients ask this daemon for. */
  readonly #logs: readonly ChannelKeeper[]
  readonly #folders: readonly ChannelKeeper[]
  readonly #keyring: Keyring
  #isFollowing = false
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
      for (const name of channelNames(config)) this.#channels.set(name, this.#publisherOf(channel, name))
    const keeperOf = (place: ChannelOutput): ChannelKeeper => {
      const [channel, served] = [this.#channelOf(place.channel), this.#registryOf(place.channel)]
      return new ChannelKeeper(place, { clock, log, redactor, whyNot, channel, registry: served })
    }
    this.#logs = [...this.#channels.keys()].map((channel) => keeperOf({ to: undefined, channel }))
    this.#folders = config.channelFolders.map((folder) => keeperOf(placeOf(folder)))
  }

  /** Goes on with what the channels of the earlier daemon have served. */
  takeOver(before: Channels): void {
    this.#reach = before.#reach
    this.#reach.onChange(this.#onReach)
    before.#isTakenOver = true
    for (const [name, channel] of this.#channels) {
      const earlier = before.#channels.get(name)
      if (earlier !== undefined) channel.takeOver(earlier)
    }
  }

  /** Adds what is served now to the logs and the folders, and each catalog from now on. */
  follow(): void {
    if (this.#channels.size > 0) this.#reach.follow()
    this.#isFollowing = true
    for (const keeper of [...this.#logs, ...this.#folders]) keeper.start()
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
    if (this.#isFollowing) for (const keeper of [...this.#logs, ...this.#folders]) keeper.follow()
  }

  /** Writes the channel to this folder now. Throws an `OperatorError` or a `SyncError` if that fails. */
  async publish(folder: ChannelFolder, signal: AbortSignal): Promise<ChannelEnd> {
    const why = this.#parts.whyNot()
    if (why !== undefined) throw new OperatorError('nothing-served', `Cannot publish: ${why}`)
    if (!publishes(this.#parts))
      throw new OperatorError('nothing-served', 'Cannot publish: another process leads the hub, and it alone publishes')
    const kept = this.#folders[this.#parts.config.channelFolders.findIndex((one) => isSame(one, folder))]
    return kept === undefined ? this.#channelOf(channelName(folder)).publish(folder.to, signal) : kept.publish(signal)
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

  isOpenTo(channel: ChannelName, view: View): boolean {
    if (!this.#channels.has(channel)) return false
    const { pack, ring } = partOf(channel)
    if (view.packs !== undefined) return pack !== undefined && view.packs.has(pack)
    if (ring === undefined) return true
    const rings = this.#parts.config.rings.map(({ id }) => id)
    const own = view.ring === undefined ? 0 : rings.indexOf(view.ring)
    // What a later ring has, that of the reader has had before. A reload may come between the view and the channels.
    return own !== -1 && rings.indexOf(ring) >= own
  }

  seen(channel: ChannelName, principal: string, text: string): void {
    const told = parseFollowerHeader(text)
    if (told !== undefined) this.#reach.report({ channel, principal }, told)
  }

  report(channel: ChannelName, principal: string, bytes: Uint8Array): boolean {
    const report = parseReport(bytes)
    if (report !== undefined) this.#reach.report({ channel, principal }, report)
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

  async objectAt(channel: ChannelName, path: string): Promise<ChannelObject | undefined> {
    return this.#channels.get(channel)?.objectAt(path)
  }

  async read(channel: ChannelName, path: string): Promise<Uint8Array | undefined> {
    return this.#channels.get(channel)?.read(path)
  }

  async reaches(channel: ChannelName, size: number): Promise<boolean> {
    return (await this.#channels.get(channel)?.reaches(size)) === true
  }

  isReady(channel: ChannelName): boolean {
    return this.#channels.get(channel)?.isReady === true
  }

  watch(channel: ChannelName, watcher: CheckpointWatcher): Disposable {
    return this.#channelOf(channel).watch(watcher)
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
    // From here on no catalog begins an append.
    const keepers = Promise.all([...this.#logs, ...this.#folders].map((keeper) => keeper[Symbol.asyncDispose]()))
    for (const channel of this.#channels.values()) channel.end()
    if (!this.#isTakenOver) await this.#reach[Symbol.asyncDispose]()
    await keepers
  }

  #channelOf(name: ChannelName): ChannelPublisher {
    const channel = this.#channels.get(name)
    if (channel !== undefined) return channel
    const { pack, ring } = partOf(name)
    const unknown = ring === undefined ? `no pack is called "${pack}"` : `no ring before the last is called "${ring}"`
    const why = this.#channels.size === 0 ? 'the configuration has no `channel`' : unknown
    throw new OperatorError('bad-request', `Cannot publish: ${why}`)
  }

  #publisherOf(channel: ChannelConfig, name: ChannelName): ChannelPublisher {
    const origin = originOf(channel, name)
    const pack = this.#parts.config.packs.find(({ id }) => id === partOf(name).pack)
    const signers = async (): Promise<readonly NoteSigner[]> =>
      (await channelSigners(channel, this.#parts)).map((signer) => renamedSigner(signer, origin))
    const quorum = this.#quorumOf(channel)
    const onRecalls = (recalls: readonly string[], size: number): void => this.#reach.published(name, recalls, size)
    const catalog = (): Catalog => this.#registryOf(name).catalog
    return new ChannelPublisher({ ...this.#parts, channel: name, origin, signers, quorum, pack, catalog, onRecalls })
  }

  #registryOf(name: ChannelName): ServedRegistry {
    const { ring } = partOf(name)
    return ring === undefined ? this.#parts.registry : this.#parts.registryOf(ring)
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

function placeOf(folder: ChannelFolder): ChannelOutput {
  return { to: folder.to, channel: channelName(folder) }
}

function isSame(one: ChannelFolder, other: ChannelFolder): boolean {
  return one.to === other.to && channelName(one) === channelName(other)
}
