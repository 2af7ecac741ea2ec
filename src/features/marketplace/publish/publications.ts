import type { HostNames } from '../../../daemon/access/host-names.ts'
import { Keyring } from '../../../daemon/access/keyring.ts'
import type { HostBackoff } from '../../../daemon/pull/schedule/host-backoff.ts'
import type { DaemonCore } from '../../../daemon/runtime/context.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import type { PublicationEnd, PublicationStatus } from '../../../daemon/status/publication-status.ts'
import type { ReadContent } from '../../../serve/content.ts'
import type { Registry } from '../../../serve/registry.ts'
import type { Pack } from '../../../sync/catalog/pack.ts'
import type { LostSource } from '../../../sync/pull/load-generation.ts'
import { Marketplaces } from '../marketplaces.ts'
import type { Publication, PublishingConfig } from '../publication-config.ts'
import { BranchPublisher } from './branch-publisher.ts'
import { marketplaceScratch } from './marketplace-scratch.ts'
import { publicationAt } from './named-publication.ts'
import type { NamedPublication } from './named-publication.ts'
import type { PublicationCount, PublicationCounts } from './publication-counts.ts'

/** The parts of the daemon that publishing needs. */
export interface PublicationsParts extends DaemonCore<PublishingConfig> {
  readonly registry: Registry
  readonly views: { readonly packs: readonly Pack[] }
  readonly hosts: HostBackoff
  readonly names: HostNames
  readonly published: PublicationCounts
  readonly contents: { readonly read: ReadContent }
  readonly publisher: { readonly lost: readonly LostSource[] }
}

/** A request to publish now. Without a name, all publications of the configuration. */
export interface PublishRequest {
  readonly named?: NamedPublication | undefined
  /** True to push nothing. */
  readonly isDry: boolean
}

/**
 * Publishes the marketplace to git repositories, each by itself: in the background after each change of what is served,
 * and when it is requested.
 */
export class Publications implements AsyncDisposable {
  readonly #parts: PublicationsParts
  readonly #marketplaces = new Marketplaces()
  readonly #keyring: Keyring
  readonly #publishers: readonly BranchPublisher[]

  constructor(parts: PublicationsParts) {
    const { config, registry, views, contents, store, clock } = parts
    this.#parts = parts
    this.#keyring = new Keyring({ ...parts, fetchMs: config.limits.fetch.totalMs })
    this.#publishers = config.publications.map((publication) => this.#publisherOf(publication, true))
    const { marketplace } = config.serve
    this.#marketplaces.use(
      marketplace && {
        config: marketplace,
        catalogIn: () => registry.catalog,
        packs: () => views.packs,
        read: (...asked) => contents.read(...asked),
        openScratch: marketplaceScratch(store),
        now: () => clock.monotonicMs(),
        // The side that serves the marketplace reports them.
        onLeftOut: () => {},
      },
    )
  }

  /** Publishes what is served now, and each catalog from now on. */
  follow(): void {
    for (const publisher of this.#publishers) publisher.start()
  }

  /** Publishes now. Rejects if nothing can be published; the failure of one publication is an end. */
  async publish({ named, isDry }: PublishRequest, signal: AbortSignal): Promise<readonly PublicationEnd[]> {
    const why = this.#whyNot()
    if (why !== undefined) throw new OperatorError('nothing-served', `Cannot publish: ${why}`)
    if (named !== undefined) return [await this.#publishTo(named, isDry, signal)]
    if (this.#publishers.length === 0)
      throw new OperatorError(
        'bad-request',
        'Cannot publish: the configuration has no `publish` with `git`; name a repository with --git, or a folder with --to',
      )
    return Promise.all(this.#publishers.map(async (publisher) => publisher.publish(isDry, signal)))
  }

  async #publishTo(named: NamedPublication, isDry: boolean, signal: AbortSignal): Promise<PublicationEnd> {
    const { config } = this.#parts
    const publication = publicationAt(config, named)
    if ('why' in publication) throw new OperatorError('bad-request', `Cannot publish: ${publication.why}`)
    const known = this.#publishers[config.publications.findIndex((one) => isSame(one, publication))]
    if (known !== undefined) return known.publish(isDry, signal)
    await using once = this.#publisherOf(publication, false)
    return await once.publish(isDry, signal)
  }

  get status(): readonly PublicationStatus[] {
    return this.#publishers.map(({ status }) => status)
  }

  /** The state of each publication, with its counts. */
  get figures(): readonly { readonly status: PublicationStatus; readonly count: Readonly<PublicationCount> }[] {
    const { published } = this.#parts
    return this.#publishers.map(({ name, status }) => ({ status, count: published.of(name) }))
  }

  /** Ends the failures of publications that the earlier daemon had, and this one has not. */
  takeOver(before: Publications): void {
    const names = new Set(this.#publishers.map(({ name }) => name))
    for (const publisher of before.#publishers) if (!names.has(publisher.name)) publisher.recovered()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#publishers.map((publisher) => publisher[Symbol.asyncDispose]()))
    await this.#marketplaces[Symbol.asyncDispose]()
  }

  #publisherOf(publication: Publication, isKept: boolean): BranchPublisher {
    return new BranchPublisher(publication, {
      ...this.#parts,
      keyring: this.#keyring,
      marketplaces: this.#marketplaces,
      whyNot: () => this.#whyNot(),
      isKept,
    })
  }

  /**
   * The reason why what is served must not be published: a catalog that is not complete would remove skills from the
   * branch that are only not loaded.
   */
  #whyNot(): string | undefined {
    const { config } = this.#parts
    if (config.serve.marketplace === undefined) return '`serve.marketplace` is not set'
    if (config.mode.offline) return '--offline forbids network access'
    return whyIncomplete(this.#parts)
  }
}

/** The reason why what is served may lack skills that are only not loaded; `undefined` if it does not. */
export function whyIncomplete({
  registry,
  store,
  publisher,
}: Pick<PublicationsParts, 'registry' | 'store' | 'publisher'>): string | undefined {
  if (registry.catalog.generation === 0) return 'nothing is served yet; skillsyncd sync brings the first skills'
  if (store.decisions.areUnknown) return 'the decisions of the operator cannot be read'
  return publisher.lost.length > 0 ? 'the store has lost a part of what was served' : undefined
}

function isSame(one: Publication, other: Publication): boolean {
  return one.url === other.url && one.branch === other.branch && one.pack === other.pack
}
