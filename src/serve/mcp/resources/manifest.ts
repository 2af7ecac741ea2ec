import type { CatalogSkill } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import { pathBelow } from '../../../sync/model/skill-uri.ts'

const SUFFIX = '/_manifest'

/** The URI at which FastMCP's client asks for the files of a skill. */
export function manifestUriOf({ root }: CatalogSkill): string {
  return root + SUFFIX
}

/** The skill that the URI is the manifest of, listed or not. */
export function manifestedSkill(catalog: Catalog, uri: string): CatalogSkill | undefined {
  return uri.endsWith(SUFFIX) ? catalog.skills.get(`${uri.slice(0, -SUFFIX.length)}/SKILL.md`) : undefined
}

/** The manifest of a skill. It names the skill as whoever asked did; its paths are those of the files, nothing encoded. */
export function manifestText(skill: CatalogSkill, asked: string): string {
  const name = asked.slice('skill://'.length, asked.lastIndexOf('/'))
  const entries = filesOf(skill).map(({ uri, file }) => ({
    path: pathBelow(skill.root, uri),
    size: file.size,
    hash: `sha256:${file.sha256}`,
  }))
  return JSON.stringify({ skill: name, files: entries })
}
