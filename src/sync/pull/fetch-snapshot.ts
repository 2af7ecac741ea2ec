import { foldersAbove } from '../../base/paths.ts'
import { sheetOf } from '../lint/rule-texts.ts'
import type { ObjectId, Revision } from '../model/revision.ts'
import type { Signers } from '../model/signers.ts'
import { othersThan } from '../model/skill-delta.ts'
import type { Skill, SkillFile } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import { Damaged, SyncError } from '../model/sync-error.ts'
import { TreeNotTaken } from '../model/tree.ts'
import type { Tree } from '../model/tree.ts'
import type { SkillWriter, BytesOrigin } from '../store/skills/skill-writer.ts'
import { keptIn, storedIn, storedOf } from '../store/skills/stored-path.ts'
import type { StoredSkill } from '../store/skills/stored-path.ts'
import type { Store } from '../store/store.ts'
import { knownTrees } from '../survey/survey-rules.ts'
import type { Rules } from '../survey/survey-rules.ts'
import { survey } from '../survey/survey.ts'
import type { Earlier, Surroundings, Survey } from '../survey/survey.ts'
import { NOTHING_KNOWN } from '../upstream/upstream.ts'
import type { TreeUpstream, Upstream } from '../upstream/upstream.ts'
import { signersOf } from './check-signers.ts'
import { rulesFor } from './pull-context.ts'
import type { Pull, PullContext } from './pull-context.ts'
import { takeListing } from './survey-listing.ts'

/**
 * Takes the snapshot of a revision: fetched, verified, judged, with its skills in the store. The snapshot itself is not
 * in the store yet.
 */
export async function fetchSnapshot(one: Pull, revision: Revision, upstream: Upstream): Promise<Snapshot> {
  const { source, current, orders, io, signal } = one
  expectRoom(io)
  if (upstream.kind === 'listing') return takeListing(await upstream.list(revision, signal), one)
  return take(revision, upstream, {
    source,
    rules: rulesFor(one),
    earlier: orders.isDamaged === true ? undefined : current?.snapshot,
    // Content of a previously configured address must not replace content of the current one.
    served: current?.snapshot.url === source.url ? current.snapshot : undefined,
    signers: (tree) => signersOf(one, tree),
    io,
    signal,
  })
}

interface Taking {
  readonly source: Source
  readonly rules: Rules
  /** The snapshot whose unchanged parts are reused unread. */
  readonly earlier: Snapshot | undefined
  readonly served: Snapshot | undefined
  /** Finds the signers of a tree; `undefined` if none are required. */
  readonly signers: (tree: Tree) => Promise<Signers | undefined>
  readonly io: PullContext
  readonly signal: AbortSignal
}

/** Fetches unknown content, judges it and stores the skills. */
async function take(revision: Revision, upstream: TreeUpstream, taking: Taking): Promise<Snapshot> {
  try {
    return await takeUnknown(revision, upstream, taking)
  } catch (error) {
    if (taking.earlier === undefined || !(error instanceof Damaged)) throw error
    // A stored file that the new commit also has may be damaged. The second attempt relies on no stored content, and so
    // repairs it.
    return takeUnknown(revision, upstream, { ...taking, earlier: undefined })
  }
}

async function takeUnknown(revision: Revision, upstream: TreeUpstream, taking: Taking): Promise<Snapshot> {
  const { rules, earlier, signal } = taking
  try {
    await using tree = await upstream.fetch(revision, knownTrees(rules, earlier), signal)
    return await keep(tree, taking)
  } catch (error) {
    if (!(error instanceof TreeNotTaken)) throw error
    // A link of the new commit leads into an unchanged folder. This is rare: the whole tree is fetched again.
    await using tree = await upstream.fetch(revision, NOTHING_KNOWN, signal)
    return await keep(tree, taking)
  }
}

async function keep(
  tree: Tree,
  { source, rules, earlier, served, signers: find, io, signal }: Taking,
): Promise<Snapshot> {
  const { store } = io
  // The signers are checked before any file is requested.
  const signers = await find(tree)
  await using keeping = store.skills.keeping(io.limits.disk.bytes)
  const keepFresh = freshKeeper({ earlier, served }, keeping)
  const before = { earlier: earlierIn(store, earlier), served: earlierIn(store, served), reader: io.reader }
  const onRead: Surroundings['onRead'] = async (skills, taken, within) =>
    void (await keepFresh({ skills, taken }, within))
  // A survey may refuse the whole commit, or find that a skill is a file of another one: then nothing is written before
  // its end.
  const isLikelyKept = !source.strict && source.nested === 'as-skills'
  const found = await survey(tree, rules, { ...before, ...(isLikelyKept && { onRead }) }, signal)
  if (source.strict) refuseInvalid(found.skills, source.nested)
  await keeping.finish(await keepFresh(found, signal), signal)
  const { commit, tag } = tree.proof
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
    findings: found.findings,
    folders: found.folders,
    proof: {
      commit: base64(commit),
      ...(tag !== undefined && { tag: base64(tag) }),
      ...(signers !== undefined && { signers }),
    },
  }
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

