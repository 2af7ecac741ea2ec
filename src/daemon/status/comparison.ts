import { hunksOf } from '../../base/text/text-diff.ts'
import type { PageHunk, PageSkillChange, PendingChange, SourceChange, TextDiff } from '../../serve/page/page-data.ts'
import { docsChange, skillChanges, skillsToLock } from '../../sync/model/decisions/lock.ts'
import type { Generation } from '../../sync/model/generation.ts'
import { isInLists, isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { Damaged } from '../../sync/model/sync-error.ts'
import { storedSkill } from '../../sync/store/skills/stored-path.ts'
import type { Store } from '../../sync/store/store.ts'

/** A source to compare, and whether to include its texts. */
export interface Compared {
  readonly source: SourceId
  readonly withText: boolean
}

/**
 * The changes from one generation of the store to another, source by source. `undefined` if one of them is gone or
 * incomplete.
 */
export async function comparisonOf(
  store: Store,
  from: number,
  to: number,
  sources: readonly Compared[],
): Promise<readonly SourceChange[] | undefined> {
  const [before, after] = [await generationOf(store, from), await generationOf(store, to)]
  if (before === undefined || after === undefined) return undefined
  const room = { lines: MOST_LINES }
  const changes: SourceChange[] = []
  for (const { source, withText } of sources) {
    const [old, now] = [before, after].map(({ sources: held }) => held.find((one) => one.source === source)?.snapshot)
    if (old === now) continue
    const [was, is] = [await contentOf(store, old), await contentOf(store, now)]
    if (was === undefined || is === undefined) return undefined
    changes.push(await sourceChange(source, was.snapshot, is.snapshot, withText ? { store, room } : undefined))
  }
  return changes
}

/** A stored snapshot of a source that is not served, and the served one, if any, both by digest. */
export interface PendingSides extends Compared {
  readonly from: string | undefined
  readonly to: string
}

/** The changes that an approval would serve. `undefined` if one of the snapshots is gone or damaged. */
export async function pendingComparison(store: Store, sides: PendingSides): Promise<PendingChange | undefined> {
  const { source, withText, from, to } = sides
  const [was, is] = [await contentOf(store, from), await contentOf(store, to)]
  if (was === undefined || is?.snapshot === undefined) return undefined
  const texts = withText ? { store, room: { lines: MOST_LINES }, isWithAdded: true } : undefined
  const change = await sourceChange(source, was.snapshot, is.snapshot, texts)
  return { ...change, docs: docsChange(was.snapshot?.docs?.digest, is.snapshot.docs?.digest) }
}

/** Before the first generation there is an empty one, numbered 0. */
async function generationOf(store: Store, number: number): Promise<Pick<Generation, 'sources'> | undefined> {
  return number === 0 ? { sources: [] } : store.generations.read(number)
}

/** The content of a source in a generation. `undefined` if it is damaged or gone. */
async function contentOf(
  store: Store,
  digest: string | undefined,
): Promise<{ readonly snapshot: Snapshot | undefined } | undefined> {
  if (digest === undefined) return { snapshot: undefined }
  const snapshot = await store.snapshots.readWhole(digest)
  return snapshot && { snapshot }
}

/** The limit for all texts together; a person would read no more. */
const MOST_LINES = 4_000
const MOST_SKILLS = 200
const MOST_FILES = 50

/** The store of the texts, and the number of lines that may still be shown. */
interface Texts {
  readonly store: Store
  readonly room: { lines: number }
  /** True to have the whole text of a skill that was added. */
  readonly isWithAdded?: boolean
}

async function sourceChange(
  source: SourceId,
  was: Snapshot | undefined,
  is: Snapshot | undefined,
  texts: Texts | undefined,
): Promise<SourceChange> {
  const [old, now] = [skillsIn(was), skillsIn(is)]
  const all = skillChanges(was ? skillsToLock(was) : new Map(), is ? skillsToLock(is) : new Map())
  const listed = all.filter(({ path }) => [old, now].every((skills) => isShown(skills.get(path))))
  const skills: PageSkillChange[] = []
  for (const { path, change } of listed.slice(0, MOST_SKILLS)) {
    const [before, after] = [old.get(path), now.get(path)]
    skills.push({
      path,
      name: after?.name ?? before?.name ?? path,
      change,
      ...filesBetween(before, after),
      diff: texts && after && (await textChange(change, { before, after }, texts)),
    })
  }
  return {
    source,
    from: was?.revision.commit,
    to: is?.revision.commit,
    skills,
    more: listed.length - skills.length,
    unnamed: all.length - listed.length,
  }
}

/** A skill that is withheld on one side counts as added or removed, and its text there is not shown. */
async function textChange(
  change: PageSkillChange['change'],
  { before, after }: { readonly before: Skill | undefined; readonly after: Skill },
  texts: Texts,
): Promise<TextDiff | undefined> {
  if (change === 'changed' && before !== undefined) return diffOf(before, after, texts)
  return change === 'added' && texts.isWithAdded === true ? addedText(after, texts) : undefined
}

function isShown(skill: Skill | undefined): boolean {
  return skill === undefined || isInLists(skill)
}

function skillsIn(snapshot: Snapshot | undefined): ReadonlyMap<string, Skill> {
  return new Map(snapshot?.skills.map((skill) => [skill.path, skill]))
}

/** No files are listed for a skill that was added or removed as a whole. */
function filesBetween(
  before: Skill | undefined,
  after: Skill | undefined,
): Pick<PageSkillChange, 'files' | 'moreFiles'> {
  if (before === undefined || after === undefined) return { files: [], moreFiles: 0 }
  const [old, now] = [before, after].map(({ files }) => new Map(files.map((file) => [file.path, file])))
  const files = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].flatMap(
    (path): PageSkillChange['files'] => {
      const [was, is] = [old?.get(path), now?.get(path)]
      if (was === undefined) return [{ path, change: 'added' }]
      if (is === undefined) return [{ path, change: 'removed' }]
      return was.sha256 === is.sha256 && was.executable === is.executable ? [] : [{ path, change: 'changed' }]
    },
  )
  return { files: files.slice(0, MOST_FILES), moreFiles: Math.max(0, files.length - MOST_FILES) }
}

