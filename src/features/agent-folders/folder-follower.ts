import { dirname } from 'node:path'
import { resultWithin } from '../../base/async/wait-at-most.ts'
import { ifHomeIsKnown } from '../../daemon/config/environment.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import { futurePath } from '../../daemon/runtime/resolve-path.ts'
import { isWithin } from '../../daemon/runtime/skill-folders.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import type { Registry } from '../../serve/registry.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Publisher } from '../../sync/pull/publisher.ts'
import { applyPlan, isRecorded, whyNot } from './apply-plan.ts'
import type { Done, Recording } from './apply-plan.ts'
import { fetchedIn } from './fetched-skills.ts'
import type { FetchedSkills } from './fetched-skills.ts'
import { planOf } from './folder-plan.ts'
import type { WorkControl } from './folder-plan.ts'
import { isFolder, linkCommandOf } from './folder-status.ts'
import type { KeptFolder, LinkingConfig } from './link-config.ts'
import { pathOfKept } from './link-config.ts'
import type { ServedLinks } from './link-context.ts'
import { useOfFolder } from './link-record.ts'
import type { LinkedSkill } from './link-record.ts'
import type { LinkSync } from './link-sync.ts'
import { linkTargetsOf } from './link-target.ts'
import type { LinkPlace, LinkTarget } from './link-target.ts'
import { LinkableSkills, linkableIn } from './linkable-skills.ts'
import { remainderOf } from './remainder.ts'

/** The parts of the daemon that following needs. */
export interface FollowerParts extends Pick<DaemonContext, 'store' | 'clock' | 'log' | 'environment' | 'readOnly'> {
  readonly config: LinkingConfig
  readonly registry: Registry
  readonly linking: Pick<LinkSync, 'links' | 'settled' | 'put' | 'drop'>
  readonly publisher: Pick<Publisher, 'lost'>
}

/**
 * Keeps the folders that the configuration names up to date with the catalog: does after each publish what `skillsyncd link` does
 * once, and leaves the same things alone.
 */
export class FolderFollower implements AsyncDisposable {
  readonly #parts: FollowerParts
  readonly #reaction: Reaction
  /** The linkable skills of the last catalog, for all its folders. */
  #served: (Linkables & { readonly catalog: Catalog; readonly fetched: FetchedSkills }) | undefined
  /** The number of entries that were examined or changed. */
  #entries = 0

