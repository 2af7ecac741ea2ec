import { createHash } from 'node:crypto'
import type { CatalogSkill } from '../sync/model/catalog.ts'
import { isSkillName } from '../sync/model/skill-name.ts'

/**
 * Under which name each skill can be installed: installers know nothing but names. A name that several skills have is
 * nobody's; each of them is called after its source and path instead, so that none takes the place of another when a source
 * gains a skill. The order of the skills does not matter.
 */
export function installNames(skills: readonly CatalogSkill[]): ReadonlyMap<string, CatalogSkill> {
  const bearers = Map.groupBy(skills, ({ name }) => name)
  const names = new Map<string, CatalogSkill>()
  for (const [name, [only, ...others]] of bearers) if (only !== undefined && others.length === 0) names.set(name, only)
  const clashing = skills.filter(({ name }) => !names.has(name))
  const byQualified = Map.groupBy(clashing, qualifiedName)
  for (const [qualified, sharing] of byQualified) {
    const isFree = sharing.length === 1 && isSkillName(qualified) && !bearers.has(qualified)
    for (const skill of sharing) names.set(isFree ? qualified : marked(qualified, skill.uri), skill)
  }
  return names
}

/** `team-pdf` for `skill://team/pdf`, with the folders between where there are any. */
function qualifiedName({ root }: CatalogSkill): string {
  const words = decodeURIComponent(root.slice('skill://'.length)).toLowerCase()
  return words.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
}

/** For what is too long, or a name already: as much of it as fits, and what tells its URI from all others. */
function marked(qualified: string, uri: string): string {
  const mark = createHash('sha256').update(uri).digest('hex').slice(0, 12)
  return `${qualified.slice(0, 64 - 1 - mark.length).replace(/-$/, '')}-${mark}`
}
