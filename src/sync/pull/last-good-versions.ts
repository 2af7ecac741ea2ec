import { joinPath } from '../../base/paths.ts'
import type { LockEntry } from '../model/decisions/lock.ts'
import { comparePaths } from '../model/digest.ts'
import type { ObjectId, Revision } from '../model/revision.ts'
import type { Skill } from '../model/skill.ts'
import { proofOf, storedProof } from '../model/snapshot.ts'
import type { KeptRevision, Snapshot } from '../model/snapshot.ts'
import { NotSigned, SyncError } from '../model/sync-error.ts'
import type { GoodVersion, JudgeAgain } from '../survey/last-good.ts'
import { survey } from '../survey/survey.ts'
import { NOTHING_KNOWN } from '../upstream/upstream.ts'
import { signersOf } from './check-signers.ts'
import { rulesFor } from './pull-context.ts'
import type { TreePull } from './pull-context.ts'

/** Upstream no longer has a commit that the lock names for an earlier version of a skill. */
export class VersionLost extends SyncError {}

/**
 * Finds the last good versions of skills for one pull: those that the lock names, if the source is locked, and otherwise
 * what is served.
 */
export class LastGoodVersions {
  readonly #pull: TreePull
  /** The revisions that versions are from, by commit. */
  readonly #revisions = new Map<ObjectId, KeptRevision>()
  /** The root after all links, at the commit of the pull. */
  #root: string

  constructor(pull: TreePull) {
    this.#pull = pull
    this.#root = pull.source.root
    for (const snapshot of [pull.earlier, pull.served]) if (snapshot !== undefined) this.#remember(snapshot)
  }

  /** Throws `VersionLost` if upstream no longer has a commit that the lock names. */
  async of(paths: ReadonlySet<string>, again: JudgeAgain, root: string): Promise<ReadonlyMap<string, GoodVersion>> {
    this.#root = root
    const good = new Map<string, GoodVersion>()
    const missing: Wanted[] = []
    for (const wanted of [...paths].flatMap((path) => this.#wantedAt(path) ?? [])) {
      const skill = wanted.served && (await this.#servedAgain(wanted.served, wanted, again))
      if (skill !== undefined) good.set(wanted.path, goodVersion(skill, wanted))
      else if (wanted.isFetched) missing.push(wanted)
    }
    for (const wanted of Map.groupBy(missing, ({ revision }) => revision.commit).values())
      for (const version of await this.#fetch(wanted)) good.set(version.skill.path, version)
    return good
  }

  /** The revisions of the earlier versions among the skills, sorted by commit. */
  revisionsOf(skills: readonly Skill[]): readonly KeptRevision[] {
    const commits = new Set(skills.flatMap(({ kept }) => kept?.commit ?? []))
    return [...commits].toSorted(comparePaths).map((commit) => {
      const known = this.#revisions.get(commit)
      if (known === undefined) throw new TypeError(`The revision of commit ${commit} is not known`)
      return known
    })
  }

  #remember({ revision, proof, keptFrom = [] }: Snapshot): void {
    for (const one of [...keptFrom, { revision, proof }]) this.#revisions.set(one.revision.commit, one)
  }

  #wantedAt(path: string): Wanted | undefined {
    const { orders, served, source } = this.#pull
    if (orders.locked !== undefined) return this.#lockedAt(path, orders.locked)
    if (served !== undefined) return this.#servedAt(path, served)
    const { former } = orders
    const skill = former?.url === source.url && former.root === source.root ? former.skills.get(path) : undefined
    if (former === undefined || skill === undefined) return undefined
    const revision = { ...(skill.from ?? former.revision), asked: source.ref }
    return { path, revision, digest: skill.digest, served: undefined, since: undefined, isFetched: true }
  }

  #lockedAt(path: string, entry: LockEntry): Wanted | undefined {
    const locked = entry.skills.get(path)
    if (locked?.from === undefined) return undefined
    const { digest, from } = locked
    const now = this.#pull.served && this.#servedAt(path, this.#pull.served)
    const isServed = now?.digest === digest && now.revision.commit === from.commit
    const revision = { ...from, asked: entry.asked }
    return { path, revision, digest, served: isServed ? now.served : undefined, since: undefined, isFetched: true }
  }

