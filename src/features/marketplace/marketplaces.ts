import { systemClock } from '../../base/async/clock.ts'
import { inSlices, runInSlices } from '../../base/async/cooperative.ts'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import type { Registry } from '../../serve/registry.ts'
import type { View } from '../../serve/view.ts'
import type { CatalogFile } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { filesToInstall } from '../../sync/catalog/folder-skills.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import { objectIdOf } from '../../sync/upstream/objects/git-object.ts'
import type { MarketplaceConfig } from './marketplace-config.ts'
import type { PackfileParts } from './marketplace-packfile.ts'
import { marketplaceRevision } from './marketplace-revision.ts'
import type { MarketplaceRevision } from './marketplace-revision.ts'
import { pluginsIn } from './plugins.ts'
import type { LeftOutSkill, Plugin } from './plugins.ts'
import { AGAIN_MS, ContentUnavailableError, readWhole } from './read-whole.ts'
import { RevisionPackfiles } from './revision-packfiles.ts'
import type { OpenPackfile } from './revision-packfiles.ts'

/** The operator's configuration of the marketplace, with the services of the daemon for it. */
export interface MarketplaceHost extends Pick<PackfileParts, 'openScratch'> {
  readonly config: MarketplaceConfig
  /** Called for each skill that is in no plugin, once while it is left out for the same reason. */
  readonly onLeftOut: (skill: LeftOutSkill) => void
}

/** The parts behind the marketplaces. */
export interface MarketplaceParts extends MarketplaceHost, PackfileParts {
  /** Returns the catalog that is served in a ring after the first; for `undefined`, in the first. */
  readonly catalogIn: (ring: string | undefined) => Catalog
  /** Returns the packs that are configured now. */
  readonly packs: () => readonly Pack[]
}

/** A marketplace as a caller sees it, with the packs of its view as plugins. */
export interface MarketplaceScope extends Pick<View, 'packs' | 'ring'> {
  /** The id of the pack that it has alone; `undefined` for the marketplace of all that the caller sees. */
  readonly pack: string | undefined
}

/** A marketplace of the served catalog. */
export interface ServedMarketplace {
  readonly revision: MarketplaceRevision
  /** True if this is the commit of a revision that a client may have fetched lately. */
  readonly isKnown: (commit: string) => boolean
  /** Returns the ids of the objects that none of these known commits has. */
  readonly without: (commits: readonly string[]) => readonly string[]
  /** Opens the pack of the revision, which is written first if it has to be. Throws `ContentUnavailableError`. */
  readonly open: () => Promise<OpenPackfile>
}

/** The plugin marketplaces of what is served: one for each set of packs that a caller sees. */
export class Marketplaces implements AsyncDisposable {
  /** The least recently used one comes first. */
  readonly #built = new Map<string, BuiltMarketplace>()
  readonly #blobIds = new Map<string, string>()
  readonly #writing = new SerialQueue()
  readonly #preparing: Reaction
  #onError: (error: unknown) => void = () => {}
  #reported: ReadonlySet<string> = new Set()
  #parts: MarketplaceParts | undefined