/** `strict: true`: a commit that holds an invalid skill is refused whole, the last good one stays. */
function refuseInvalid(skills: readonly Skill[], nested: Source['nested']): void {
  const isOffered = ({ standing }: Skill): boolean => standing === 'served' || standing === 'unlisted'
  const offered = new Set(skills.filter(isOffered).map(({ path }) => path))
  // With `nested: as-files`, a SKILL.md inside another skill is a file of that skill, whatever it contains.
  const isFile = ({ path }: Skill): boolean =>
    nested === 'as-files' && [...foldersAbove(path)].some((above) => offered.has(above))
  const invalid = skills.filter((skill) => (!isOffered(skill) || hasFault(skill)) && !isFile(skill))
  if (invalid.length === 0) return
  const count = invalid.length === 1 ? '1 of its skills is' : `${invalid.length} of its skills are`
  const named = invalid.slice(0, MOST_NAMED).map((skill) => `"${skill.path}": ${whyInvalid(skill)}`)
  const more = invalid.length > MOST_NAMED ? `; and ${invalid.length - MOST_NAMED} more` : ''
  const message = `Cannot take the commit: ${count} invalid and the source is strict; ${named.join('; ')}${more}`
  throw new SyncError('content-refused', message)
}

/** True for a skill that is offered although a part of it is faulty. */
function hasFault({ findings }: Skill): boolean {
  return findings.some(({ rule }) => rule === 'frontmatter-unquoted' || rule === 'lfs-left-out')
}

/** More are reported after these are fixed. */
const MOST_NAMED = 12
const MOST_REASONS = 3

/** The reasons for an invalid skill: its errors, or its warnings if there are no errors. */
function whyInvalid({ findings }: Skill): string {
  const wrong = findings.filter(({ rule }) => sheetOf(rule).severity === 'error')
  const reasons = (wrong.length === 0 ? findings : wrong).map(({ message }) => message)
  const more = reasons.length > MOST_REASONS ? `, and ${reasons.length - MOST_REASONS} more` : ''
  return `${reasons.slice(0, MOST_REASONS).join(', ')}${more}`
}

/** Returns a function that writes found content that the store lacks, and returns that content. */
function freshKeeper(
  { earlier, served }: Pick<Taking, 'earlier' | 'served'>,
  keeping: SkillWriter,
): (found: Pick<Survey, 'skills' | 'docs' | 'taken'>, signal: AbortSignal) => Promise<readonly StoredSkill[]> {
  const before = earlier?.skills ?? []
  return async (found, signal) => {
    const others = storedIn({ ...found, skills: othersThan(before, found.skills) })
    const digests = new Set(others.map(({ digest }) => digest))
    const alike = earlier?.skills.filter(({ digest }) => digest !== undefined && digests.has(digest)) ?? []
    const kept = new Set(storedIn({ ...earlier, skills: alike }).map(placeOf))
    const fresh = others.filter((stored) => !kept.has(placeOf(stored)))
    const blobs = fresh.flatMap(({ files }) => files.map(({ blob }) => blob))
    // The served snapshot provides only replacements for unreadable files, and these were checked.
    const stored = storedBlobs(
      [served, earlier],
      new Set(blobs.filter((blob) => found.taken.get(blob)?.kind !== 'blob')),
    )
    await keeping.add(fresh, (_, file) => originOf(file, found.taken, stored), signal)
    return fresh
  }
}

/** Other rules can read another name out of the same files, and the folder is called by it. */
function placeOf({ place, digest, folderName }: StoredSkill): string {
  return `${place}/${digest}/${folderName}`
}

function originOf(file: SkillFile, brought: Survey['taken'], stored: ReadonlyMap<ObjectId, BytesOrigin>): BytesOrigin {
  const taken = brought.get(file.blob)
  if (taken?.kind === 'blob') return { kind: 'scratch', file: taken.file, at: taken.at }
  const known = stored.get(file.blob)
  if (known === undefined)
    throw new SyncError('store-failed', `Cannot keep "${file.path}": nobody has the blob ${file.blob}`)
  return known
}

function storedBlobs(
  snapshots: readonly (Snapshot | undefined)[],
  wanted: ReadonlySet<ObjectId>,
): ReadonlyMap<ObjectId, BytesOrigin> {
  const origins = new Map<ObjectId, BytesOrigin>()
  if (wanted.size === 0) return origins
  // Both snapshots are usually the same one.
  for (const snapshot of new Set(snapshots)) {
    for (const from of snapshot === undefined ? [] : keptIn(snapshot)) {
      for (const { blob, path } of from.files)
        if (wanted.has(blob)) origins.set(blob, { kind: 'stored', skill: storedOf(from), path })
    }
  }
  return origins
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

/** Each fetch has limits of its own; this limits their sum. */
function expectRoom({ store, limits }: PullContext): void {
  if (store.bytes <= limits.disk.bytes) return
  const message = `Cannot fetch: what is kept comes to ${store.bytes} bytes, over limits.disk.bytes (${limits.disk.bytes})`
  throw new SyncError('limit-exceeded', message)
}
