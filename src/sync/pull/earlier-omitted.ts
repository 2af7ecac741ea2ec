import { hasEntryFault } from '../skill-md/entry-faults.ts'
import { EXECUTABLES, isOfUpstream } from '../model/skill.ts'
import type { UpstreamSkill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { upstreamUriOf } from '../model/upstream-uri.ts'
import { isObject } from '../../base/json-object.ts'
import type { Listing } from '../upstream/upstream.ts'

/**
 * The entries of an earlier listing that `skills/list` leaves out, if this listing could not learn which they are.
 * Excludes skills whose files may differ at each read.
 */
export function omittedBefore(earlier: Snapshot | undefined, { entries, findings }: Listing): readonly unknown[] {
  if (!findings.some(({ rule }) => rule === 'listing-incomplete')) return []
  const listed = new Set(entries.map((entry) => (isObject(entry) ? entry['uri'] : undefined)))
  const isOmitted = (skill: UpstreamSkill): boolean =>
    skill.digest !== undefined &&
    hasEntryFault(skill) &&
    !listed.has(skill.upstream.uri) &&
    !skill.findings.some(({ rule }) => rule === 'not-verifiable')
  return (earlier?.skills ?? []).filter(isOfUpstream).filter(isOmitted).map(entryOf)
}

/** The entry from which the skill was judged. */
function entryOf(skill: UpstreamSkill): object {
  const { frontmatter, files, upstream } = skill
  const resources = files.map((file) => {
    return { uri: upstreamUriOf(skill, file), digest: `sha256:${file.sha256}`, size: file.size }
  })
  const meta = upstream.executables && { _meta: { [EXECUTABLES]: upstream.executables } }
  return { uri: upstream.uri, frontmatter, resources, ...meta }
}
