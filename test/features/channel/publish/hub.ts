import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../../src/base/async/clock.ts'
import { processEnvironment } from '../../../../src/daemon/config/process-environment.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { ChannelPublisher } from '../../../../src/features/channel/publish/channel-publisher.ts'
import type { ChannelEnd } from '../../../../src/features/channel/publish/channel-publisher.ts'
import type { Quorum } from '../../../../src/features/channel/publish/cosigned-head.ts'
import { buildCatalog, EMPTY_CATALOG } from '../../../../src/sync/catalog/catalog.ts'
import type { Pack } from '../../../../src/sync/catalog/pack.ts'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import type { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { generationOf } from '../../../sync/catalog/catalogs.ts'
import { killAt } from '../../../sync/store/killed-store.ts'
import type { Kill } from '../../../sync/store/killed-store.ts'
import { keepSamples, never, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import type { Sample } from '../../../sync/store/samples.ts'
import { objectId } from '../../../sync/upstream/reached.ts'
import type { Skills } from '../follow/follower.ts'
import { ORIGIN, sha256, SIGNER } from '../follow/site.ts'

/** The skills of a hub, by their sources. */
export type Content = Readonly<Record<string, readonly Sample[]>>

/** The parts of a hub that is one of several processes. */
export interface HubOptions {
  readonly pack?: Pack | undefined
  readonly shared?: SharedStore
  /** The clock of the publisher; a fake one if nothing else is said. */
  readonly clock?: Clock
}

/** The publisher of one channel in this process, with a store on the disk, and a catalog that a test replaces. */
export class Hub implements AsyncDisposable {
  readonly clock = new FakeClock()
  signers = [SIGNER]
  /** The witnesses; a change counts from the next `reopen` on. */
  quorum: Quorum = { witnesses: [], enough: 0, limits: FETCH_LIMITS, whyNot: () => undefined }
  readonly #folder: { readonly path: string } & AsyncDisposable
  readonly #options: HubOptions
  #store: Store
  #publisher: ChannelPublisher
  #catalog = EMPTY_CATALOG

  private constructor(folder: { readonly path: string } & AsyncDisposable, store: Store, options: HubOptions) {
    this.#folder = folder
    this.#store = store
    this.#options = options
    this.#publisher = this.#open()
  }

  static async create(options: HubOptions = {}): Promise<Hub> {
    const folder = await temporaryFolder()
    return new Hub(folder, await Store.open(join(folder.path, 'state')), options)
  }

  get store(): Store {
    return this.#store
  }

  /** The file with the entries of the log. */
  get logFile(): string {
    const { pack } = this.#options
    return this.#store.folder.at('logs', pack === undefined ? 'channel.jsonl' : `channel.${pack.id}.jsonl`)
  }

  get publisher(): ChannelPublisher {
    return this.#publisher
  }

  /** Serves these skills. `disabled`: the paths of skills, with their sources. */
  async serve(content: Content, disabled: readonly string[] = []): Promise<void> {
    const snapshots = Object.entries(content).map(([id, samples]) => snapshotIn(id, samples))
    await keepSamples(this.#store, ...Object.values(content).flat())
    const out = new Map<SourceId, Set<string>>()
    for (const path of disabled) {
      const [id = '', skill = ''] = path.split('/')
      out.set(sourceId(id), (out.get(sourceId(id)) ?? new Set()).add(skill))
    }
    const held = []
    for (const snapshot of snapshots)
      held.push({ source: snapshot.source, snapshot: await this.#store.snapshots.keep(snapshot) })
    await this.#store.generations.publish(held, this.clock.now())
    this.#catalog = buildCatalog(generationOf(snapshots), snapshots, out)
  }

  async publish(folder?: string, signal = never()): Promise<ChannelEnd> {
    return this.#publisher.publish(folder, signal)
  }

  /**
   * Publishes until the process ends at this call of its store, and begins anew. `torn`: the bytes of one more entry that
   * it has left at the end of its log.
   */
  async killedPublish(kill: Kill, torn: number, folder?: string): Promise<void> {
    const isKilled = killAt(this.#store, kill, true)
    await this.publish(folder).catch((error: unknown) => {
      if (!isKilled()) throw error
    })
    const line = encodeEntry({ at: this.clock.now().toISOString(), head: sha256(Buffer.from('killed')) })
    await appendFile(this.logFile, line.subarray(0, Math.min(torn, line.length - 1)))
    await this.reopen()
  }

  /** Lengthens the log by copies of its newest entry, as after days without a change, and begins anew. */
  async lengthen(entries: number): Promise<void> {
    const lines = (await readFile(this.logFile, 'utf8')).split('\n')
    await appendFile(this.logFile, `${lines.at(-2) ?? ''}\n`.repeat(entries))
    await this.reopen()
  }

  readonly read = async (path: string) => this.#publisher.read(path)

  /** Begins anew, as after a restart of the daemon. */
  async reopen(): Promise<void> {
    this.#store[Symbol.dispose]()
    this.#store = await Store.open(join(this.#folder.path, 'state'))
    this.#publisher = this.#open()
  }

  /** Goes on with another publisher, as after a reload. */
  reload(origin = ORIGIN): void {
    const before = this.#publisher
    this.#publisher = this.#open(origin)
    this.#publisher.takeOver(before)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#store[Symbol.dispose]()
    await this.#folder[Symbol.asyncDispose]()
  }

  #open(origin = ORIGIN): ChannelPublisher {
    const { pack, shared, clock = this.clock } = this.#options
    const redactor = new Redactor()
    const stream = { write: () => true }
    return new ChannelPublisher({
      store: this.#store,
      clock,
      log: createLog({ level: 'error', stream, format: 'json', journal: false, clock, redactor }),
      redactor,
      environment: processEnvironment(),
      channel: pack?.id,
      origin,
      signers: async () => this.signers,
      quorum: this.quorum,
      pack,
      ...(shared !== undefined && { shared }),
      catalog: () => this.#catalog,
    })
  }
}

/** The skills that a follower of this content must have. */
export function skillsOf(content: Content, disabled: readonly string[] = []): Skills {
  return Object.fromEntries(
    Object.entries(content)
      .flatMap(([id, samples]) => samples.map((sample) => [`${id}/${sample.skill.path}`, sample] as const))
      .filter(([path]) => !disabled.includes(path))
      .map(([path, { skill, bytes }]) => [
        path,
        {
          digest: skill.digest,
          files: Object.fromEntries([...bytes].map(([file, content]) => [file, content.toString()])),
        },
      ]),
  )
}

function snapshotIn(id: string, samples: readonly Sample[]): Snapshot {
  return {
    ...snapshotOf(...samples.toSorted((a, b) => (a.skill.path < b.skill.path ? -1 : 1))),
    source: sourceId(id),
    revision: { asked: 'main', ref: 'refs/heads/main', commit: commitOf(samples) },
  }
}

function commitOf(samples: readonly Sample[]): ObjectId {
  return objectId(sha256(Buffer.from(JSON.stringify(samples.map(({ skill }) => skill)))).slice(0, 40))
}
