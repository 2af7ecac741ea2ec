import type { Config } from '../../daemon/config/config.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import type { Registry } from '../../serve/registry.ts'
import type { Views } from '../../serve/views.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill, UpstreamSkill } from '../../sync/model/skill.ts'
import { Damaged, SyncError } from '../../sync/model/sync-error.ts'
import type { StoredSkill } from '../../sync/store/skills/stored-path.ts'
import { storedSkill } from '../../sync/store/skills/stored-path.ts'
import { NONE_FETCHED, fetchedIn, forgetExamined } from './fetched-skills.ts'
import { NO_LINKS, withDropped, withPut } from './link-record.ts'
import type { LinkRemoved, Links, LinkAdded, NameTaken } from './link-record.ts'
import { LinkableSkills, linkableIn } from './linkable-skills.ts'
import type { Linkable } from './linkable-skills.ts'
import { readLinks, writeLinks } from './links-file.ts'

/**
 * Keeps `links/` pointed at the served skills. Changes nothing in agents' folders: their links lead here, and the command
 * or the follower that creates them has them recorded first.
 */
export class LinkSync {
  readonly #parts: Pick<DaemonContext, 'store' | 'log' | 'clock'>
  readonly #views: Pick<Views, 'oldest'>
  #config: Config | undefined
  #onDamaged: (skill: UpstreamSkill) => void = () => {}
  #links: Links = NO_LINKS
  #failure: SyncError | undefined
  readonly #reaction: Reaction
  /** The skills whose files were verified, of those that the links lead to. */
  #verified: ReadonlySet<string> = new Set()

  constructor(
    parts: Pick<DaemonContext, 'store' | 'log' | 'clock'>,
    views: Pick<Views, 'oldest'>,
    registry: Pick<Registry, 'watch'>,
  ) {
    this.#parts = parts
    this.#views = views
    const { clock, log } = parts
    this.#reaction = new Reaction({
      clock,
      on: (changed) => registry.watch(changed),
      run: async () => {
        this.#verified = new Set()
        await this.#lead()
      },
      failures: { log, level: 'warn', event: 'links-not-switched' },
    })
  }

  /** Points the links at the skills of each catalog from now on. */
  start(): void {
    this.#reaction.start()
  }

  /** Calls back from now on for each skill of another server that is damaged in the store. */
  onDamaged(listener: (skill: UpstreamSkill) => void): void {
    this.#onDamaged = listener
  }

  /** Takes from this configuration, from now on, which MCP servers have skills to link: none before. */
  configure(config: Config): void {
    this.#config = config
  }

  /** Reads the recorded links. If that fails, the targets of the links stay as they are. */
  async read(): Promise<void> {
    await this.#reaction.inTurn(async () => {
      try {
        this.#links = await readLinks(this.#state)
        this.#failure = undefined
      } catch (error) {
        if (!(error instanceof SyncError)) throw error
        this.#failure = error
        this.#parts.log.error('links-not-read', { code: error.code, message: error.message })
      }
    })
  }

  /**
   * Points the links at the skills that are served now. If that fails, the next call makes up for it; agents continue
   * with what they have.
   */
  follow(): void {
    this.#reaction.trigger()
  }

  /** The record of the links. Empty if it could not be read; then nothing can be recorded either. */
  get links(): Links {
    return this.#links
  }

  /** Resolves when the links lead to everything that was served at the time of the call. */
  async settled(): Promise<void> {
    await this.#reaction.settled()
  }

  /** Records content that is about to be put into an agent's folder, and points its links at the served skills. */
  async put(put: LinkAdded): Promise<{ readonly taken: readonly NameTaken[] }> {
    return this.#reaction.inTurn(async () => {
      if (this.#failure !== undefined) throw this.#failure
      const { links, taken } = withPut(this.#links, put)
      await this.#write(links)
      return { taken }
    })
  }

  /** Records what was removed from an agent's folder. */
  async drop(drop: LinkRemoved): Promise<void> {
    await this.#reaction.inTurn(async () => {
      if (this.#failure !== undefined) throw this.#failure
      await this.#write(withDropped(this.#links, drop))
    })
  }

  get #state(): string {
    return this.#parts.store.folder.path
  }

  async #write(links: Links): Promise<void> {
    await this.#parts.store.folder.expectRight()
    await writeLinks(this.#state, links)
    this.#links = links
    await this.#lead()
  }

  async #lead(): Promise<void> {
    // While the disabled skills are unknown, the links keep their last known targets.
    if (this.#failure !== undefined || this.#parts.store.decisions.areUnknown) return
    const { skills } = this.#links
    const meant = new LinkableSkills(skills.size === 0 ? [] : await this.#linkable())
    const found = new Map([...skills].map(([name, linked]) => [name, meant.of(name, linked)?.skill]))
    const wanted = new Map<string, StoredSkill>()
    for (const [name, skill] of found) if (skill !== undefined) wanted.set(name, storedSkill(skill))
    using _held = this.#parts.store.checkouts.hold(wanted.values())
    const earlier = this.#verified
    this.#verified = new Set()
    const damage = await this.#withoutDamaged(wanted, earlier, (name) => this.#examineAnew(found.get(name)))
    await this.#parts.store.links.follow(wanted)
    // No more than what is led to: what nothing leads to may be collected.
    this.#verified = new Set([...wanted.values()].map(keyOf))
    // The others lead to what is served by now: one of them may be disabled.
    if (damage !== undefined) throw damage
  }

  /** A git source is repaired by its pull; the files of another server are fetched again. */
  #examineAnew(skill: Skill | undefined): void {
    if (skill === undefined || !isOfUpstream(skill)) return
    forgetExamined(skill)
    this.#onDamaged(skill)
  }

  async #linkable(): Promise<readonly Linkable[]> {
    const { store } = this.#parts
    const { catalog } = this.#views.oldest
    const fetched =
      this.#config === undefined ? NONE_FETCHED : await fetchedIn(catalog, { config: this.#config, store })
    return linkableIn(catalog, fetched)
  }

  /**
   * Makes the folders, and takes those skills out whose files are damaged. Files that `earlier` names are not read again.
   * Returns the last damage.
   */
  async #withoutDamaged(
    wanted: Map<string, StoredSkill>,
    earlier: ReadonlySet<string>,
    onDamaged: (name: string) => void,
  ): Promise<Damaged | undefined> {
    let damage: Damaged | undefined
    for (const [name, skill] of wanted) {
      try {
        if (!earlier.has(keyOf(skill))) await this.#parts.store.checkouts.ensure(skill)
      } catch (error) {
        if (!(error instanceof Damaged)) throw error
        damage = error
        wanted.delete(name)
        onDamaged(name)
      }
    }
    return damage
  }
}

function keyOf({ digest, folderName }: StoredSkill): string {
  return `${digest}/${folderName}`
}
