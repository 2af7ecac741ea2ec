import { createHash } from 'node:crypto'
import { comparePaths } from '../model/digest.ts'
import { asJudgedBefore } from './earlier-judgement.ts'
import type { JsonObject } from '../../base/json-value.ts'
import { askedText, isSameAsked, type AskedRef, type ObjectId, type Revision } from '../model/revision.ts'
import { isLockable } from '../model/skill.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import type { SourceId } from '../model/source-id.ts'
import type { Signers } from '../model/signers.ts'

/** What was agreed on: for each source the commit and the skills that are served of it. Holds no time and no machine. */
export interface Lock {
  readonly sources: ReadonlyMap<SourceId, LockEntry>
  /** What the packs hold of them, by their ids. */
  readonly packs: ReadonlyMap<string, LockedPack>
  /** Fields that this version does not know. They survive a rewrite. */
  readonly rest: JsonObject
}

export const EMPTY_LOCK: Lock = { sources: new Map(), packs: new Map(), rest: {} }

/** What is locked of one source. The first five fields repeat the configuration: an edit of that is seen. */
export interface LockEntry {
  readonly url: string
  readonly asked: AskedRef
  readonly root: string
  readonly selection: LockedSelection
  readonly revision: Revision
  /** The tree of the commit. */
  readonly tree: ObjectId
  readonly signers: Signers | undefined
  /** `setDigestOf` the skills. */
  readonly digest: string
  /** By their true path. */
  readonly skills: ReadonlyMap<string, LockedSkill>
  /** Digest of the docs; undefined where none are served. */
  readonly docs: string | undefined
  readonly rest: JsonObject
  /** The configuration selects otherwise than this says: the commit alone is followed. Never written. */
  readonly byOtherRules?: true
}

export type LockedSelection = Pick<
  Source,
  'include' | 'exclude' | 'unlisted' | 'names' | 'nested' | 'lfs' | 'hiddenUnicode' | 'contract' | 'docs'
>

export interface LockedSkill {
  readonly name: string
  readonly digest: string
  readonly rest: JsonObject
}

/** What is locked of one pack: what it chooses by, and what that comes to. */
export interface LockedPack {
  /** `choicesDigestOf` the pack: an edit of the configuration is seen. */
  readonly choices: string
  /** Of each source that it can hold skills of, the digest of the entry from which was told which those are. */
  readonly sources: ReadonlyMap<SourceId, string>
  /** `packDigestOf` the pack. */
  readonly digest: string
  /** Each as `<source>/<path>`, in the order of their bytes. */
  readonly skills: readonly string[]
  readonly rest: JsonObject
}

/** What is to be locked of a source whose snapshot this is. Fields of an earlier entry that nobody knows are kept. */
export function entryOf(source: Source, snapshot: Snapshot, earlier?: LockEntry): LockEntry {
  const skills = lockedSkills(snapshot.skills, earlier)
  const { url, ref, root } = source
  return {
    url,
    asked: ref,
    root,
    selection: selectionOf(source),
    revision: { ...snapshot.revision, asked: ref },
    tree: snapshot.tree,
    signers: snapshot.proof.signers,
    digest: setDigestOf(skills),
    skills,
    docs: snapshot.docs?.digest,
    rest: earlier?.rest ?? {},
  }
}

function selectionOf(source: Source): LockedSelection {
  const { include, exclude, unlisted, names, nested, lfs, hiddenUnicode, contract, docs } = source
  return { include, exclude, unlisted, names, nested, lfs, hiddenUnicode, contract, docs }
}

/** Those that anybody is given, as far as the lock can tell: `isLockable`. */
function lockedSkills(skills: readonly Skill[], earlier: LockEntry | undefined): ReadonlyMap<string, LockedSkill> {
  const locked = new Map<string, LockedSkill>()
  for (const skill of skills) {
    const { path, name, digest } = skill
    if (!isLockable(skill) || digest === undefined) continue
    locked.set(path, { name: name ?? '', digest, rest: earlier?.skills.get(path)?.rest ?? {} })
  }
  return locked
}

const SET_DOMAIN = 'skillsyncd set v1\0'

/**
 * The content digest of a set of skills, 64 lower-case hex digits: SHA-256 over a domain prefix and then, for each skill in
 * the order of its raw path bytes, path and name, each behind its length, and the digest. See `docs/digest.md`.
 */
export function setDigestOf(skills: ReadonlyMap<string, Pick<LockedSkill, 'name' | 'digest'>>): string {
  const hash = createHash('sha256').update(SET_DOMAIN)
  for (const [path, { name, digest }] of [...skills].toSorted(([a], [b]) => comparePaths(a, b))) {
    for (const text of [path, name]) {
      const bytes = Buffer.from(text, 'utf8')
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      hash.update(length).update(bytes)
    }
    hash.update(Buffer.from(digest, 'hex'))
  }
  return hash.digest('hex')
}

/** One way in which lock and configuration disagree: which source or pack, and what is the case. */
export interface Mismatch {
  readonly source: string
  readonly message: string
}

