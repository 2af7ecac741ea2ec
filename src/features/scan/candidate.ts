import { docsChange } from '../../sync/model/changes/skill-changes.ts'
import { inPathOrder } from '../../sync/model/digest.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill, Standing } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SkillDiagnostic } from '../../sync/skill/skill-diagnostic.ts'
import type { Checkouts } from '../../sync/store/checkouts/checkouts.ts'
import { storedOf } from '../../sync/store/skills/stored-path.ts'

/**
 * The document that a gate judges: the next content of one source, compared with what it serves now. `docs/pinning-and-review.md` is
 * the specification.
 */
export interface GateCandidate {
  readonly version: 1
  readonly source: string
  readonly url: string
  /** The full name in the repository: `refs/heads/main`. */
  readonly ref: string
  readonly commit: string
  /** The served commit; null for a source that serves nothing yet. */
  readonly previousCommit: string | null
  /** Sorted by path, including the removed skills. */
  readonly skills: readonly CandidateSkill[]
  /** Findings that belong to no skill. */
  readonly findings: readonly SkillDiagnostic[]
  /** The docs folder, if the source has one. */
  readonly docs?: CandidateDocs
}

/** Like a skill; `removed` if the docs existed before and are gone. */
export type CandidateDocs = Pick<CandidateSkill, 'digest' | 'change' | 'folder' | 'files' | 'findings'>

export interface CandidateSkill {
  readonly path: string
  readonly name: string | null
  readonly digest: string | null
  readonly standing: Standing
  readonly change: 'added' | 'changed' | 'removed' | 'unchanged'
  /**
   * The folder of the files to serve: absolute, to be read and never written. Null if nothing would be served, or if
   * the files are fetched from another MCP server on demand.
   */
  readonly folder: string | null
  readonly files: readonly CandidateFile[]
  readonly findings: readonly SkillDiagnostic[]
}

export interface CandidateFile {
  readonly path: string
  readonly size: number
  readonly sha256: string
  readonly executable: boolean
}

/** Builds the document for a snapshot that is stored and not published. The checkouts must exist. */
export function gateCandidateOf(
  next: Snapshot,
  previous: Snapshot | undefined,
  checkouts: Pick<Checkouts, 'pathOf'>,
): GateCandidate {
  const before = new Map(previous?.skills.map((skill) => [skill.path, skill]))
  const after = new Set(next.skills.map(({ path }) => path))
  const removed = [...before.values()].filter(({ path }) => !after.has(path))
  const skills = [
    ...next.skills.map((skill) => candidateSkill(skill, changeOf(before.get(skill.path), skill), checkouts)),
    ...removed.map((skill) => candidateSkill(skill, 'removed', checkouts)),
  ]
  return {
    version: 1,
    source: next.source,
    url: next.url,
    ref: next.revision.ref,
    commit: next.revision.commit,
    previousCommit: previous?.revision.commit ?? null,
    skills: inPathOrder(skills),
    findings: next.findings,
    ...(next.docsFolder !== undefined && { docs: candidateDocs(next, previous, checkouts) }),
  }
}

function candidateDocs(
  { docs, docsFolder }: Snapshot,
  previous: Snapshot | undefined,
  checkouts: Pick<Checkouts, 'pathOf'>,
): CandidateDocs {
  return {
    digest: docs?.digest ?? null,
    change: docsChange(previous?.docs?.digest, docs?.digest) ?? 'unchanged',
    folder: docs === undefined ? null : checkouts.pathOf(storedOf(docs)),
    files: docs?.files.map(fileOf) ?? [],
    findings: docsFolder?.findings ?? [],
  }
}

/** Compares what a reader of the skill could notice. */
function changeOf(before: Skill | undefined, after: Skill): CandidateSkill['change'] {
  if (before === undefined) return 'added'
  const isSame =
    before.digest === after.digest && before.standing === after.standing && before.servedPath === after.servedPath
  return isSame ? 'unchanged' : 'changed'
}

function candidateSkill(
  skill: Skill,
  change: CandidateSkill['change'],
  checkouts: Pick<Checkouts, 'pathOf'>,
): CandidateSkill {
  const { path, name = null, digest = null, standing, findings } = skill
  const isThere = change !== 'removed' && standing !== 'withheld' && digest !== null
  return {
    path,
    name,
    digest,
    standing,
    change,
    folder: isThere && !isOfUpstream(skill) ? checkouts.pathOf(storedOf(skill)) : null,
    files: isThere ? skill.files.map(fileOf) : [],
    findings,
  }
}

function fileOf({ path, size, sha256, executable }: Skill['files'][number]): CandidateFile {
  return { path, size, sha256, executable }
}
