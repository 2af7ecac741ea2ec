import { inSlices } from '../../base/async/cooperative.ts'
import { foldersAbove } from '../../base/paths.ts'
import { othersThan } from '../model/changes/skill-changes.ts'
import { describeSkillCode } from '../model/code-descriptions.ts'
import type { Skill } from '../model/skill.ts'
import { storedProof } from '../model/snapshot.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import { SyncError, Damaged } from '../model/sync-error.ts'
import { TreeNotTakenError } from '../model/tree.ts'
import type { Tree } from '../model/tree.ts'
import { storedIn, storedOf } from '../store/skills/stored-path.ts'
import type { StoredSkill } from '../store/skills/stored-path.ts'
import type { Store } from '../store/store.ts'
import type { Earlier } from '../survey/earlier-snapshot.ts'
import type { LastGood } from '../survey/last-good.ts'
import { knownTrees } from '../survey/survey-rules.ts'
import { survey } from '../survey/survey.ts'
import type { Survey } from '../survey/survey.ts'
import { NOTHING_KNOWN } from '../upstream/upstream.ts'
import { signersOf } from './check-signers.ts'
import { LastGoodVersions } from './last-good-versions.ts'
import { rulesFor, upstreamAs } from './pull-context.ts'
import type { PullContext, RevisionPull, TreePull } from './pull-context.ts'

/**
 * Takes the snapshot of a revision: fetched, verified, judged, with its skills in the store. The snapshot itself is not
 * in the store yet.
 */
export async function fetchSnapshot(pull: RevisionPull): Promise<Snapshot> {
  const { io } = pull
  expectRoom(io)
  return (io.snapshotOf ?? snapshotOfTree)(pull)
}

async function snapshotOfTree(pull: RevisionPull): Promise<Snapshot> {
  const { source, current, orders } = pull
  // Content of a previously configured address must not replace content of the current one.
  const isOfSource = current?.snapshot.url === source.url
  const isKeeping = current?.snapshot.keptFrom !== undefined
  return fetchDespiteDamage({
    ...pull,
    upstream: upstreamAs(pull, 'tree'),
    earlier: orders.isDamaged === true || (!isOfSource && isKeeping) ? undefined : current?.snapshot,
    served: isOfSource ? current?.snapshot : undefined,
  })
}

/** Fetches unknown content, judges it and stores the skills. */
async function fetchDespiteDamage(pull: TreePull): Promise<Snapshot> {
  try {
    return await fetchUnknown(pull)
  } catch (error) {
    if (pull.earlier === undefined || !(error instanceof Damaged)) throw error
    // A stored file that the new commit also has may be damaged. The second attempt takes every file again, and a file
    // that is stored again replaces the damaged one.
    return fetchUnknown({ ...pull, earlier: undefined })
  }
}

async function fetchUnknown(pull: TreePull): Promise<Snapshot> {
  const { earlier, revision, upstream, signal } = pull
  try {
    await using tree = await upstream.fetch(revision, knownTrees(rulesFor(pull), earlier), signal)
    return await snapshotOf(tree, pull)
  } catch (error) {
    if (!(error instanceof TreeNotTakenError)) throw error
    // A link of the new commit leads into an unchanged folder. This is rare: the whole tree is fetched again.
    await using tree = await upstream.fetch(revision, NOTHING_KNOWN, signal)
    return await snapshotOf(tree, pull)
  }
}

/** Verifies the signatures of a fetched tree, before any file of it is requested, then surveys it. */
async function snapshotOf(tree: Tree, pull: TreePull): Promise<Snapshot> {
  const { source } = pull
  const signers = await signersOf(pull, tree)
  const versions = source.kind === 'git' && source.onBroken === 'keep' ? new LastGoodVersions(pull) : undefined
  const found = await surveyStored(tree, pull, versions)
  const keptFrom = versions?.revisionsOf(found.skills) ?? []
  return {
    source: source.id,
    url: source.url,
    revision: tree.revision,
    tree: tree.root,
    rules: found.rules,
    ...(found.roots !== undefined && { roots: found.roots }),
    skills: found.skills,
    ...(found.docs !== undefined && { docs: found.docs }),
    ...(found.docsFolder !== undefined && { docsFolder: found.docsFolder }),
    ...(found.marketplace !== undefined && { marketplace: found.marketplace }),
    findings: found.findings,
    folders: found.folders,
    proof: storedProof(tree.proof, signers),
    ...(keptFrom.length > 0 && { keptFrom }),
  }
}

/** Finds the skills of a tree, whose files are in the store then. */
async function surveyStored(tree: Tree, pull: TreePull, versions: LastGoodVersions | undefined): Promise<Survey> {
  const { source, earlier, served, io, signal } = pull
  const { store } = io
  const lastGood: LastGood | undefined = versions && (async (paths, again, root) => versions.of(paths, again, root))
  const before = { earlier: earlierIn(store, earlier), served: earlierIn(store, served), reader: io.reader, lastGood }
  const found = await survey(tree, rulesFor(pull), before, signal)
  if (source.onBroken === 'refuse') refuseInvalid(found.skills, source.nested)
  const fresh = freshSkills(found, earlier)
  expectFits(fresh, io)
  await store.skills.expectWhole(fresh)
  await expectReusedIntact(fresh, found, pull)
  return found
}

