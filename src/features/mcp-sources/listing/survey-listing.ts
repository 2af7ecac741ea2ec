import { isObject } from '../../../base/json-object.ts'
import { undeclaredText } from '../../../sync/model/declared-digest.ts'
import { EXECUTABLES, isOfUpstream } from '../../../sync/model/skill.ts'
import type { UpstreamSkill, Skill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { upstreamUriOf } from '../../../sync/model/uris/upstream-uri.ts'
import { upstreamAs } from '../../../sync/pull/pull-context.ts'
import type { Pull, RevisionPull } from '../../../sync/pull/pull-context.ts'
import { frontmatterBy } from '../../../sync/skill/document-reader.ts'
import { hasEntryFault } from '../../../sync/skill/entry-faults.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { knownOf, withMismatch } from '../../../sync/store/skills/listing-mismatches.ts'
import type { Mismatches } from '../../../sync/store/skills/upstream-files.ts'
import { firstDiagnostics } from '../../../sync/survey/cap-diagnostics.ts'
import { READ_HERE } from '../../../sync/survey/document-reading.ts'
import { withTexts } from '../../../sync/survey/listing-hidden-text.ts'
import { rulesOf } from '../../../sync/survey/survey-rules.ts'
import { mismatchOf } from '../../../sync/survey/verify-file.ts'
import type { Listing } from '../../../sync/upstream/upstream.ts'
import { declaredSkills } from './listing-skills.ts'

/** Makes the snapshot of an MCP server's listing. Requests no file: the snapshot has what the server declares. */
export async function snapshotOfListing(pull: RevisionPull): Promise<Snapshot> {
  const { source, current, io, signal } = pull
  const listed = await upstreamAs(pull, 'listing').list(pull.revision, signal)
  const rules = { selection: source, limits: io.limits }
  const earlier = current?.snapshot.url === source.url ? current.snapshot : undefined
  const unanswered = unansweredIn(listed)
  const stays = ({ path, digest }: UpstreamSkill): boolean => unanswered.has(path) && digest !== undefined
  const listing = withEarlier((earlier?.skills ?? []).filter(isOfUpstream).filter(stays), listed)
  const entries = [...listing.entries, ...omittedBefore(earlier, listing)]
  const { skills, findings } = await declaredSkills(source.id, entries, rules, signal)
  const mismatches = await io.store.upstreams.mismatches(source.id)
  const texts = await io.store.upstreams.texts(source.id)
  const { revision, root, proof, form, isPrivate, offers } = listing
  const checked: Skill[] = []
  for (const skill of skills) {
    const found = withMismatch(asListed(skill, listing), await mismatchIn(skill, mismatches, io, signal))
    checked.push(withTexts(withFinding(found, unanswered.get(skill.path)), texts, source.hiddenUnicode))
  }
  return {
    source: source.id,
    url: source.url,
    revision,
    tree: root,
    rules: rulesOf(rules),
    skills: checked,
    findings: [...findings, ...firstListed(listing.findings)],
    form,
    ...(isPrivate && { isPrivate: true as const }),
    ...(offers !== undefined && { offers }),
    folders: {},
    proof: { commit: Buffer.from(proof.commit).toString('base64') },
  }
}

/** A server may have thousands. */
function firstListed(findings: readonly SkillDiagnostic[]): readonly SkillDiagnostic[] {
  return firstDiagnostics(findings, MOST_TOLD, (left) => {
    return { path: '', message: `${left} more skills of the server have no entry` }
  })
}

const MOST_TOLD = 32

/** Adds the origin of the skill's files. */
function asListed(skill: Skill, { firstRead, proved, dynamic, packed }: Listing): Skill {
  const { upstream, standing } = skill
  if (upstream === undefined) return skill
  const { uri } = upstream
  const archive = packed.get(uri)
  // A skill that may differ at each read is in no list: a client must request it by URI.
  const isHidden = standing === 'served' && dynamic.has(uri)
  const declares = proved.has(uri) ? ({ declares: 'SKILL.md' } as const) : {}
  const named = { ...skill, upstream: { ...upstream, ...(archive !== undefined && { archive }), ...declares } }
  return withNote(isHidden ? { ...named, standing: 'unlisted' } : named, firstRead)
}

/** The server guarantees nothing about most files of such a skill: they are what the first read returned. */
function withNote(skill: Skill, firstRead: ReadonlySet<string>): Skill {
  const { files, upstream } = skill
  const isProved = upstream?.declares !== undefined
  if (!firstRead.has(upstream?.uri ?? '') || (isProved && files.length === 1)) return skill
  const said = isProved
    ? `SKILL.md has the digest that the server declares; ${undeclaredText(files.length - 1, files.length)}`
    : 'The server gives no digests of its files'
  const message = `${said}: they are pinned as they were when they were first read`
  return { ...skill, findings: [...skill.findings, { rule: 'not-verifiable', path: skill.path, message }] }
}

/**
 * Content that differed from its declaration is not served again before the declaration changes. Stored content was
 * checked against the entry of its time, and this entry may have another frontmatter.
 */
async function mismatchIn(
  skill: Skill,
  mismatches: Mismatches,
  { store, limits, reader = READ_HERE }: Pull['io'],
  signal: AbortSignal,
): Promise<string | undefined> {
  const document = skill.files.find(({ path }) => path === 'SKILL.md')
  if (skill.upstream === undefined || document === undefined) return undefined
  const known = knownOf(skill, mismatches)
  if (known !== undefined) return known
  const kept = await store.upstreams.read(skill.upstream.source, document)
  if (kept.kind !== 'whole') return undefined
  return mismatchOf(skill, document, kept.bytes, (bytes) => frontmatterBy(reader, bytes, limits.frontmatter, signal))
}

/**
 * The entries of an earlier listing that `skills/list` leaves out, if this listing could not learn which they are.
 * Excludes skills whose files may differ at each read.
 */
function omittedBefore(earlier: Snapshot | undefined, { entries, findings }: Listing): readonly unknown[] {
  if (!findings.some(({ rule }) => rule === 'listing-incomplete')) return []
  const listed = new Set(entries.map((entry) => (isObject(entry) ? entry['uri'] : undefined)))
  const isOmitted = (skill: UpstreamSkill): boolean =>
    skill.digest !== undefined && hasEntryFault(skill) && !listed.has(skill.upstream.uri) && !isFirstRead(skill)
  return (earlier?.skills ?? []).filter(isOfUpstream).filter(isOmitted).map(entryOf)
}

/** The findings about skills for which the server gives no answer now, by their paths. */
function unansweredIn({ findings }: Listing): ReadonlyMap<string, SkillDiagnostic> {
  return new Map(findings.filter(({ rule }) => rule === 'no-answer-for-entry').map((one) => [one.path, one]))
}

/** The listing with the entries of earlier skills, as if the server had listed them again. */
function withEarlier(earlier: readonly UpstreamSkill[], listing: Listing): Listing {
  if (earlier.length === 0) return listing
  const paths = new Set(earlier.map(({ path }) => path))
  const read = earlier.filter(isFirstRead)
  const urisOf = (skills: readonly UpstreamSkill[]): readonly string[] => skills.map(({ upstream }) => upstream.uri)
  const archives = earlier.flatMap(({ upstream: { uri, archive } }) =>
    archive === undefined ? [] : [[uri, archive] as const],
  )
  return {
    ...listing,
    entries: [...listing.entries, ...earlier.map(entryOf)],
    findings: listing.findings.filter(({ rule, path }) => rule !== 'no-answer-for-entry' || !paths.has(path)),
    firstRead: new Set([...listing.firstRead, ...urisOf(read)]),
    proved: new Set([...listing.proved, ...urisOf(read.filter(({ upstream }) => upstream.declares !== undefined))]),
    dynamic: new Set([...listing.dynamic, ...urisOf(read.filter(({ standing }) => standing === 'unlisted'))]),
    packed: new Map([...listing.packed, ...archives]),
  }
}

function withFinding(skill: Skill, finding: SkillDiagnostic | undefined): Skill {
  if (finding === undefined) return skill
  const message = `${finding.message}; the skill stays as it was`
  return { ...skill, findings: [...skill.findings, { ...finding, message }] }
}

function isFirstRead({ findings, upstream }: Skill): boolean {
  return upstream?.declares !== undefined || findings.some(({ rule }) => rule === 'not-verifiable')
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
