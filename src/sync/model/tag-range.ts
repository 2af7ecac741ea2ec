import type { Range, SemVer } from 'semver'
import { semver } from '../../base/semver.ts'
import type { TagRange } from './revision.ts'

/** True if the text is a range of versions. */
export function isVersionRange(text: string): boolean {
  return semver().validRange(text) !== null
}

/** The version that a tag stands for under this range's prefix; `undefined` if it stands for none. */
export function versionOf(tag: string, { prefix }: TagRange): SemVer | undefined {
  return tag.startsWith(prefix) ? (semver().parse(tag.slice(prefix.length)) ?? undefined) : undefined
}

/**
 * The names of tags with the highest version in the range. There are several only if they stand for one version, as
 * `v1.2.0` and `1.2.0` do without a prefix: the caller must choose.
 */
export function highestTags(names: readonly string[], range: TagRange): string[] {
  const wanted = new (semver().Range)(range.range, { includePrerelease: range.prereleases })
  let highest: SemVer | undefined
  let found: string[] = []
  for (const name of names) {
    const version = versionOf(name, range)
    if (version === undefined || !isIn(version, wanted, range)) continue
    const order = highest === undefined ? 1 : semver().compareBuild(version, highest)
    if (order < 0) continue
    if (order > 0) found = []
    highest = version
    found.push(name)
  }
  return found
}

/** A range that names a pre-release admits others of the same version, but pre-releases count only if requested. */
function isIn(version: SemVer, wanted: Range, { prereleases }: TagRange): boolean {
  return (prereleases || version.prerelease.length === 0) && wanted.test(version)
}

/** True if `tag` stands for an older version than `other`. */
export function isOlder(tag: string, other: string, range: TagRange): boolean {
  const [a, b] = [versionOf(tag, range), versionOf(other, range)]
  return a !== undefined && b !== undefined && semver().compareBuild(a, b) < 0
}
