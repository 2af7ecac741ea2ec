import { joinPath } from '../../base/paths.ts'
import { isOfUpstream } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Selection, Source } from '../model/source.ts'
import type { Claim, SecondOpinion } from '../upstream/git/second-opinion/second-opinion.ts'
import type { GitHost } from '../upstream/git/objects/git-host.ts'

/** Compares a commit that is served with the same one as isomorphic-git fetches it; `not-compared` with the reason where it is not asked. */
export async function secondLook(
  source: Source,
  snapshot: Snapshot,
  reach: Pick<GitHost, 'way' | 'limits' | 'scratch'>,
  signal: AbortSignal,
): Promise<SecondOpinion> {
  const { url, revision } = snapshot
  const why = whyNot(source, snapshot)
  if (why !== undefined) return { kind: 'not-compared', why }
  // isomorphic-git and what reads with it are loaded for this alone.
  const { secondOpinion } = await import('../upstream/git/second-opinion/second-opinion.ts')
  return secondOpinion(url, { revision, claims: claimsOf(snapshot, source) }, reach, signal)
}

function whyNot({ kind, url }: Source, snapshot: Snapshot): string | undefined {
  if (kind === 'directory') return 'a folder has no commit'
  if (kind === 'mcp') return 'an MCP server has no commit'
  const { rebuiltFrom } = snapshot
  if (rebuiltFrom !== undefined) return `the commit was gone, and its skills were had from "${rebuiltFrom}"`
  // The credential is that of the address that is configured.
  return snapshot.url === url ? undefined : `what is served is of ${snapshot.url}, and the source names ${url}`
}

/** All files of a snapshot that are served, by their paths in the repository. */
export function claimsOf(
  { skills, docs, roots }: Pick<Snapshot, 'skills' | 'docs' | 'roots'>,
  selection: Pick<Selection, 'root' | 'docs'>,
): readonly Claim[] {
  const served = skills.filter((skill) => skill.standing !== 'withheld' && !isOfUpstream(skill))
  const claims = served.map(({ path, files, findings }): Claim => {
    const lacksPointers = findings.some(({ rule }) => rule === 'lfs-left-out')
    const folder = joinPath(roots?.skills ?? selection.root, path)
    return { skill: path, folder, files, lacksPointers }
  })
  return docs === undefined ? claims : [...claims, { folder: roots?.docs ?? selection.docs ?? '', files: docs.files }]
}