async function diffOf(before: Skill, after: Skill, { store, room }: Texts): Promise<TextDiff | undefined> {
  const [was, is] = [await documentOf(before, store), await documentOf(after, store)]
  if (was === undefined || is === undefined)
    return { why: 'One of the two texts is not stored, or is too long to compare.' }
  if (was === is) return undefined
  const hunks = await hunksOf(was, is)
  if (hunks === undefined) return { why: 'The two have too little in common to be compared by line.' }
  return fitted(
    hunks.map(({ oldStart, newStart, lines }) => ({ from: oldStart, to: newStart, lines })),
    room,
  )
}

async function addedText(skill: Skill, { store, room }: Texts): Promise<TextDiff> {
  const text = await documentOf(skill, store)
  if (text === undefined) return { why: 'The text is not stored, or is too long to be shown.' }
  const lines = text.replace(/\n$/, '').split('\n')
  return fitted([{ from: 0, to: 1, lines: lines.map((line) => `+${line}`) }], room)
}

/** The hunks, if there is room for their lines. */
function fitted(hunks: readonly PageHunk[], room: Texts['room']): TextDiff {
  const count = hunks.reduce((sum, { lines }) => sum + lines.length, 0)
  if (count > room.lines) return { why: `${count} lines differ, too many for this page; skillsyncd diff shows them.` }
  room.lines -= count
  return { hunks: hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(shortLine) })) }
}

function shortLine(line: string): string {
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS).toWellFormed()}…` : line
}

const MOST_CHARACTERS = 1_000

async function documentOf(skill: Skill, store: Store): Promise<string | undefined> {
  const file = skill.files.find(({ path }) => path === 'SKILL.md')
  if (file === undefined || file.size > MOST_BYTES || isOfUpstream(skill)) return undefined
  try {
    return (await store.skills.read(storedSkill(skill), file)).toString('utf8')
  } catch (error) {
    if (error instanceof Damaged) return undefined
    throw error
  }
}

const MOST_BYTES = 2 ** 18
