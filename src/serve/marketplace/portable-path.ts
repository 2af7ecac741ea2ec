import { isWindowsDevice } from '../../base/paths.ts'
import type { Skill } from '../../sync/model/skill.ts'
import { IGNORED_BY_HFS, isDotGit } from '../../sync/upstream/git/objects/tree-object.ts'

/**
 * Returns the reason why a checkout of the skill's files by git could have other files or bytes than those that are
 * pinned, on some system; `undefined` if there is none. A survey has withheld skills whose names differ in case alone.
 */
export function unportableReason(skill: Pick<Skill, 'files'>): string | undefined {
  let found = KNOWN.get(skill)
  if (found === undefined) KNOWN.set(skill, (found = { reason: reasonOf(skill) }))
  return found.reason
}

/** Most skills are in many catalogs. */
const KNOWN = new WeakMap<Pick<Skill, 'files'>, { readonly reason: string | undefined }>()

function reasonOf({ files }: Pick<Skill, 'files'>): string | undefined {
  for (const { path } of files) {
    const reason = path.split('/').map(reasonOfName).find(Boolean)
    if (reason !== undefined) return `its file "${path}" ${reason}`
  }
  return undefined
}

function reasonOfName(name: string): string | undefined {
  if (isDotGit(name) || isGitFile(name)) return 'has a name that git keeps for itself'
  if (/[\p{Cc}<>:"|?*\\]/u.test(name)) return 'has a character that Windows does not allow'
  if (/[ .]$/.test(name)) return 'ends with a dot or a space, which Windows drops'
  return isWindowsDevice(name) ? 'has the name of a Windows device' : undefined
}

/**
 * True if some file system takes the name for a file by which git changes a checkout, such as `.gitattributes`: case,
 * ignored characters, trailing dots, or the short names of NTFS (the rules of `git fsck`).
 */
function isGitFile(name: string): boolean {
  const plain = name
    .replaceAll(IGNORED_BY_HFS, '')
    .toLowerCase()
    .replace(/[ .]*(?::.*)?$/s, '')
  return /^(?:\.git(?:attributes|modules)|git(?:att|mod)~[0-9]+|gi7(?:d29|eba)~[0-9]+)$/.test(plain)
}
