import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { readSkillUri } from '../../../sync/model/skill-uri.ts'

/**
 * The URIs of what is listed that one may mean who leaves out the source, or folders above the skill, as servers without sources
 * have it: `skill://pdf/SKILL.md`. In the order of the catalog; none where the URI itself is not well formed.
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

/** Each way to part a path into the end of a skill's and that of a file in it. */
function splitsOf(path: string): readonly { readonly skill: string; readonly file: string }[] {
  const segments = path.split('/')
  return segments
    .slice(0, MOST_SEGMENTS)
    .slice(0, -1)
    .map((_, index) => ({ skill: segments.slice(0, index + 1).join('/'), file: segments.slice(index + 1).join('/') }))
}

/** Deeper than skills lie: what is asked for is compared with each that is listed. */
const MOST_SEGMENTS = 8
