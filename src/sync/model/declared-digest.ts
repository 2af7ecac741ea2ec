import { isObjectId } from './revision.ts'
import type { ObjectId } from './revision.ts'
import type { Skill, SkillFile } from './skill.ts'

/** The hex digits of a digest in the form of SEP-2640, in which upper case is malformed. `undefined` if malformed. */
export function sha256In(digest: unknown): ObjectId | undefined {
  const found = typeof digest === 'string' ? /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] : undefined
  return found !== undefined && isObjectId(found) ? found : undefined
}

/** The files of a skill of another server for which that server declares no digest. */
export function undeclaredFiles({ files, findings, upstream }: Skill): readonly SkillFile[] {
  const isRead = findings.some(({ rule }) => rule === 'not-verifiable')
  return isRead ? files.filter(({ path }) => path !== upstream?.declares) : []
}

/** The files of so many that have no declared digest, in words; `undefined` if all have one. */
export function undeclaredText(undeclared: number, of: number): string | undefined {
  if (undeclared === 0) return undefined
  return undeclared === of ? 'the server declares no digests' : 'the other files have no digests'
}

/** True if the value is a number of bytes. */
export function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
