import { joinPath } from '../../base/paths.ts'
import type { GitHost } from '../git/objects/git-host.ts'
import type { ServedClaim, SecondOpinion } from '../git/second-opinion/second-opinion.ts'
import { isOfUpstream } from '../model/skill.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Selection, Source } from '../model/source.ts'

/**
 * Compares a served commit with another reader's fetch of the same commit: isomorphic-git's, or that of our own reader if
 * isomorphic-git reads the source. `not-compared` with the reason if that is not possible.
 */
export async function secondLook(
  source: Source,
  snapshot: Snapshot,
  reach: Pick<GitHost, 'way' | 'limits' | 'scratch'>,
  signal: AbortSignal,
): Promise<SecondOpinion> {
  const { url, revision } = snapshot
  const why = noOpinionReason(source, snapshot)
  const by = source.kind === 'git' && source.backend === 'isomorphic' ? 'the built-in reader' : 'isomorphic-git'
  if (why !== undefined) return { kind: 'not-compared', why, by }
  // isomorphic-git and its readers are loaded only for this.
  const { secondOpinion } = await import('../git/second-opinion/second-opinion.ts')
  return secondOpinion(url, { revision, claims: claimsOf(snapshot, source), by }, reach, signal)
}

function noOpinionReason({ kind, url }: Source, snapshot: Snapshot): string | undefined {
  if (kind === 'directory') return 'a folder has no commit'
  if (kind === 'channel') return 'a channel has no commit'
  if (kind === 'mcp') return 'an MCP server has no commit'
  const { rebuiltFrom } = snapshot
  if (rebuiltFrom !== undefined) return `upstream no longer had the commit, and its skills came from "${rebuiltFrom}"`
  // The credential belongs to the configured address.
  return snapshot.url === url ? undefined : `what is served is of ${snapshot.url}, and the source names ${url}`
}

/** All served files of a snapshot, by their paths in the repository. Earlier versions of skills are of other commits. */
export function claimsOf(
  { skills, docs, roots }: Pick<Snapshot, 'skills' | 'docs' | 'roots'>,
  selection: Pick<Selection, 'root' | 'docs'>,
): readonly ServedClaim[] {
  const isOfCommit = (skill: Skill): boolean => skill.kept === undefined && !isOfUpstream(skill)
  const served = skills.filter((skill) => skill.standing !== 'withheld' && isOfCommit(skill))
  const claims = served.map(({ path, files, findings }): ServedClaim => {
    const lacksPointers = findings.some(({ rule }) => rule === 'lfs-left-out')
    const folder = joinPath(roots?.skills ?? selection.root, path)
    return { skill: path, folder, files, lacksPointers }
  })
  return docs === undefined ? claims : [...claims, { folder: roots?.docs ?? selection.docs ?? '', files: docs.files }]
}
