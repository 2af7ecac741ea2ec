import type { Skill } from '../../sync/model/skill.ts'
import { isDotGit } from '../../sync/upstream/git/objects/tree-object.ts'

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
  if (name.toLowerCase() === '.gitattributes') return 'could have git change the bytes of others'
  if (isDotGit(name) || /^\.gitmodules[ .]*$/i.test(name)) return 'has a name that git keeps for itself'
  if (/[\p{Cc}<>:"|?*\\]/u.test(name)) return 'has a character that Windows does not allow'
  if (/[ .]$/.test(name)) return 'ends with a dot or a space, which Windows drops'
  return DEVICE.test(name) ? 'has the name of a Windows device' : undefined
}

const DEVICE = /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?$/i
