import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { readSkillUri } from '../../../sync/model/skill-uri.ts'

/**
 * Returns the listed URIs that a client may mean by a URI without the source or without folders above the skill.
 * Servers without sources have such URIs: `skill://pdf/SKILL.md`. The result is in catalog order; it is empty if the
 * URI is malformed.
 */
export function nearUris({ listed, files }: Catalog, raw: string): readonly string[] {
  const uri = readSkillUri(raw)
  if (!uri.ok || uri.trailingSlash) return []
  const ways = splitsOf(uri.canonical.slice('skill://'.length))
  const near = new Set<string>()
  for (const { root } of listed) {
    for (const { skill, file } of ways) {
      const meant = `${root}/${file}`
      if (root.endsWith(`/${skill}`) && files.get(meant) !== undefined) near.add(meant)
    }
    if (near.size >= MOST_NEAR) break
  }
  return [...near].slice(0, MOST_NEAR)
}

const MOST_NEAR = 8

/** Returns each way to split a path into the end of a skill's path and the path of a file in it. */
function splitsOf(path: string): readonly { readonly skill: string; readonly file: string }[] {
  const segments = path.split('/')
  return segments
    .slice(0, MOST_SEGMENTS)
    .slice(0, -1)
    .map((_, index) => ({ skill: segments.slice(0, index + 1).join('/'), file: segments.slice(index + 1).join('/') }))
}

/** Deeper than real skills: each way is compared with every listed skill. */
const MOST_SEGMENTS = 8
