import { countOf } from '../../base/text/plural.ts'
import { undeclaredFiles, undeclaredText } from '../../sync/model/declared-digest.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'

/** The files that another MCP server declares, and how many of them were fetched and had their declared digest. */
export interface Verified {
  readonly files: number
  readonly of: number
  /** The number of files without a declared digest, which cannot be verified. */
  readonly undeclared: number
  /** The only file with a declared digest, if the server declares the digest of that file alone. */
  readonly only?: 'SKILL.md'
}

/** By source: the digests of the files in the store. */
export type KeptDigests = ReadonlyMap<SourceId, ReadonlySet<string>>

/**
 * Counts a skill's files whose digests are in the store. Each was verified before it was stored, and is verified again
 * on each read. `undefined` for a skill that is not from another server, or has no known files.
 */
export function verifiedOf(skill: Skill, kept: ReadonlySet<string> = new Set()): Verified | undefined {
  const { files, upstream } = skill
  if (!isOfUpstream(skill) || files.length === 0) return undefined
  const of = files.length
  const undeclared = undeclaredFiles(skill)
  const declared = files.filter((file) => !undeclared.includes(file))
  const only = upstream?.declares
  const counts = { of, undeclared: undeclared.length, ...(only !== undefined && { only }) }
  return { files: declared.filter(({ sha256 }) => kept.has(sha256)).length, ...counts }
}

/** The counts of several skills together; `undefined` if there are none. */
export function verifiedOfAll(skills: readonly Skill[], kept?: ReadonlySet<string>): Verified | undefined {
  const parts = skills.flatMap((skill) => verifiedOf(skill, kept) ?? [])
  if (parts.length < 2) return parts[0]
  const sum = (key: 'files' | 'of' | 'undeclared'): number => parts.reduce((total, part) => total + part[key], 0)
  return { files: sum('files'), of: sum('of'), undeclared: sum('undeclared') }
}

/** The counts of files that have declared digests, and a statement about the others. */
export function verifiedText(verified: Verified): string {
  const { files, of, undeclared, only } = verified
  const rest = undeclaredText(undeclared, of)
  if (undeclared === of) return `nothing of ${countOf(of, 'file')}: ${rest}`
  const counted = files === of && only === undefined ? `all ${countOf(of, 'file')}` : verifiedCount(verified)
  const digests = only === undefined ? 'the digests' : 'the digest'
  return `${counted}: fetched, with ${digests} that the server declares${rest === undefined ? '' : `; ${rest}`}`
}

/** The counts alone: of the files that have declared digests, or of all if none has one. */
export function verifiedCount({ files, of, undeclared, only }: Verified): string {
  if (only !== undefined) return `${files} of 1 (${only})`
  return `${files} of ${countOf(undeclared === of ? of : of - undeclared, 'file')}`
}
