import type { CatalogSkill } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import { pathBelow } from '../../../sync/model/skill-uri.ts'

const SUFFIX = '/_manifest'

/** Returns the URI at which FastMCP's client reads the list of a skill's files. */
export function manifestUriOf({ root }: CatalogSkill): string {
  return root + SUFFIX
}

/** Returns the skill of a manifest URI, listed or not. */
export function manifestedSkill(catalog: Catalog, uri: string): CatalogSkill | undefined {
  return uri.endsWith(SUFFIX) ? catalog.skills.get(`${uri.slice(0, -SUFFIX.length)}/SKILL.md`) : undefined
}

/** Returns the manifest of a skill. It names the skill in the client's spelling; its paths are not encoded. */
export function manifestText(skill: CatalogSkill, asked: string): string {
  const name = asked.slice('skill://'.length, asked.lastIndexOf('/'))
  const entries = filesOf(skill).map(({ uri, file }) => ({
    path: pathBelow(skill.root, uri),
    size: file.size,
    hash: `sha256:${file.sha256}`,
  }))
  return JSON.stringify({ skill: name, files: entries })
}
