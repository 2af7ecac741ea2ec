import { countOf } from '../../base/text/plural.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'

/** The files that another MCP server declares, and how many of them were fetched and had their declared digest. */
export interface Verified {
  readonly files: number
  readonly of: number
  /** The number of files without a declared digest, which cannot be verified. */
  readonly undeclared: number
}

/** By source: the digests of the files in the store. */
export type KeptDigests = ReadonlyMap<SourceId, ReadonlySet<string>>

/**
 * Counts a skill's files whose digests are in the store. Each was verified before it was stored, and is verified again
 * on each read. `undefined` for a skill that is not from another server, or has no known files.
 */
export function verifiedOf(skill: Skill, kept: ReadonlySet<string> = new Set()): Verified | undefined {
  const { files, findings } = skill
  if (!isOfUpstream(skill) || files.length === 0) return undefined
  const of = files.length
  if (findings.some(({ rule }) => rule === 'not-verifiable')) return { files: 0, of, undeclared: of }
  return { files: files.filter(({ sha256 }) => kept.has(sha256)).length, of, undeclared: 0 }
}

/** The counts of several skills together; `undefined` if there are none. */
export function verifiedOfAll(skills: readonly Skill[], kept?: ReadonlySet<string>): Verified | undefined {
  const parts = skills.flatMap((skill) => verifiedOf(skill, kept) ?? [])
  if (parts.length === 0) return undefined
  const sum = (key: keyof Verified): number => parts.reduce((total, part) => total + part[key], 0)
  return { files: sum('files'), of: sum('of'), undeclared: sum('undeclared') }
}

export function verifiedText({ files, of, undeclared }: Verified): string {
  if (undeclared === of) return `nothing of ${countOf(of, 'file')}: the server declares no digests`
  const none = undeclared === 0 ? '' : `; of ${undeclared} it declares none`
  if (files === of) return `all ${countOf(of, 'file')}: fetched, with the digests that the server declares`
  return `${files} of ${countOf(of, 'file')}: fetched, with the digests that the server declares${none}`
}