/** The skills and docs of a survey that an earlier snapshot does not have. */
function freshSkills(found: Pick<Snapshot, 'skills' | 'docs'>, earlier: Snapshot | undefined): readonly StoredSkill[] {
  const others = storedIn({ ...found, skills: othersThan(earlier?.skills ?? [], found.skills) })
  const digests = new Set(others.map(({ digest }) => digest))
  const alike = earlier?.skills.filter(({ digest }) => digest !== undefined && digests.has(digest)) ?? []
  const kept = new Set(storedIn({ ...earlier, skills: alike }).map(placeOf))
  return others.filter((stored) => !kept.has(placeOf(stored)))
}

/** Other rules can read another name out of the same files, and the folder is called by it. */
function placeOf({ place, digest, folderName }: StoredSkill): string {
  return `${place}/${digest}/${folderName}`
}

/** A file that a new version of a skill shares with an old one was not taken again, and may be damaged. */
async function expectReusedIntact(
  fresh: readonly StoredSkill[],
  { taken }: Survey,
  { io, signal }: TreePull,
): Promise<void> {
  const reused = new Map<string, () => Promise<void>>()
  const { skills } = io.store
  for (const skill of fresh)
    for (const file of skill.files)
      if (taken.get(file.blob)?.kind !== 'blob')
        reused.set(file.sha256, async () => void (await skills.read(skill, file)))
  await inSlices(reused.values(), async (read) => read(), signal)
  signal.throwIfAborted()
}

function earlierIn(store: Store, snapshot: Snapshot | undefined): Earlier | undefined {
  if (snapshot === undefined) return undefined
  return {
    snapshot,
    read: async (stored, path) => {
      const file = stored.files.find((candidate) => candidate.path === path)
      if (file === undefined)
        throw new SyncError('store-failed', `Cannot read "${path}" of what is stored: it has no such file`)
      return store.skills.read(storedOf(stored), file)
    },
  }
}

/** Each fetch has limits of its own; this limits their sum. */
function expectRoom({ store, limits }: PullContext): void {
  if (store.bytes <= limits.disk.bytes) return
  const message = `Cannot fetch: what is kept comes to ${store.bytes} bytes, over limits.disk.bytes (${limits.disk.bytes})`
  throw new SyncError('limit-exceeded', message, { place: 'limits.disk.bytes' })
}

function expectFits(fresh: readonly StoredSkill[], { limits }: PullContext): void {
  const bytes = fresh.flatMap(({ files }) => files).reduce((sum, { size }) => sum + size, 0)
  if (bytes <= limits.disk.bytes) return
  const message = `Cannot keep the skills: they come to over limits.disk.bytes (${limits.disk.bytes})`
  throw new SyncError('limit-exceeded', message, { place: 'limits.disk.bytes' })
}

/** `on_broken: refuse`: a commit that holds an invalid skill is refused whole, the last good one stays. */
function refuseInvalid(skills: readonly Skill[], nested: Source['nested']): void {
  const isOffered = ({ standing }: Skill): boolean => standing === 'served' || standing === 'unlisted'
  const offered = new Set(skills.filter(isOffered).map(({ path }) => path))
  // With `nested: as-files`, a SKILL.md inside another skill is a file of that skill, whatever it contains.
  const isFile = ({ path }: Skill): boolean =>
    nested === 'as-files' && [...foldersAbove(path)].some((above) => offered.has(above))
  const invalid = skills.filter((skill) => (!isOffered(skill) || hasFault(skill)) && !isFile(skill))
  if (invalid.length === 0) return
  const count = invalid.length === 1 ? '1 of its skills is' : `${invalid.length} of its skills are`
  const named = invalid.slice(0, MOST_NAMED).map((skill) => `"${skill.path}": ${invalidReason(skill)}`)
  const more = invalid.length > MOST_NAMED ? `; and ${invalid.length - MOST_NAMED} more` : ''
  const message = `Cannot serve the commit: ${count} invalid, and "on_broken" of the source is "refuse"; ${named.join('; ')}${more}`
  throw new SyncError('content-refused', message, { fix: MEND, place: 'on_broken' })
}

/** True for a skill that is offered although a part of it is faulty. */
function hasFault({ findings }: Skill): boolean {
  return findings.some(({ rule }) => rule === 'frontmatter-unquoted' || rule === 'lfs-left-out')
}

/** More are reported after these are fixed. */
const MOST_NAMED = 12
const MOST_REASONS = 3

/** The reasons for an invalid skill: its errors, or its warnings if there are no errors. */
function invalidReason({ findings }: Skill): string {
  const wrong = findings.filter(({ rule }) => describeSkillCode(rule).severity === 'error')
  const reasons = (wrong.length === 0 ? findings : wrong).map(({ message }) => message)
  const more = reasons.length > MOST_REASONS ? `, and ${reasons.length - MOST_REASONS} more` : ''
  return `${reasons.slice(0, MOST_REASONS).join(', ')}${more}`
}

const MEND =
  'Have the skills corrected upstream, where skillsyncd skill validate lists each fault; or set `on_broken: withhold`, for those skills alone'