  /** `registry`: what is served, if it is to be prepared for clients. */
  constructor(registry?: Pick<Registry, 'watch'>) {
    this.#preparing = new Reaction({
      clock: systemClock,
      ...(registry && { on: (changed) => registry.watch(changed) }),
      run: async () => this.#prepareInUse(),
    })
  }

  /** Serves from these parts from now on, also the requests that began before. `undefined`: there is no marketplace. */
  use(parts: MarketplaceParts | undefined): void {
    this.#parts = parts
  }

  /** True if there is such a pack, or was one before it was retired. */
  hasPack(id: string): boolean {
    const { config, packs } = this.#parts ?? {}
    return config?.retired.includes(id) === true || packs?.().some((pack) => pack.id === id) === true
  }

  /** Returns the marketplace of the served catalog. Concurrent callers share one build. Throws `ContentUnavailableError`. */
  async serve(scope: MarketplaceScope): Promise<ServedMarketplace> {
    const parts = this.#parts
    if (parts === undefined) throw new ContentUnavailableError('There is no marketplace any more')
    const built = await this.#builtFor(parts, scope)
    built.usedAtMs = parts.now()
    return this.#serveBuilt(built, parts)
  }

  /**
   * Writes in the background the packs that clients of each served catalog will fetch: of the whole marketplace, and of
   * those that were requested within a day. A large pack takes long, and clients do not wait (Codex for 30 s).
   * `onError` receives an unexpected error.
   */
  prepare(onError: (error: unknown) => void): void {
    this.#onError = onError
    this.#preparing.start(0)
  }

  async #prepareInUse(): Promise<void> {
    const parts = this.#parts
    if (parts === undefined || parts.catalogIn(undefined).generation === 0) return
    await this.#builtFor(parts, EVERYTHING)
    const isInUse = ({ scope, usedAtMs }: BuiltMarketplace): boolean =>
      isEverything(scope) || parts.now() - usedAtMs < DAY_MS
    for (const built of [...this.#built.values()].filter(isInUse))
      await this.#prepareOne(built, parts).catch(this.#onError)
  }

  async #prepareOne(built: BuiltMarketplace, parts: MarketplaceParts): Promise<void> {
    if (this.#preparing.signal.aborted) return
    try {
      const { open } = await this.#serveBuilt(built, parts)
      await using _ = await open()
    } catch (error) {
      if (!(error instanceof ContentUnavailableError)) throw error
    }
  }

  async #serveBuilt(built: BuiltMarketplace, parts: MarketplaceParts): Promise<ServedMarketplace> {
    const { scope, packfiles, latest } = built
    const catalog = parts.catalogIn(scope.ring)
    const settings = settingsOf(parts)
    const isCurrent = latest?.catalog === catalog && latest.settings === settings && parts.now() < latest.againAtMs
    const build = isCurrent ? latest : this.#begin(parts, catalog, scope)
    built.latest = build
    const revision = await build.revision
    return {
      revision,
      isKnown: (commit) => packfiles.isKnown(commit),
      without: (commits) => packfiles.without(revision, commits),
      open: () => packfiles.open(revision, parts),
    }
  }

  #begin(parts: MarketplaceParts, catalog: Catalog, scope: MarketplaceScope): MarketplaceBuild {
    const settings = settingsOf(parts)
    const build = { catalog, settings, revision: this.#build(parts, catalog, scope), againAtMs: Infinity }
    // A failed build reads many files, so it is not repeated with each request.
    build.revision.catch(() => (build.againAtMs = parts.now() + AGAIN_MS))
    return build
  }

  async #builtFor(parts: MarketplaceParts, { pack, packs, ring }: MarketplaceScope): Promise<BuiltMarketplace> {
    const names = new Set([...parts.packs().map(({ id }) => id), ...parts.config.retired])
    // A pack that a token names before it exists is no part of what callers with the same packs share.
    const seen = packs && [...packs].filter((id) => names.has(id)).toSorted()
    const key = JSON.stringify([pack, seen, ring])
    const known = this.#built.get(key)
    const built = known ?? {
      scope: { pack, packs: seen && new Set(seen), ring },
      packfiles: new RevisionPackfiles(this.#writing, this.#preparing.signal),
      usedAtMs: -Infinity,
      latest: undefined,
    }
    // A request of before a change of the configuration may come after the end: it leaves nothing behind.
    if (this.#preparing.signal.aborted) {
      await built.packfiles[Symbol.asyncDispose]()
      return built
    }
    this.#built.delete(key)
    this.#built.set(key, built)
    for (const [oldest, { packfiles }] of this.#built) {
      if (this.#built.size <= MOST_MARKETPLACES) break
      this.#built.delete(oldest)
      await packfiles[Symbol.asyncDispose]()
    }
    return built
  }

  async #build(
    parts: MarketplaceParts,
    catalog: Catalog,
    { pack, packs }: MarketplaceScope,
  ): Promise<MarketplaceRevision> {
    const { config } = parts
    const { plugins, leftOut } = await runInSlices(pluginsIn(catalog, parts.packs(), config, packs))
    this.#report(leftOut, parts)
    const ids = await this.#idsIn(plugins, parts)
    const name = pack === undefined ? config.name : `${config.name}-${pack}`
    return runInSlices(
      marketplaceRevision({ ...config, name }, plugins, ({ file }) => ids.get(file.sha256) ?? file.blob),
    )
  }

  /** Returns the ids of those files that git does not name by SHA-1, by their SHA-256. */
  async #idsIn(plugins: readonly Plugin[], parts: MarketplaceParts): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>()
    const skills = plugins.flatMap((plugin) => [...plugin.skills.values()])
    await inSlices(skills, async (skill) => {
      if (this.#preparing.signal.aborted) throw new ContentUnavailableError('The server stops')
      for (const listed of filesToInstall(skill))
        if (listed.file.blob.length !== SHA1_DIGITS) ids.set(listed.file.sha256, await this.#blobIdOf(listed, parts))
    })
    if (this.#blobIds.size + ids.size > MOST_IDS) this.#blobIds.clear()
    for (const [sha256, id] of ids) this.#blobIds.set(sha256, id)
    return ids
  }

  async #blobIdOf(listed: CatalogFile, { read }: MarketplaceParts): Promise<string> {
    const known = this.#blobIds.get(listed.file.sha256)
    return known ?? objectIdOf({ type: 'blob', bytes: await readWhole(listed, read) }, 'sha1')
  }

  #report(leftOut: readonly LeftOutSkill[], { onLeftOut }: MarketplaceParts): void {
    const before = this.#reported
    this.#reported = new Set(leftOut.map(({ place, why }) => JSON.stringify([place, why])))
    for (const skill of leftOut) if (!before.has(JSON.stringify([skill.place, skill.why]))) onLeftOut(skill)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#preparing[Symbol.asyncDispose]()
    const built = [...this.#built.values()]
    this.#built.clear()
    await Promise.all(built.map(({ packfiles }) => packfiles[Symbol.asyncDispose]()))
  }
}

const SHA1_DIGITS = 40

/** The ids that are kept for the next revisions. */
const MOST_IDS = 100_000

/** The marketplaces whose revisions and packs are kept: as many as there may be views. */
const MOST_MARKETPLACES = 64

/** The time after the last request for which the pack of a marketplace is prepared. */
const DAY_MS = 86_400_000

const EVERYTHING: MarketplaceScope = { pack: undefined, packs: undefined, ring: undefined }

function isEverything({ pack, packs, ring }: MarketplaceScope): boolean {
  return pack === undefined && packs === undefined && ring === undefined
}

interface BuiltMarketplace {
  readonly scope: MarketplaceScope
  readonly packfiles: RevisionPackfiles
  /** The time of the last request. */
  usedAtMs: number
  latest: MarketplaceBuild | undefined
}

interface MarketplaceBuild {
  readonly catalog: Catalog
  readonly settings: string
  readonly revision: Promise<MarketplaceRevision>
  /** The time of the next build for the same catalog. */
  againAtMs: number
}

/** Equal texts mean equal plugins of the same skills. */
function settingsOf({ config, packs }: MarketplaceParts): string {
  return JSON.stringify([config, packs()])
}