  constructor(parts: FollowerParts) {
    this.#parts = parts
    const { clock, registry } = parts
    this.#reaction = new Reaction({
      clock,
      on: (changed) => registry.watch(changed),
      run: async (signal) => this.#round(signal),
    })
  }

  /** Follows each catalog from now on. */
  watch(): void {
    if (this.#parts.config.links.length > 0) this.#reaction.start()
  }

  /** Follows what is served now. Puts back what was removed. A round that has not begun yet is enough. */
  follow(): void {
    if (this.#parts.config.links.length > 0) this.#reaction.trigger()
  }

  /**
   * Resolves when the folders have what was served at the time of the call, as far as that is possible: a folder that
   * hangs, such as one on a lost network mount, is not waited for.
   */
  async settled(): Promise<void> {
    const idle = this.#reaction.settled().then(() => true)
    for (let before = -1; before !== this.#entries;) {
      before = this.#entries
      if (await resultWithin(HUNG_MS, idle, this.#parts.clock)) return
    }
  }

  /** Ends the following. A round that hangs is left, and records and places nothing if it goes on later. */
  async [Symbol.asyncDispose](): Promise<void> {
    void this.#reaction[Symbol.asyncDispose]()
    await this.settled()
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { log, registry, store, readOnly, linking } = this.#parts
    // While the disabled skills are unknown, the folders keep what they have.
    const isUnknown = registry.catalog.generation === 0 || store.decisions.areUnknown
    if (isUnknown || readOnly?.() !== undefined) return
    await linking.settled()
    const first = await this.#pass()
    // A name that the last folder gave up is free for those before it.
    const isFreed = first.removed > 0 && first.problems.length > 0
    const { problems } = isFreed ? await this.#pass() : first
    if (signal.aborted) return
    for (const path of this.#paths) {
      const message = problems.flatMap((problem) => (problem.path === path ? [problem.message] : [])).join('; ')
      const failure = { source: '', folder: path, code: 'cannot-link', message }
      if (message === '') log.recovery(EVENT, '', path)
      else log.failure('warn', EVENT, failure, message)
    }
  }

  /** The paths that the configuration names. Links in them are not resolved. */
  get #paths(): ReadonlySet<string> {
    const { config, environment } = this.#parts
    return new Set(config.links.map((kept) => nameOf(kept, environment)))
  }

  /** Ends the failures of folders that the earlier follower had, and this one has not. */
  takeOver(before: FolderFollower): void {
    for (const path of before.#paths) if (!this.#paths.has(path)) this.#parts.log.recovery(EVENT, '', path)
  }

  /** Brings each folder up to date once. */
  async #pass(): Promise<Pass> {
    const { wanted, problems } = await this.#wanted()
    const passes: Pass[] = [{ problems, removed: 0 }]
    const linkables = await this.#linkables()
    for (const folder of wanted) {
      if (this.#reaction.signal.aborted) break
      passes.push(await this.#followIn(folder, linkables))
    }
    return {
      problems: passes.flatMap((pass) => pass.problems),
      removed: passes.reduce((sum, { removed }) => sum + removed, 0),
    }
  }

  /** Each folder once. A folder that must not be linked into is a problem, and keeps no other from being followed. */
  async #wanted(): Promise<{ readonly wanted: readonly WantedFolder[]; readonly problems: readonly FolderProblem[] }> {
    const { config, environment } = this.#parts
    const problems: FolderProblem[] = []
    const wanted = new Map<string, WantedFolder>()
    for (const kept of config.links) {
      const path = nameOf(kept, environment)
      try {
        const place = placeOf(kept, environment)
        await expectGround(kept, path, this.#parts)
        const [target] = await linkTargetsOf([place], config)
        if (target === undefined) continue
        const { folder, uses } = target
        const other = wanted.get(folder)
        if (other !== undefined && other.copies !== kept.copies)
          problems.push({ path, message: `"${folder}" is named once for links and once for copies` })
        wanted.set(folder, {
          path: other?.path ?? path,
          folder,
          uses: [...(other?.uses ?? []), ...uses],
          copies: other?.copies ?? kept.copies,
        })
      } catch (error) {
        problems.push({ path, message: messageOf(error) })
      }
    }
    return { wanted: [...wanted.values()], problems }
  }

  async #followIn({ path, folder, uses, copies }: WantedFolder, linkables: Linkables): Promise<Pass> {
    const { config, store, publisher, log, linking } = this.#parts
    const recording: Recording = {
      put: async (put) => linking.put(put),
      drop: async (drop) => linking.drop(drop),
      known: async () => linking.links,
      // Each request verifies files and writes the whole record.
      atOnce: Number.POSITIVE_INFINITY,
    }
    const pace: WorkControl = { signal: this.#reaction.signal, onEntry: () => (this.#entries += 1) }
    try {
      // Before anything is removed: another process may be the writer by now.
      await store.folder.expectRight()
      const state = { config, store, links: linking.links, ...linkables }
      const ground = { config, store, lost: publisher.lost }
      const wanted = { folder, only: undefined, copies, remainderOf: (one: LinkedSkill) => remainderOf(one, ground) }
      const plan = await planOf(wanted, state, pace)
      if (plan.steps.every(({ kind }) => kind === 'kept') && isRecorded({ plan, uses, state })) return NOTHING
      const done = await applyPlan({ plan, uses, state, recording }, pace)
      const put = done.filter(({ end }) => end === 'linked' || end === 'copied').length
      const removed = done.filter(({ end }) => end === 'removed').length
      if (put + removed > 0) log.info('folder-followed', { folder, put, removed })
      const command = linkCommandOf({ uses, copies, only: undefined })
      const messages = problemsIn(done, { folder, command })
      return { problems: messages.map((message) => ({ path, message })), removed }
    } catch (error) {
      if (this.#reaction.signal.aborted) return NOTHING
      const message = `Cannot link into "${folder}": ${messageOf(error)}`
      return { problems: [{ path, message }], removed: 0 }
    }
  }

  async #linkables(): Promise<Linkables> {
    const { catalog } = this.#parts.registry
    const fetched = await fetchedIn(catalog, this.#parts)
    if (this.#served?.catalog !== catalog || this.#served.fetched !== fetched) {
      const linkable = linkableIn(catalog, fetched)
      this.#served = { catalog, fetched, linkable, meant: new LinkableSkills(linkable) }
    }
    const { linkable, meant } = this.#served
    return { linkable, meant }
  }
}

/** Longer than any disk takes for one entry. */
const HUNG_MS = 10_000

const EVENT = 'folders-not-followed'

/** The reason why a folder of the configuration is not up to date. */
interface FolderProblem {
  readonly path: string
  readonly message: string
}

/** The skills that can be linked, for all folders of one pass. */
type Linkables = Pick<ServedLinks, 'linkable' | 'meant'>

interface WantedFolder extends LinkTarget {
  /** The path in the configuration. */
  readonly path: string
  readonly copies: boolean
}

/** The result of bringing folders up to date. */
interface Pass {
  readonly problems: readonly FolderProblem[]
  /** The number of skills that were taken out. */
  readonly removed: number
}

const NOTHING: Pass = { problems: [], removed: 0 }

/** The path of the folder in messages; the agent where the home that it is in is not known. */
function nameOf(kept: KeptFolder, environment: DaemonContext['environment']): string {
  return ifHomeIsKnown(() => pathOfKept(kept, environment)) ?? ('to' in kept ? kept.to : kept.agent)
}

/** The use of a folder of the configuration, and its path. */
function placeOf(kept: KeptFolder, environment: DaemonContext['environment']): LinkPlace {
  const path = pathOfKept(kept, environment)
  return { use: 'to' in kept ? useOfFolder(path) : { agent: kept.agent }, path }
}

/**
 * Throws if the folder cannot be where it is to be. A service whose user has no home is given its state folder for one,
 * where no agent looks. A home or a mount that is not there yet is not made: what is put there would be hidden later.
 */
async function expectGround(kept: KeptFolder, path: string, { environment, config }: FollowerParts): Promise<void> {
  if ('agent' in kept && isWithin(await futurePath(path), await futurePath(config.state)))
    throw new OperatorError(
      'cannot-link',
      `Cannot fill the folder of ${kept.agent}: this service has no home; skillsyncd service install --user, ` +
        `as the user whose agent reads, runs one that has, or the agent has the skills over MCP`,
    )
  const home = ifHomeIsKnown(() => environment.home)
  const ground = home !== undefined && 'agent' in kept && isWithin(path, home) ? home : dirname(path)
  if (await isFolder(ground)) return
  throw new OperatorError('cannot-link', `Cannot fill "${path}": there is no folder "${ground}"; make it, or mount it`)
}

/** One sentence for a folder, because many skills fail for one reason, such as a folder that cannot be written. */
function problemsIn(
  done: readonly Done[],
  { folder, command }: { readonly folder: string; readonly command: string },
): readonly string[] {
  const amiss = done.filter(({ end }) => end === 'failed' || end === 'left' || end === 'clash')
  const [first] = amiss
  if (first === undefined) return []
  const { name, skill, why = 'it is in the way' } = first
  const others = amiss.length === 1 ? '' : ` and ${amiss.length - 1} more`
  return [
    `"${folder}" ${skill === undefined ? 'still has' : 'lacks'} ${name}${others}: ${clashText(first) ?? why}; try, as the user of the daemon: ${command}`,
  ]
}

function clashText({ end, linked }: Done): string | undefined {
  if (end !== 'clash') return undefined
  return linked === undefined
    ? 'another skill has the name'
    : `the name is used by ${linked.source}/${linked.path}, which keeps it until it is disabled`
}

function messageOf(error: unknown): string {
  return error instanceof OperatorError || error instanceof UsageError ? error.message : whyNot(error)
}
