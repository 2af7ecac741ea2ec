import { inSlices, stepByStep } from '../../base/cooperative.ts'
import type { CatalogFile } from '../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { filesToInstall } from '../../sync/catalog/folder-skills.ts'
import { choicesDigestOf } from '../../sync/catalog/pack.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import { objectIdOf } from '../../sync/upstream/git/objects/git-object.ts'
import type { Registry } from '../registry.ts'
import type { PackParts } from './marketplace-pack.ts'
import { marketplaceRevision } from './marketplace-revision.ts'
import type { MarketplaceRevision } from './marketplace-revision.ts'
import { pluginsIn } from './plugins.ts'
import type { LeftOutSkill, MarketplaceConfig, PluginList } from './plugins.ts'
import { readWhole } from './read-whole.ts'
import { RevisionPacks } from './revision-packs.ts'

/** The operator's configuration of the marketplace, with the services of the daemon for it. */
export interface MarketplaceHost extends Pick<PackParts, 'openScratch'> {
  readonly config: MarketplaceConfig
  /** Called once for each skill and reason. */
  readonly onLeftOut: (skill: LeftOutSkill) => void
}

/** The parts behind the marketplaces. */
export interface MarketplaceParts extends MarketplaceHost, PackParts {
  readonly registry: Pick<Registry, 'catalog'>
  /** Returns the packs that are configured now. */
  readonly packs: () => readonly Pack[]
}

/** A marketplace as a caller sees it. */
export interface MarketplaceView {
  readonly name: string
  /** The packs that are plugins of it; `undefined`: all, and the skills that are in none. */
  readonly visible: ReadonlySet<string> | undefined
}

/** A marketplace of the served catalog. */
export interface ServedMarketplace {
  readonly revision: MarketplaceRevision
  readonly packs: RevisionPacks
}

/** The plugin marketplaces of what is served: one for each set of packs that a caller sees. */
export class Marketplaces implements AsyncDisposable {
  readonly #parts: MarketplaceParts
  /** The least recently used view comes first. */
  readonly #views = new Map<string, BuiltView>()
  readonly #blobIds = new Map<string, string>()
  readonly #reported = new Set<string>()

  constructor(parts: MarketplaceParts) {
    this.#parts = parts
  }

  get config(): MarketplaceConfig {
    return this.#parts.config
  }

  /** True if there is such a pack, or was one before it was withdrawn. */
  hasPack(id: string): boolean {
    return this.config.retired.includes(id) || this.#parts.packs().some((pack) => pack.id === id)
  }

  /** Returns the marketplace of the served catalog. Concurrent callers share one build. Throws `ContentUnavailable`. */
  async serve(view: MarketplaceView): Promise<ServedMarketplace> {
    const { registry, packs } = this.#parts
    const { catalog } = registry
    const choices = choicesDigestOf(packs())
    const built = this.#viewOf(view)
    if (built.catalog !== catalog || built.choices !== choices) {
      const revision = this.#build(catalog, view)
      Object.assign(built, { catalog, choices, revision })
      // A failure is not kept: the content may be readable later.
      revision.catch(() => {
        if (built.revision === revision) built.catalog = undefined
      })
    }
    return { revision: await built.revision, packs: built.packs }
  }

  #viewOf(view: MarketplaceView): BuiltView {
    const key = JSON.stringify([view.name, view.visible && [...view.visible].toSorted()])
    const packs = new RevisionPacks(this.#parts)
    const built = this.#views.get(key) ?? { catalog: undefined, choices: '', revision: NEVER_BUILT, packs }
    this.#views.delete(key)
    this.#views.set(key, built)
    for (const [oldest, { packs: unused }] of this.#views) {
      if (this.#views.size <= MOST_VIEWS) break
      this.#views.delete(oldest)
      void unused[Symbol.asyncDispose]()
    }
    return built
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const views = [...this.#views.values()]
    this.#views.clear()
    await Promise.all(views.map(({ packs }) => packs[Symbol.asyncDispose]()))
  }

  async #build(catalog: Catalog, { name, visible }: MarketplaceView): Promise<MarketplaceRevision> {
    const config = { ...this.config, name }
    const list = await stepByStep(pluginsIn(catalog, this.#parts.packs(), config, visible))
    this.#report(list.leftOut)
    const ids = await this.#idsIn(list)
    return stepByStep(marketplaceRevision(config, list, ({ file }) => ids.get(file.sha256) ?? file.blob))
  }

  /** Returns the ids of those files that git does not name by SHA-1, by their SHA-256. */
  async #idsIn({ plugins }: PluginList): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>()
    const skills = plugins.flatMap((plugin) => [...plugin.skills.values()])
    await inSlices(skills, async (skill) => {
      for (const listed of filesToInstall(skill))
        if (listed.file.blob.length !== SHA1_DIGITS) ids.set(listed.file.sha256, await this.#blobIdOf(listed))
    })
    if (this.#blobIds.size + ids.size > MOST_IDS) this.#blobIds.clear()
    for (const [sha256, id] of ids) this.#blobIds.set(sha256, id)
    return ids
  }

  async #blobIdOf(listed: CatalogFile): Promise<string> {
    const { sha256 } = listed.file
    const known = this.#blobIds.get(sha256)
    return known ?? objectIdOf({ type: 'blob', bytes: await readWhole(listed, this.#parts.read) }, 'sha1')
  }

  #report(leftOut: readonly LeftOutSkill[]): void {
    for (const skill of leftOut) {
      const key = JSON.stringify([skill.place, skill.why])
      if (this.#reported.has(key)) continue
      this.#reported.add(key)
      this.#parts.onLeftOut(skill)
    }
  }
}

const SHA1_DIGITS = 40

/** The ids that are kept for the next revisions. */
const MOST_IDS = 100_000

/** The views whose revisions and packs are kept. */
const MOST_VIEWS = 16

interface BuiltView {
  catalog: Catalog | undefined
  choices: string
  revision: Promise<MarketplaceRevision>
  readonly packs: RevisionPacks
}

const NEVER_BUILT = new Promise<never>(() => {})
