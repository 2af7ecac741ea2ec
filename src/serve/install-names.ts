import { createHash } from 'node:crypto'
import type { CatalogSkill } from '../sync/model/catalog-entry.ts'
import { isSkillName } from '../sync/model/skill-name.ts'
import type { Steps } from '../sync/model/slices.ts'

/**
 * Under which name each skill can be installed: installers know nothing but names. A name that several skills have, or that
 * one has and another could be given, is nobody's; those are called after their source and path instead. So none takes the
 * place of another when a source gains a skill. The order of the skills does not matter.
 */
export function* installNames(skills: readonly CatalogSkill[]): Steps<ReadonlyMap<string, CatalogSkill>> {
  const forms: (Names & { readonly skill: CatalogSkill })[] = []
  // How often each stands among all forms of all skills.
  const counts = new Map<string, number>()
  for (const skill of skills) {
    const names = namesOf(skill)
    forms.push({ skill, ...names })
    for (const name of Object.values(names)) counts.set(name, (counts.get(name) ?? 0) + 1)
    yield
  }
  const isFree = (name: string): boolean => isSkillName(name) && counts.get(name) === 1
  const named = new Map<string, CatalogSkill>()
  for (const { skill, plain, qualified, marked } of forms) {
    named.set([plain, qualified].find(isFree) ?? marked, skill)
    yield
  }
  return named
}

/** The names that a skill can have, the shortest first. */
interface Names {
  readonly plain: string
  readonly qualified: string
  readonly marked: string
}

function namesOf({ name, root, uri }: CatalogSkill): Names {
  const qualified = qualifiedName(root)
  return { plain: name, qualified, marked: markedName(qualified, uri) }
}

/** `team-pdf` for `skill://team/pdf`, with the folders between where there are any. */
function qualifiedName(root: string): string {
  const words = decodeURIComponent(root.slice('skill://'.length)).toLowerCase()
  return words.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
}

/** For what is too long, or a name already: as much of it as fits, and what tells its URI from all others. */
function markedName(qualified: string, uri: string): string {
  const mark = createHash('sha256').update(uri).digest('hex').slice(0, 16)
  return `${qualified.slice(0, 64 - 1 - mark.length).replace(/-$/, '')}-${mark}`
}
