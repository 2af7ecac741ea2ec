import type { Catalog, CatalogSkill } from '../../sync/model/catalog.ts'
import type { Archive } from './archive.ts'
import type { Forms } from './forms.ts'
import { INDEX_URI, syntheticsOf } from './synthetic.ts'
import type { Synthetic } from './synthetic.ts'

/** The URIs of what is made by us that came, went or changed its bytes between two catalogs. */
export function syntheticChanges(before: Catalog, after: Catalog, forms: Forms): string[] {
  const index = forms.index === undefined || isSameIndex(before, after, forms) ? [] : [INDEX_URI]
  const skills = new Set([...before.skills.keys(), ...after.skills.keys()])
  return [...index, ...[...skills].flatMap((uri) => changesOfSkill(before, after, forms, uri))]
}

function changesOfSkill(before: Catalog, after: Catalog, forms: Forms, skill: string): string[] {
  const was = syntheticsByUri(before, forms, skill)
  const is = syntheticsByUri(after, forms, skill)
  const uris = [...new Set([...was.keys(), ...is.keys()])]
  return uris.filter((uri) => !isSameSynthetic(was.get(uri), is.get(uri)))
}

function syntheticsByUri(catalog: Catalog, forms: Forms, uri: string): ReadonlyMap<string, Synthetic> {
  const skill = catalog.skills.get(uri)
  const synthetics = skill === undefined ? [] : syntheticsOf(catalog, forms, skill)
  return new Map(synthetics.map((synthetic) => [synthetic.uri, synthetic]))
}

function isSameSynthetic(a: Synthetic | undefined, b: Synthetic | undefined): boolean {
  if (a?.kind === 'manifest' && b?.kind === 'manifest') return isSameEntry(a.skill, b.skill)
  if (a?.kind === 'archive' && b?.kind === 'archive') return isSameArchive(a.archive, b.archive)
  return false
}

/** Whether the document would have the same bytes. It has no mode of a file, but where an archive has it. */
function isSameIndex(before: Catalog, after: Catalog, { archives }: Forms): boolean {
  if (before.listed.length !== after.listed.length) return false
  return before.listed.every((skill, index) => {
    const other = after.listed[index]
    if (other === undefined || skill.uri !== other.uri || !isSameEntry(skill, other)) return false
    const others = archives.of(after, other)
    const own = archives.of(before, skill)
    return own.length === others.length && own.every((archive, at) => isSameArchive(archive, others[at]))
  })
}

/** Of equal files, the SKILL.md is equal, and all that is read out of it. */
function isSameEntry(a: CatalogSkill, b: CatalogSkill): boolean {
  if (a.files.length !== b.files.length) return false
  return a.files.every(({ uri, file }, index) => {
    const other = b.files[index]
    return uri === other?.uri && file.sha256 === other.file.sha256 && file.size === other.file.size
  })
}

function isSameArchive(a: Archive, b: Archive | undefined): boolean {
  return a.uri === b?.uri && a.skill.digest === b.skill.digest && isSameEntry(a.skill, b.skill)
}
