import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../base/json-value.ts'
import { comparePaths } from '../digest.ts'
import { askedText, isSameAsked, type AskedRef, type ObjectId, type Revision } from '../revision.ts'
import type { Signers } from '../signers.ts'
import { isLockable } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import type { Source } from '../source.ts'

/**
 * The agreed state: for each source, the commit and the skills that are served of it. Contains no time and nothing
 * about a machine.
 */
export interface Lock {
  readonly sources: ReadonlyMap<SourceId, LockEntry>
  /** The content of the packs, by their ids. */
  readonly packs: ReadonlyMap<string, LockedPack>
  /** Fields that this version does not know. They survive a rewrite. */
  readonly rest: JsonObject
}

export const EMPTY_LOCK: Lock = { sources: new Map(), packs: new Map(), rest: {} }

/**
 * The locked state of one source. `url`, `asked`, `root` and `selection` repeat the configuration, so that an edit of
 * it is noticed.
 */
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
  /** Digest of the docs; `undefined` if none are served. */
  readonly docs: string | undefined
  readonly rest: JsonObject
  /** The configuration selects by other rules than this entry: only the commit is followed. Never written. */
  readonly byOtherRules?: true
}

export type LockedSelection = Pick<
  Source,
  'include' | 'exclude' | 'unlisted' | 'names' | 'nested' | 'lfs' | 'hiddenUnicode' | 'docs'
> & {
  /** A lock has only commits that were taken, and so does not know `refuse`. */
  readonly onBroken: Exclude<Source['onBroken'], 'refuse'>
  /** True if the contract is required. An offer decides no skill, so a lock does not know it. */
  readonly contract: boolean
}

export interface LockedSkill {
  readonly name: string
  readonly digest: string
  /** The revision that it is from, if that is not the locked one: its version there is broken. */
  readonly from?: LockedOrigin
  readonly rest: JsonObject
}

/** The revision of a skill, with the ref as it was resolved. */
export type LockedOrigin = Pick<Revision, 'ref' | 'commit' | 'tag'>

/** The locked state of one pack: its choices, and the skills that they yield. */
export interface LockedPack {
  /** `choicesDigestOf` the pack, so that an edit of the configuration is noticed. */
  readonly choices: string
  /**
   * For each source that the pack can hold skills of, the digest of the lock entry from which these were determined.
   */
  readonly sources: ReadonlyMap<SourceId, string>
  /** `packDigestOf` the pack. */
  readonly digest: string
  /** Each as `<source>/<path>`, in byte order. */
  readonly skills: readonly string[]
  readonly rest: JsonObject
}

/** Makes the lock entry of a source from its snapshot. Keeps unknown fields of the earlier entry. */
export function lockEntryOf(source: Source, snapshot: Snapshot, earlier?: LockEntry): LockEntry {
  const skills = lockedSkills(snapshot, earlier)
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
  const { include, exclude, unlisted, names, nested, lfs, hiddenUnicode, docs } = source
  const onBroken = source.onBroken === 'keep' ? 'keep' : 'withhold'
  const contract = source.contract === true
  return { include, exclude, unlisted, names, nested, onBroken, lfs, hiddenUnicode, contract, docs }
}

/** The skills that a lock contains: those with a digest that are `isLockable`. */
function lockedSkills(
  { skills, keptFrom = [] }: Pick<Snapshot, 'skills' | 'keptFrom'>,
  earlier: LockEntry | undefined,
): ReadonlyMap<string, LockedSkill> {
  const origins = new Map(keptFrom.map(({ revision }) => [revision.commit, originOf(revision)]))
  const locked = new Map<string, LockedSkill>()
  for (const skill of skills) {
    const { path, name, digest, kept } = skill
    if (!isLockable(skill) || digest === undefined) continue
    const from = kept && origins.get(kept.commit)
    const rest = earlier?.skills.get(path)?.rest ?? {}
    locked.set(path, { name: name ?? '', digest, ...(from !== undefined && { from }), rest })
  }
  return locked
}

function originOf({ ref, commit, tag }: Revision): LockedOrigin {
  return { ref, commit, ...(tag !== undefined && { tag }) }
}

const SET_DOMAIN = 'skillsyncd set v1\0'