  #servedAt(path: string, snapshot: Snapshot): Wanted | undefined {
    const { orders, revision, earlier } = this.#pull
    // Paths below another root mean other skills.
    if (snapshot.roots?.skills !== this.#root) return undefined
    // A person chose this commit and its state, not what is newer.
    if (orders.decision.hold !== undefined && revision.commit !== snapshot.revision.commit) return undefined
    const skill = snapshot.skills.find((one) => one.path === path && one.standing !== 'withheld')
    if (skill === undefined) return undefined
    const { kept, digest } = skill
    const from = kept === undefined ? snapshot.revision : this.#revisions.get(kept.commit)?.revision
    if (from === undefined) return undefined
    // Without `earlier`, the store is known to be damaged.
    return { path, revision: from, since: kept?.since, digest, served: skill, isFetched: earlier === undefined }
  }

  async #servedAgain(served: Skill, { revision }: Wanted, again: JudgeAgain): Promise<Skill | undefined> {
    const known = this.#revisions.get(revision.commit)
    try {
      if (known !== undefined) await this.#pull.io.prove?.(proofOf(known), known.revision, 'again')
      return await again(served)
    } catch (error) {
      if (!(error instanceof NotSigned) || this.#pull.orders.locked !== undefined) throw error
      return undefined
    }
  }

  /** Fetches versions that are of one revision. */
  async #fetch(wanted: readonly Wanted[]): Promise<readonly GoodVersion[]> {
    const [first] = wanted
    if (first === undefined) return []
    try {
      const skills = await this.#skillsAt(first.revision, new Set(wanted.map(({ path }) => path)))
      return wanted.flatMap((one) => {
        const skill = skills.find(({ path }) => path === one.path)
        return skill?.digest === one.digest && skill?.digest !== undefined ? [goodVersion(skill, one)] : []
      })
    } catch (error) {
      if (!(error instanceof SyncError) || !LOST.has(error.code)) throw error
      if (this.#pull.orders.locked === undefined) return []
      throw error.code === 'ref-not-found' ? this.#lost(first, error) : error
    }
  }

  /** The skills at these paths, as the present rules judge them alone. Their files are in the store then. */
  async #skillsAt(revision: Revision, only: ReadonlySet<string>): Promise<readonly Skill[]> {
    const { upstream, io, signal } = this.#pull
    const within = [...only].map((path) => joinPath(this.#root, path))
    await using tree = await upstream.fetch(revision, { ...NOTHING_KNOWN, within }, signal)
    const signers = await signersOf(this.#pull, tree)
    const { selection, limits } = rulesFor(this.#pull)
    const rules = { selection: { ...selection, docs: undefined, marketplace: false }, limits }
    const around = { earlier: undefined, served: undefined, reader: io.reader, only }
    const { skills } = await survey(tree, rules, around, signal)
    const { commit } = revision
    this.#revisions.set(commit, { revision: tree.revision, proof: storedProof(tree.proof, signers) })
    return skills
  }

  #lost({ path, revision }: Wanted, cause: SyncError): VersionLost {
    const { id } = this.#pull.source
    const what = `Cannot fetch commit ${revision.commit} of "${id}", which the lock has "${path}" from`
    const tries = `restore the state folder of a machine that has it, or move the lock with skillsyncd update ${id}`
    return new VersionLost('ref-not-found', `${what}: upstream no longer has it; ${tries}`, { cause })
  }
}

/** One version that may be kept. */
interface Wanted {
  readonly path: string
  readonly revision: Revision
  /** The first commit with a broken version; `undefined` for the one of this pull. */
  readonly since: ObjectId | undefined
  readonly digest: string | undefined
  /** The skill of the served snapshot that is this version. */
  readonly served: Skill | undefined
  /** True if the version may be fetched, where the served one is missing or damaged. */
  readonly isFetched: boolean
}

function goodVersion(skill: Skill, { revision, since }: Wanted): GoodVersion {
  return { skill, commit: revision.commit, since }
}

/** The failures that concern only the earlier commit. */
const LOST: ReadonlySet<string> = new Set(['ref-not-found', 'root-not-found', 'content-refused', 'revision-unverified'])
