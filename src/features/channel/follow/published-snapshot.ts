import { isDeepStrictEqual } from 'node:util'
import { baseName, joinPath } from '../../../base/paths.ts'
import { othersThan } from '../../../sync/model/changes/skill-changes.ts'
import { comparePaths, digestOf } from '../../../sync/model/digest.ts'
import { CHANNEL_REF } from '../../../sync/model/revision.ts'
import { withheldSkill } from '../../../sync/model/skill.ts'
import type { Skill, SkillFile } from '../../../sync/model/skill.ts'
import type { ChannelSkills, HubSource, Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { rulesFor, upstreamAs } from '../../../sync/pull/pull-context.ts'
import type { RevisionPull } from '../../../sync/pull/pull-context.ts'
import type { HiddenText } from '../../../sync/skill/hidden-unicode.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { storedIn, storedSkill } from '../../../sync/store/skills/stored-path.ts'
import { READ_HERE } from '../../../sync/survey/document-reading.ts'
import { judgeDeclared } from '../../../sync/survey/listing-hidden-text.ts'
import { judgeDocument } from '../../../sync/survey/read-document.ts'
import type { ReadDocument } from '../../../sync/survey/read-document.ts'
import { rulesOf } from '../../../sync/survey/survey-rules.ts'
import { mismatchOf } from '../../../sync/survey/verify-file.ts'

/**
 * Makes the snapshot of another hub's channel: the skills as that hub has surveyed them, each below the id of its source,
 * or those of one source at their own paths.
 * Each new one must be what it declares: its digest that of its files, its frontmatter that of its SKILL.md. Of its
 * findings, those of invisible characters are made anew, and the others are the word of the hub.
 */
export async function snapshotOfPublished(pull: RevisionPull): Promise<Snapshot> {
  const { source, current, revision, signal } = pull
  const rules = rulesOf(rulesFor(pull))
  const known = knownLists(pull, rules)
  const { log, entry, sources } = await upstreamAs(pull, 'published').take(
    revision,
    (hub, digest) => known.get(keyOf(hub, digest))?.length,
    signal,
  )
  const folderOf = foldersFor(source)
  const lists = listsOf(sources, known, current?.snapshot, folderOf)
  const declared = [...lists.values()].flat().toSorted((a, b) => comparePaths(a.path, b.path))
  expectDistinct(declared)
  const anew = await judgedHere(othersThan(current?.snapshot.skills ?? [], declared), pull)
  const judged = (skill: Skill): Skill => anew.get(skill) ?? skill
  const skills = declared.map(judged)
  const snapshot: Snapshot = {
    source: source.id,
    url: source.url,
    // An entry of a hold is named by its id alone.
    revision: { ...revision, ref: CHANNEL_REF },
    tree: revision.commit,
    rules,
    skills,
    findings: sources.flatMap((one) => one.findings.map((finding) => findingBelow(folderOf(one.source), finding))),
    folders: {},
    published: { log, ...(entry && { entry }), sources: sources.map(hubSource) },
    // The revision is proved by the log of the channel, and not by a commit.
    proof: { commit: '' },
  }
  LISTS.set(snapshot, new Map([...lists].map(([key, list]) => [key, anew.size === 0 ? list : list.map(judged)])))
  return snapshot
}

/** The skills of a snapshot by the source of the hub and the object that they are in: an equal one is not read again. */
type Lists = ReadonlyMap<string, readonly Skill[]>

/** The lists of the snapshots that this process has taken. */
const LISTS = new WeakMap<Snapshot, Lists>()

/** Those of the served snapshot, unless one of its files is damaged, or other skills were selected for it. */
function knownLists({ current, orders }: RevisionPull, rules: string): Lists {
  const known = current?.snapshot.rules === rules && orders.isDamaged !== true ? LISTS.get(current.snapshot) : undefined
  return known ?? new Map<string, readonly Skill[]>()
}

/** One list can be that of two sources, whose skills have other paths. */
function keyOf(hub: SourceId, digest: string): string {
  return `${hub} ${digest}`
}

/** The folder that the skills of a source of the hub are below. */
type FolderOf = (hub: SourceId) => string

function foldersFor(source: Source): FolderOf {
  return source.kind === 'channel' && source.isNamesake === true ? () => '' : (hub) => hub
}

function listsOf(
  sources: readonly ChannelSkills[],
  known: Lists,
  before: Snapshot | undefined,
  folderOf: FolderOf,
): Lists {
  const skills = new Map(before?.skills.map((skill) => [skill.path, skill]))
  const lists = new Map<string, readonly Skill[]>()
  for (const { source: hub, parts } of sources)
    for (const { digest, skills: own } of parts) {
      const key = keyOf(hub, digest)
      if (lists.has(key)) throw refusal(hub, 'the channel has a list of skills of this source twice')
      lists.set(key, own?.map((skill) => asBefore(skills, below(folderOf(hub), skill))) ?? known.get(key) ?? [])
    }
  return lists
}

function below(folder: string, skill: Skill): Skill {
  const { path, servedPath, findings } = skill
  return {
    ...skill,
    path: joinPath(folder, path),
    servedPath: servedPath === undefined ? undefined : joinPath(folder, servedPath),
    findings: findings.map((finding) => findingBelow(folder, finding)),
  }
}

/** Returns the known skill if nothing of it changed, so that values derived from it stay valid, and it was checked. */
function asBefore(known: ReadonlyMap<string, Skill>, skill: Skill): Skill {
  const before = known.get(skill.path)
  return before !== undefined && isDeepStrictEqual(before, skill) ? before : skill
}

function findingBelow(folder: string, finding: SkillDiagnostic): SkillDiagnostic {
  return { ...finding, path: joinPath(folder, finding.path) }
}

function hubSource({ source, url, ref, commit, tag, signers }: ChannelSkills): HubSource {
  return { source, url, ref, commit, ...(tag !== undefined && { tag }), ...(signers !== undefined && { signers }) }
}

/** No two skills are at one path or one URI. */
function expectDistinct(skills: readonly Skill[]): void {
  const places = new Set<string>()
  for (const { path, servedPath, standing } of skills) {
    const isServed = standing === 'served' || standing === 'unlisted'
    for (const place of [`path ${path}`, ...(isServed ? [`served ${servedPath}`] : [])]) {
      if (places.has(place)) throw refusal(path, 'another skill of the channel is at the same place')
      places.add(place)
    }
  }
}

/**
 * Throws `content-refused` for a skill that is not what it declares. Returns those that this machine withholds or notes by
 * its own limits or its own survey, by what the hub has: the hub may be of another version, or lie. All files must be in
 * the store.
 */
async function judgedHere(skills: readonly Skill[], { io, signal }: RevisionPull): Promise<ReadonlyMap<Skill, Skill>> {
  const { store, limits, reader = READ_HERE } = io
  const offered = skills.filter(({ standing }) => standing !== 'withheld')
  for (const { path, digest, files } of offered)
    if (digest !== digestOf(files)) throw refusal(path, 'its digest is not that of its files')
  await store.skills.expectWhole(storedIn({ skills }))
  const anew = new Map<Skill, Skill>()
  for (const skill of offered) {
    signal.throwIfAborted()
    const document = skill.files.find(({ path }) => path === 'SKILL.md')
    if (document === undefined) throw refusal(skill.path, 'it has no SKILL.md')
    const bytes = await store.skills.read(storedSkill(skill), document)
    const reading = await reader.read(bytes, limits.frontmatter, signal)
    const judged = judgeDocument(skill.path, reading)
    const mismatch =
      (await mismatchOf(skill, document, bytes, async () => reading.frontmatter)) ?? overstatement(skill, judged)
    if (mismatch !== undefined) throw refusal(skill.path, mismatch)
    const size = skill.files.reduce((sum, file) => sum + file.size, 0)
    if (size !== skill.size) throw refusal(skill.path, `its files have ${size} bytes, and ${skill.size} are declared`)
    const finding = objection(skill, judged, limits.skill.files)
    if (finding !== undefined) {
      anew.set(skill, withheldSkill(skill, finding))
      continue
    }
    const searched = await searchedHere(skill, async (file) =>
      reader.hiddenIn(file.path, file === document ? bytes : await store.skills.read(storedSkill(skill), file), signal),
    )
    if (searched !== skill) anew.set(skill, searched)
  }
  return anew
}

/** The skill with what this machine finds of invisible characters; the same object if the hub has found the same. */
async function searchedHere(
  skill: Skill,
  hiddenIn: (file: SkillFile) => Promise<HiddenText | undefined>,
): Promise<Skill> {
  const files: SkillFile[] = []
  for (const file of skill.files) {
    const { hidden: _declared, ...rest } = file
    const hidden = await hiddenIn(file)
    files.push(hidden === undefined ? rest : { ...rest, hidden })
  }
  const { isWithheld, findings } = judgeDeclared({ ...skill, files }, 'deceptive')
  const declared = skill.findings.filter(({ rule }) => rule === 'hidden-unicode')
  const others = skill.findings.filter(({ rule }) => rule !== 'hidden-unicode')
  const isKnown = isDeepStrictEqual(new Set(findings), new Set(declared)) && isDeepStrictEqual(files, skill.files)
  const found = isKnown ? skill : { ...skill, files, findings: [...others, ...findings] }
  const [first] = findings
  return isWithheld && first !== undefined ? withheldSkill({ ...found, findings: others }, first) : found
}

/** The finding for which this machine does not serve a skill that is what it declares; `undefined` if it does. */
function objection(
  { path, standing, files }: Skill,
  { standing: best }: ReadDocument,
  mostFiles: number,
): SkillDiagnostic | undefined {
  if (files.length > mostFiles) {
    const message = `It has ${files.length} files, over limits.skill.files (${mostFiles})`
    return { rule: 'limit-files', path, message }
  }
  if (best !== 'withheld' && (standing === 'tools' || best === 'served')) return undefined
  const message = `The hub offers it as ${standing}, and by the rules of this version it is ${best}`
  return { rule: 'content-mismatch', path, message }
}

/** The reason why the SKILL.md is not that of such a skill; `undefined` if it is. */
function overstatement(
  { servedPath, standing, name, description, frontmatter }: Skill,
  { fields }: ReadDocument,
): string | undefined {
  if (!isDeepStrictEqual(fields, { name, description, frontmatter }))
    return 'its name, description and frontmatter are not those of its SKILL.md'
  if (standing !== 'tools' && (servedPath === undefined || baseName(servedPath) !== name))
    return 'the path of its URI does not end with its name'
  return undefined
}

function refusal(path: string, why: string): SyncError {
  return new SyncError('content-refused', `Cannot take the skill "${path}" of the channel: ${why}`)
}
