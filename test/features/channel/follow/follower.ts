import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ChannelUpstream } from '../../../../src/features/channel/follow/channel-upstream.ts'
import { snapshotOfPublished } from '../../../../src/features/channel/follow/published-snapshot.ts'
import type { RecallCounts } from '../../../../src/features/channel/recall/follower-report.ts'
import type { Outcome } from '../../../../src/sync/model/outcome.ts'
import type { ServedSource } from '../../../../src/sync/model/snapshot.ts'
import type { ChannelSource } from '../../../../src/sync/model/source.ts'
import type { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { pullSource } from '../../../../src/sync/pull/pull.ts'
import { storedSkill } from '../../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import type { FetchLimits } from '../../../../src/sync/upstream/upstream.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { killAt } from '../../../sync/store/killed-store.ts'
import type { Kill } from '../../../sync/store/killed-store.ts'
import { never, sourceId } from '../../../sync/store/samples.ts'
import { rulesWith } from '../../../sync/survey/surveyed.ts'
import { KEY } from './site.ts'

export interface FollowerOptions {
  /** An address with a slash at its end, or the path of a folder. */
  place: string
  keys?: readonly string[]
  maxAgeMs?: number
  witnesses?: readonly string[]
  quorum?: number
  limits?: Partial<FetchLimits>
  headers?: Readonly<Record<string, string>>
  now?: () => Date
  /** The reports of its own followers. */
  below?: () => readonly RecallCounts[]
  /** The skills that the source selects. */
  include?: readonly string[]
  /** True if something that is served of it was found to be damaged. */
  isDamaged?: boolean
}

/** The skills of a channel, each by its path. */
export type Skills = Readonly<
  Record<string, { readonly digest: string | undefined; readonly files: Readonly<Record<string, string>> }>
>

/** A source that follows a channel, with a store on the disk. What is brought is served at once. */
export class Follower implements AsyncDisposable {
  readonly options: FollowerOptions
  current: ServedSource | undefined
  readonly #folder: { readonly path: string } & AsyncDisposable
  #store: Store

  private constructor(options: FollowerOptions, folder: { readonly path: string } & AsyncDisposable, store: Store) {
    this.options = options
    this.#folder = folder
    this.#store = store
  }

  static async open(options: FollowerOptions): Promise<Follower> {
    const folder = await temporaryFolder()
    return new Follower(options, folder, await Store.open(join(folder.path, 'state')))
  }

  get store(): Store {
    return this.#store
  }

  async pull(signal = never()): Promise<Outcome> {
    const { isDamaged = false } = this.options
    const store = this.#store
    const { fetch, now } = this
    const outcome = await pullSource({
      source: this.source,
      current: this.current,
      orders: { decision: {}, offline: false, isDamaged },
      io: {
        store,
        open: () => this.upstream(),
        snapshotOf: snapshotOfPublished,
        limits: { ...rulesWith({ limits: { fetch } }).limits, disk: { bytes: 2 ** 33 } },
      },
      signal,
    })
    if (outcome.kind === 'updated') {
      await store.generations.publish([outcome.held], now())
      this.current = { held: outcome.held, snapshot: outcome.snapshot }
    }
    return outcome
  }

  /** The upstream of one pull, as the daemon opens it. */
  upstream(): ChannelUpstream {
    const { headers = {}, below } = this.options
    const { objects, followed: logs, decisions } = this.#store
    return new ChannelUpstream(this.source, {
      limits: this.fetch,
      way: async () => ({ ...PLAIN_WAY, headers }),
      followed: { objects, logs, decisions, now: this.now, ...(below && { below }) },
    })
  }

  get fetch(): FetchLimits {
    return { ...FETCH_LIMITS, ...this.options.limits }
  }

  private get now(): () => Date {
    return this.options.now ?? NOON
  }

  /** Pulls until the process ends at this write of its store, and begins anew. */
  async killedPull(kill: Kill): Promise<void> {
    const isKilled = killAt(this.#store, kill)
    await this.pull().catch((error: unknown) => {
      if (!isKilled()) throw error
    })
    await this.reopen()
  }

  /** Throws unless the pull brought something. */
  async updated(): Promise<void> {
    const outcome = await this.pull()
    if (outcome.kind === 'failed') throw outcome.error
    if (outcome.kind !== 'updated') throw new Error(`The pull ended ${outcome.kind}`)
  }

  /** The error of a pull that fails. */
  async failure(): Promise<SyncError> {
    const outcome = await this.pull()
    if (outcome.kind !== 'failed') throw new Error(`The pull ended ${outcome.kind}`)
    if (outcome.withdraw === true) throw new Error('The pull withdraws what was served')
    return outcome.error
  }

  /** The served skills, read from the store: each file is verified by its digest. */
  async skills(): Promise<Skills> {
    return skillsIn(this.#store, this.current)
  }

  /** Opens the store anew, as after a restart. */
  async reopen(): Promise<void> {
    this.#store[Symbol.dispose]()
    this.#store = await Store.open(join(this.#folder.path, 'state'))
    const [held] = (await this.#store.generations.current())?.sources ?? []
    this.current = held && { held, snapshot: await this.#store.snapshots.read(held.snapshot) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#store[Symbol.dispose]()
    await this.#folder[Symbol.asyncDispose]()
  }

  get source(): ChannelSource {
    return followedChannel(this.options)
  }
}

/** The source that follows the channel at this place. */
export function followedChannel({
  place,
  keys = [KEY],
  maxAgeMs,
  witnesses = [],
  quorum = 0,
  include = ['**'],
}: FollowerOptions): ChannelSource {
  const isUrl = /^https?:/.test(place)
  const { selection } = rulesWith({ include })
  return {
    ...selection,
    kind: 'channel',
    id: sourceId('hub'),
    url: isUrl ? place : pathToFileURL(place).href,
    place: isUrl ? { kind: 'http' } : { kind: 'folder', path: place },
    keys,
    maxAgeMs,
    witnesses,
    quorum,
    ref: undefined,
    schedule: { kind: 'every', periodMs: 1000 },
    update: 'auto',
    brakes: 'follow',
  }
}

const NOON = (): Date => new Date('2026-06-15T12:00:00Z')

async function skillsIn(store: Store, current: ServedSource | undefined): Promise<Skills> {
  const skills: Record<string, Skills[string]> = {}
  for (const skill of current?.snapshot.skills ?? []) {
    const files: Record<string, string> = {}
    for (const file of skill.standing === 'withheld' ? [] : skill.files)
      files[file.path] = (await store.skills.read(storedSkill(skill), file)).toString()
    skills[skill.path] = { digest: skill.digest, files }
  }
  return skills
}
