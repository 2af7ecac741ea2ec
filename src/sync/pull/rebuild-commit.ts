import { joinPath } from '../../base/paths.ts'
import { fewText } from '../../base/text/first-few.ts'
import { isLocked } from '../model/decisions/lock.ts'
import type { LockEntry } from '../model/decisions/lock.ts'
import { comparePaths } from '../model/digest.ts'
import type { ObjectId } from '../model/revision.ts'
import type { KeptRevision, Snapshot } from '../model/snapshot.ts'
import { SyncError } from '../model/sync-error.ts'
import type { Workspace } from '../store/objects/blob-store.ts'
import { isAboutMarketplace } from '../survey/find-marketplace.ts'
import { keptSkill } from '../survey/last-good.ts'
import type { TreeUpstream } from '../upstream/upstream.ts'
import { findLockedSkills } from './fallback/fallback-source.ts'
import type { Fallback } from './fallback/fallback-source.ts'
import { RebuiltTree } from './fallback/rebuilt-tree.ts'
import { fetchSnapshot } from './fetch-snapshot.ts'
import type { LockedPull } from './pull-context.ts'

/** The server that a locked commit is rebuilt from, and the place for its files. */
export interface Rebuild extends Pick<Workspace, 'blobs'> {
  readonly fallback: Fallback
}

/**
 * Rebuilds the locked commit of a source from another server's copies of the locked skills, or returns the reason why
 * that fails. The digests prove the skills, but nothing proves the commit: only the lock says that it had them.
 */
export async function rebuildCommit(pull: LockedPull, rebuild: Rebuild): Promise<Snapshot | { readonly why: string }> {
  const name = `its fallback "${rebuild.fallback.id}"`
  if (pull.io.prove !== undefined)
    return { why: `${name} cannot restore a source with \`signed\`: it has no signed commit` }
  if (pull.entry.docs !== undefined)
    return { why: `${name} cannot restore a source with \`docs\`: they are locked, and no server lists them` }
  try {
    return await fromListing(pull, rebuild)
  } catch (error) {
    // A failure of our own disk is temporary, and no reason to report a problem of the lock.
    if (error instanceof SyncError && error.code !== 'store-failed')
      return { why: `${name} does not give it: ${error.message}` }
    throw error
  }
}

async function fromListing(
  pull: LockedPull,
  { fallback, blobs }: Rebuild,
): Promise<Snapshot | { readonly why: string }> {
  const { entry, signal } = pull
  const { id } = fallback
  const { skills, missing } = findLockedSkills(entry, await fallback.list(signal))
  if (missing.length > 0)
    return { why: `its fallback "${id}" lists nothing with the digest of ${quotedPaths(missing)}` }
  const placed = new Map([...skills].map(([path, found]) => [joinPath(entry.root, path), found]))
  const tree = new RebuiltTree({ revision: entry.revision, root: entry.tree, fallback, blobs }, placed)
  const snapshot = await fetchSnapshot({ ...pull, revision: entry.revision, upstream: upstreamOf(tree) })
  // Without tree ids, so that no pull reuses this result for an equal tree of another commit: withheld content is
  // missing here.
  const { marketplace: _marketplace, findings: all, ...ofSkills } = snapshot
  // The files of a marketplace are missing: it is not known.
  const findings = all.filter((finding) => !isAboutMarketplace(finding))
  const whole: Snapshot = { ...withKept(ofSkills, entry), findings, folders: {}, rebuiltFrom: id }
  if (isLocked(entry, whole)) return whole
  return { why: `of what its fallback "${id}" has, this version makes other skills than are locked` }
}

/** The skills with the origins that the lock names. The versions that broke them are not known. */
function withKept<Of extends Pick<Snapshot, 'skills' | 'revision'>>(snapshot: Of, entry: LockEntry): Of {
  const { asked, commit: since } = entry.revision
  const from = new Map<ObjectId, KeptRevision>()
  const skills = snapshot.skills.map((skill) => {
    const origin = entry.skills.get(skill.path)?.from
    if (origin === undefined) return skill
    from.set(origin.commit, { revision: { ...origin, asked }, proof: { commit: '' } })
    return keptSkill(skill, { commit: origin.commit, since, faults: [] })
  })
  const keptFrom = [...from.values()].toSorted((a, b) => comparePaths(a.revision.commit, b.revision.commit))
  return { ...snapshot, skills, ...(keptFrom.length > 0 && { keptFrom }) }
}

/** An upstream that never moves and has only the one commit. */
function upstreamOf(tree: RebuiltTree): TreeUpstream {
  return {
    kind: 'tree',
    resolve: async () => tree.revision,
    relation: async () => 'unknown',
    fetch: async () => tree,
  }
}

function quotedPaths(paths: readonly string[]): string {
  return fewText(paths, MOST_NAMED, (path) => `"${path}"`)
}

const MOST_NAMED = 5