/**
 * The content digest of a set of skills, 64 lower-case hex digits: SHA-256 over a domain prefix and then, for each
 * skill in the order of its raw path bytes, path and name, each after its length, and the digest. See `docs/protocol.md`.
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

/** One mismatch of lock and configuration: the source or pack, and the difference. */
export interface Mismatch {
  readonly source: string
  readonly message: string
}

/** All mismatches between the lock and these sources, including extra and missing entries. */
export function mismatchesOf(lock: Lock, sources: readonly Source[]): Mismatch[] {
  const extra = [...lock.sources.keys()].filter((id) => !sources.some((source) => source.id === id))
  return [
    ...sources.flatMap((source) => mismatchesWith(lock.sources.get(source.id), source)),
    ...extra.map((source) => ({ source, message: 'is in the lock and not in the configuration' })),
  ]
}

/** True if the entry is for the same ref at the same URL, whatever the selection of skills. */
export function isOfSameRef(entry: LockEntry, source: Source): boolean {
  return entry.url === source.url && isSameAsked(entry.asked, source.ref)
}

/** The differences between the entry of a source and its configuration. */
export function mismatchesWith(entry: LockEntry | undefined, source: Source): Mismatch[] {
  if (entry === undefined) return [{ source: source.id, message: 'is not in the lock' }]
  const differing: string[] = []
  const compare = (key: string, locked: string, wanted: string): void => {
    if (locked !== wanted)
      differing.push(`has ${key} ${quote(locked)} in the lock and ${quote(wanted)} in the configuration`)
  }
  compare('url', entry.url, source.url)
  if (!isSameAsked(entry.asked, source.ref)) compare('ref', askedText(entry.asked), askedText(source.ref))
  compare('root', entry.root, source.root)
  const wanted = selectionOf(source)
  for (const [key, name] of SELECTION_KEYS)
    compare(name, JSON.stringify(entry.selection[key]), JSON.stringify(wanted[key]))
  compare('docs', JSON.stringify(entry.selection.docs ?? null), JSON.stringify(source.docs ?? null))
  return differing.map((message) => ({ source: source.id, message }))
}

/** The members of a selection, with their names in the configuration. */
const SELECTION_KEYS = [
  ['include', 'include'],
  ['exclude', 'exclude'],
  ['unlisted', 'unlisted'],
  ['names', 'names'],
  ['nested', 'nested'],
  ['onBroken', 'on_broken'],
  ['contract', 'contract'],
  ['hiddenUnicode', 'hidden_unicode'],
  ['lfs', 'lfs'],
] as const

function quote(text: string): string {
  return text === 'null' || /^["[]/.test(text) ? text : `"${text}"`
}

/** A skill in which the served content differs from a lock. */
interface LockDifference {
  readonly path: string
  readonly difference: 'added' | 'removed' | 'changed'
}

/** The skills that differ from those of a lock, by path. */
export function lockDifferences(
  locked: ReadonlyMap<string, Pick<LockedSkill, 'name' | 'digest'>>,
  served: ReadonlyMap<string, Pick<LockedSkill, 'name' | 'digest'>>,
): LockDifference[] {
  const paths = [...new Set([...locked.keys(), ...served.keys()])].toSorted(comparePaths)
  return paths.flatMap((path): LockDifference[] => {
    const [from, to] = [locked.get(path), served.get(path)]
    if (from === undefined) return [{ path, difference: 'added' }]
    if (to === undefined) return [{ path, difference: 'removed' }]
    return from.digest === to.digest && from.name === to.name ? [] : [{ path, difference: 'changed' }]
  })
}

/** The skills of a snapshot that a lock would contain. */
export function skillsToLock(snapshot: Snapshot): ReadonlyMap<string, LockedSkill> {
  return lockedSkills(snapshot, undefined)
}

/**
 * True if the snapshot matches the lock: the commit, the digest of every skill, and the digest of the docs. With
 * `byOtherRules`, only the commit and its tree.
 */
export function isLocked(entry: LockEntry, snapshot: Snapshot): boolean {
  if (snapshot.url !== entry.url || snapshot.tree !== entry.tree) return false
  if (snapshot.revision.commit !== entry.revision.commit) return false
  if (entry.byOtherRules === true) return true
  return snapshot.docs?.digest === entry.docs && setDigestOf(skillsToLock(snapshot)) === entry.digest
}
