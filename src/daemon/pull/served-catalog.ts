import { setImmediate as turn } from 'node:timers/promises'
import { SharedWork } from '../../base/async/serial-queue.ts'
import type { Views } from '../../serve/views.ts'
import type { GenerationCause, Trigger } from '../../sync/model/generation.ts'
import type { ServedSource, Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import type { Admission, LostSource } from '../../sync/pull/load-generation.ts'
import type { Changed, PublicationTerms, Publisher } from '../../sync/pull/publisher.ts'
import type { PromotionRules, RingContents, RingPromotion } from '../../sync/pull/rings/ring-contents.ts'
import { snapshotWithMismatches } from '../../sync/store/skills/listing-mismatches.ts'
import { snapshotWithTexts } from '../../sync/survey/listing-hidden-text.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { followDisabled } from './load-decisions.ts'

export interface ServedCatalogParts extends Pick<DaemonContext, 'store' | 'clock' | 'log'> {
  readonly config: Config
  readonly views: Pick<Views, 'prepare' | 'replace'>
  readonly publisher: Publisher
}

/** The served content of each source. Each change is a new generation on the disk before clients see it. */
export class ServedCatalog {
  readonly #parts: ServedCatalogParts
  readonly #publisher: Publisher
  readonly #servers: readonly McpSource[]
  readonly #serving = new SharedWork(async () => {
    await this.#parts.views.prepare(await this.#publisher.readied())
    this.serve()
  })

  constructor(parts: ServedCatalogParts) {
    this.#parts = parts
    this.#publisher = parts.publisher
    this.#servers = parts.config.sources.flatMap(({ source }) => (source.kind === 'mcp' ? source : []))
  }

  currentOf(source: SourceId): ServedSource | undefined {
    return this.#publisher.currentOf(source)
  }

  /** The served content of all sources that have any, in their order. */
  get current(): readonly ServedSource[] {
    return this.#parts.config.sources.flatMap(({ source }) => this.currentOf(source.id) ?? [])
  }

  /** The sources whose served content is lost on disk, until it is restored. */
  get lost(): readonly LostSource[] {
    return this.#publisher.lost
  }

  /** Creates a generation of the changes and serves it. Without a signal it is never interrupted. */
  async publish(changed: Changed, cause: GenerationCause, terms: Partial<PublicationTerms> = {}): Promise<void> {
    await followDisabled(
      [...changed.values()].flatMap((current) => current?.snapshot ?? []),
      this.#parts,
    )
    await this.#publisher.publish(changed, cause, this.#parts.clock.now(), { signal: NEVER, ...terms })
    // Adds findings that the snapshot lacks: those made while it was built, and those since it was last served.
    for (const source of this.#servers) if (changed.has(source.id)) await this.#isAmended(source, cause.trigger)
    // Building a catalog of thousands of skills takes long, and so does notifying of the changes: pending requests are
    // answered first. The first turn ends in the same round of the event loop, which reads no new input.
    await turn()
    await turn()
    await this.serveInSlices()
  }

  /**
   * Applies the findings in fetched files of an MCP server to what is served. It does not wait for a pull: a server
   * that hangs must not keep a skill in service.
   */
  async applyFindings(source: McpSource, trigger: Trigger): Promise<void> {
    if (await this.#isAmended(source, trigger)) await this.serveInSlices()
  }

  /** Returns true if that created a generation to serve. */
  async #isAmended({ id, hiddenUnicode }: McpSource, trigger: Trigger): Promise<boolean> {
    const { store, clock } = this.#parts
    const change = async (snapshot: Snapshot): Promise<Snapshot> => {
      const found = snapshotWithMismatches(snapshot, await store.upstreams.mismatches(id))
      return snapshotWithTexts(found, await store.upstreams.texts(id), hiddenUnicode)
    }
    return this.#publisher.amend(id, change, { action: 'update', trigger, source: id }, clock.now())
  }

  /**
   * Rewrites from memory what the disk has lost of a source since: a restart must find what is served now. Returns true
   * if it was lost.
   */
  async mend(id: SourceId, trigger: Trigger, signal: AbortSignal): Promise<boolean> {
    const cause: GenerationCause = { action: 'update', trigger, source: id }
    const isMended = await this.#publisher.mend(id, cause, this.#parts.clock.now(), signal)
    if (isMended) this.serve()
    return isMended
  }

  /**
   * Like `serve`, but first builds the catalogs and their changes in slices, so that other clients are served meanwhile.
   * Sources that were published together share it.
   */
  async serveInSlices(): Promise<void> {
    await this.#serving.run()
  }

  /** Serves the newest generation, without the skills that are disabled now. */
  serve(): void {
    // Never a catalog that was built before a wait: the operator may have disabled one of its skills meanwhile.
    this.#parts.views.replace(this.#publisher.catalogs)
  }

  /** The content of the rings, where it differs from that of the first ring. */
  get rings(): RingContents {
    return this.#publisher.rings
  }

  /** The content that some ring after the first serves in place of that of the first. */
  get currentInRings(): readonly ServedSource[] {
    return this.#publisher.heldInRings
  }

  /** Has each ring take what it may of the ring before it, and serves that. */
  async promote(rules: PromotionRules, trigger: Trigger): Promise<readonly RingPromotion[]> {
    const promotions = await this.#publisher.promote(rules, { action: 'promote', trigger })
    if (promotions.length > 0) await this.serveInSlices()
    return promotions
  }

  /** Serves the head of the store, which another process of the hub has published. */
  async adopt(admission: Admission): Promise<void> {
    await this.#publisher.adopt(admission)
    await this.serveInSlices()
  }

  /** Resolves when everything that was to be published so far is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#publisher.settled()
  }
}

const NEVER = new AbortController().signal
