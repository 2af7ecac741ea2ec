import type { PendingChange, SourceChange } from '../../../serve/page/page-data.ts'
import { pluginChanges, pluginSkillsOf } from '../../../sync/model/changes/plugin-changes.ts'
import { docsBetween, skillChanges, skillStatesOf } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillChange } from '../../../sync/model/changes/skill-changes.ts'
import { withoutTexts } from '../../../sync/model/changes/skill-review.ts'
import type { SkillReview } from '../../../sync/model/changes/skill-review.ts'
import type { Generation } from '../../../sync/model/generation.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Store } from '../../../sync/store/store.ts'
import { SkillTexts } from './skill-texts.ts'
import type { TextLimits } from './skill-texts.ts'

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
  const texts = new SkillTexts(store, PAGE_TEXTS)
  const changes: SourceChange[] = []
  for (const compared of sources) {
    const { source } = compared
    const [old, now] = [before, after].map(({ sources: held }) => held.find((one) => one.source === source)?.snapshot)
    if (old === now) continue
    const [was, is] = [await contentOf(store, old), await contentOf(store, now)]
    if (was === undefined || is === undefined) return undefined
    changes.push(await sourceChange(compared, was.snapshot, is.snapshot, texts))
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
  const { from, to } = sides
  const [was, is] = [await contentOf(store, from), await contentOf(store, to)]
  if (was === undefined || is?.snapshot === undefined) return undefined
  const texts = new SkillTexts(store, PAGE_TEXTS)
  const change = await sourceChange(sides, was.snapshot, is.snapshot, texts)
  const [before, after] = [was.snapshot?.docs, is.snapshot.docs]
  const docs = docsBetween(before?.digest, after?.digest)
  const review = docs && (await texts.reviewDocs(docs, { before, after }, sides.withText))
  const plugins = pluginChanges(was.snapshot && pluginSkillsOf(was.snapshot), pluginSkillsOf(is.snapshot))
  return {
    ...change,
    docs: review && (sides.withText ? review : withoutTexts(review)),
    plugins,
  }
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

/** A person would read no more on a page, but for the names of all programs. */
const PAGE_TEXTS: TextLimits = { fileBytes: 2 ** 18, lines: 4_000 }
const MOST_SKILLS = 200

async function sourceChange(
  { source, withText }: Compared,
  was: Snapshot | undefined,
  is: Snapshot | undefined,
  texts: SkillTexts,
): Promise<SourceChange> {
  const [old, now] = [skillsIn(was), skillsIn(is)]
  const all = skillChanges(skillStatesOf(was), skillStatesOf(is))
  const listed = all.filter(({ isUnlisted }) => isUnlisted !== true)
  const reviewAt = async (change: SkillChange, withLines: boolean): Promise<SkillReview> =>
    texts.review(change, { before: old.get(change.from?.path ?? change.path), after: now.get(change.path) }, withLines)
  const reviews: SkillReview[] = []
  for (const change of listed) reviews.push(await reviewAt(change, false))
  const byPrograms = reviews.toSorted((a, b) => Number(hasProgram(b)) - Number(hasProgram(a)))
  const skills: SkillReview[] = []
  for (const review of byPrograms.slice(0, Math.max(MOST_SKILLS, reviews.filter(hasProgram).length)))
    skills.push(withText && skills.length < MOST_SKILLS ? await reviewAt(review, true) : withoutTexts(review))
  return {
    source,
    from: was?.revision.commit,
    to: is?.revision.commit,
    skills,
    more: listed.length - skills.length,
    unnamed: all.length - listed.length,
  }
}

function hasProgram({ files }: SkillReview): boolean {
  return files.some(({ isProgram, change }) => isProgram && change !== 'removed')
}

function skillsIn(snapshot: Snapshot | undefined): ReadonlyMap<string, Skill> {
  return new Map(snapshot?.skills.map((skill) => [skill.path, skill]))
}