/** All ways in which the lock does not fit these sources: an entry too many is one, and so is one that is missing. */
export function mismatchesOf(lock: Lock, sources: readonly Source[]): Mismatch[] {
  const extra = [...lock.sources.keys()].filter((id) => !sources.some((source) => source.id === id))
  return [
    ...sources.flatMap((source) => mismatchesWith(lock.sources.get(source.id), source)),
    ...extra.map((source) => ({ source, message: 'is in the lock and not in the configuration' })),
  ]
}

/** Whether the entry is of the same ref of the same place, however skills are selected there. */
export function isOfSameRef(entry: LockEntry, source: Source): boolean {
  return entry.url === source.url && isSameAsked(entry.asked, source.ref)
}

/** How the entry of a source differs from what the configuration says of it. */
export function mismatchesWith(entry: LockEntry | undefined, source: Source): Mismatch[] {
  if (entry === undefined) return [{ source: source.id, message: 'is not in the lock' }]
  const differing: string[] = []
  const compare = (key: string, locked: string, wanted: string): void => {
    if (locked !== wanted)
      differing.push(`has ${key} ${quoted(locked)} in the lock and ${quoted(wanted)} in the configuration`)
  }
  compare('url', entry.url, source.url)
  if (!isSameAsked(entry.asked, source.ref)) compare('ref', askedText(entry.asked), askedText(source.ref))
  compare('root', entry.root, source.root)
  for (const key of SELECTION_KEYS) compare(key, JSON.stringify(entry.selection[key]), JSON.stringify(source[key]))
  if (!isDefaultOfBefore(entry.selection, source))
    compare('hiddenUnicode', JSON.stringify(entry.selection.hiddenUnicode), JSON.stringify(source.hiddenUnicode))
  // What is served since of a locked skill is told by its digest, as all is that a version offers and one before did not.
  if (entry.selection.lfs !== 'withhold' || source.lfs !== 'leave-out')
    compare('lfs', JSON.stringify(entry.selection.lfs), JSON.stringify(source.lfs))
  compare('docs', JSON.stringify(entry.selection.docs ?? null), JSON.stringify(source.docs ?? null))
  return differing.map((message) => ({ source: source.id, message }))
}

const SELECTION_KEYS = ['include', 'exclude', 'unlisted', 'names', 'nested', 'contract'] as const

/**
 * The default was `note` when the lock was written, and is stricter now. What it withholds is missing from the locked skills, so
 * that it is told without this.
 */
function isDefaultOfBefore(locked: LockedSelection, wanted: Source): boolean {
  return locked.hiddenUnicode === 'note' && wanted.hiddenUnicode === 'deceptive'
}

function quoted(text: string): string {
  return text === 'null' || /^["[]/.test(text) ? text : `"${text}"`
}

/** One skill that two sides disagree about. */
export interface SkillChange {
  readonly path: string
  readonly change: 'added' | 'removed' | 'changed'
}

/** From one set of skills to another, by path. */
export function skillChanges(
  before: ReadonlyMap<string, Pick<LockedSkill, 'name' | 'digest'>>,
  after: ReadonlyMap<string, Pick<LockedSkill, 'name' | 'digest'>>,
): SkillChange[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted(comparePaths)
  return paths.flatMap((path): SkillChange[] => {
    const [from, to] = [before.get(path), after.get(path)]
    if (from === undefined) return [{ path, change: 'added' }]
    if (to === undefined) return [{ path, change: 'removed' }]
    return from.digest === to.digest && from.name === to.name ? [] : [{ path, change: 'changed' }]
  })
}

/** The skills of a snapshot as a lock would have them. */
export function skillsToLock(snapshot: Snapshot): ReadonlyMap<string, LockedSkill> {
  return lockedSkills(snapshot.skills, undefined)
}

/** What became of the docs from one side to another; undefined where nothing did. */
export function docsChange(before: string | undefined, after: string | undefined): SkillChange['change'] | undefined {
  if (before === after) return undefined
  if (before === undefined) return 'added'
  return after === undefined ? 'removed' : 'changed'
}

/**
 * Whether the snapshot is what was locked: the commit, every skill by its digest, and the docs by theirs. By other rules the commit
 * and its tree alone.
 */
export function isLocked(entry: LockEntry, snapshot: Snapshot): boolean {
  return asLocked(entry, snapshot) !== undefined
}

/**
 * The snapshot with the skills that the entry has of it; undefined where it is not what was locked. A lock of an earlier version lacks
 * the skills that are offered only since, and holds on: their bytes are of the locked tree too.
 */
export function asLocked(entry: LockEntry, snapshot: Snapshot): Snapshot | undefined {
  if (snapshot.url !== entry.url || snapshot.tree !== entry.tree) return undefined
  if (snapshot.revision.commit !== entry.revision.commit) return undefined
  if (entry.byOtherRules === true) return snapshot
  if (snapshot.docs?.digest !== entry.docs) return undefined
  if (isSetOf(snapshot.skills, entry)) return snapshot
  const skills = asJudgedBefore(snapshot.skills, entry.selection)
  return skills !== snapshot.skills && isSetOf(skills, entry) ? { ...snapshot, skills } : undefined
}

function isSetOf(skills: readonly Skill[], { digest }: LockEntry): boolean {
  return setDigestOf(lockedSkills(skills, undefined)) === digest
}
