import { createHash } from 'node:crypto'
import type { CatalogSkill } from '../sync/model/catalog-entry.ts'
import { isSkillName } from '../sync/model/skill-name.ts'

/**
 * Under which name each skill can be installed: installers know nothing but names. A name that several skills have, or that
 * one has and another could be given, is nobody's; those are called after their source and path instead. So none takes the
 * place of another when a source gains a skill. The order of the skills does not matter.
 */
export function installNames(skills: readonly CatalogSkill[]): ReadonlyMap<string, CatalogSkill> {
  const forms = skills.map((skill) => ({ skill, plain: skill.name, ...qualifiedNames(skill) }))
  const plain = countsOf(forms.map((form) => form.plain))
  const qualified = countsOf(forms.map((form) => form.qualified))
  const marked = countsOf(forms.map((form) => form.marked))
  const isFree = (name: string): boolean =>
    isSkillName(name) && countIn(plain, name) + countIn(qualified, name) + countIn(marked, name) === 1
  return new Map(forms.map((form) => [[form.plain, form.qualified].find(isFree) ?? form.marked, form.skill] as const))
}

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, countIn(counts, name) + 1)
  return counts
}

function countIn(counts: ReadonlyMap<string, number>, name: string): number {
  return counts.get(name) ?? 0
}

function qualifiedNames({ root, uri }: CatalogSkill): { readonly qualified: string; readonly marked: string } {
  const qualified = qualifiedName(root)
  return { qualified, marked: markedName(qualified, uri) }
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
