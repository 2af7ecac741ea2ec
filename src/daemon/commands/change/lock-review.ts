import { budgetDeltas } from '../../../sync/catalog/budget/budget-delta.ts'
import type { BudgetDelta } from '../../../sync/catalog/budget/budget-delta.ts'
import { budgetSkillsOf } from '../../../sync/catalog/budget/budget-skill.ts'
import { lackingText } from '../../../sync/catalog/pack-dependencies.ts'
import { docsBetween, skillChanges, skillStatesOf } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillState, SkillStates } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillReview } from '../../../sync/model/changes/skill-review.ts'
import type { Lock, LockEntry } from '../../../sync/model/decisions/lock.ts'
import { comparePaths } from '../../../sync/model/digest.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { failureIn, readCandidate } from '../../cli/store-reader.ts'
import type { SourceFailure, SourceReader } from '../../cli/store-reader.ts'
import { signersTexts } from '../../runtime/signer-text.ts'
import { SkillTexts } from '../../status/changes/skill-texts.ts'
import type { PackEnd } from './lock-packs.ts'
import { MOST_BODY_LINES } from './pull-request-text.ts'
import type { LockReview, PackMove, ReviewedMove } from './pull-request-text.ts'

/** One source of an updated lock: its entries, and the snapshot of the new one. */
export type ReviewedSource =
  | { readonly id: string; readonly failure: SourceFailure }
  | {
      readonly id: string
      readonly before: LockEntry | undefined
      readonly after: LockEntry
      readonly snapshot: Snapshot
    }

/** The packs of the lock before and after, and what they lack. */
export interface ReviewedPacks {
  readonly before: Lock['packs']
  readonly after: Lock['packs']
  readonly ends: readonly PackEnd[]
}

/** Collects what a reviewer of an updated lock needs. The former commits are fetched for the comparisons. */
export async function lockReview(
  sources: readonly ReviewedSource[],
  packs: ReviewedPacks,
  looking: SourceReader,
): Promise<LockReview> {
  const formers = new Map<string, Snapshot>()
  for (const source of sources) {
    const former = 'failure' in source ? undefined : await formerSnapshot(source, looking)
    if (former !== undefined) formers.set(source.id, former)
  }
  const texts = new SkillTexts(looking.store, { fileBytes: 2 ** 20, lines: MOST_BODY_LINES })
  const moves: ReviewedMove[] = []
  for (const source of sources.toSorted((a, b) => comparePaths(a.id, b.id))) {
    if ('failure' in source) moves.push({ source: source.id, failure: source.failure })
    else moves.push(await moveOf({ ...source, former: formers.get(source.id) }, texts))
  }
  return { sources: moves, packs: packMoves(packs) }
}

type Updated = Exclude<ReviewedSource, { readonly failure: SourceFailure }>

/**
 * Puts the former commit into the store: a machine of a CI system has none. A commit that upstream lost is no failure
 * of the update; the comparison then says that it is not here.
 */
async function formerSnapshot(source: Updated, looking: SourceReader): Promise<Snapshot | undefined> {
  const { before, after, snapshot } = source
  if (before === undefined || before.revision.commit === after.revision.commit) return undefined
  try {
    return await readCandidate(looking, snapshot.source, before.revision.commit)
  } catch (error) {
    failureIn(error)
    return undefined
  }
}

interface Compared extends Updated {
  readonly former: Snapshot | undefined
}

async function moveOf(compared: Compared, texts: SkillTexts): Promise<ReviewedMove> {
  const { id, before, after, snapshot, former } = compared
  const [had, has] = [skillsByPath(former), skillsByPath(snapshot)]
  const isMoved = before?.revision.commit !== after.revision.commit
  const changes = skillChanges(statesIn(before, former), statesIn(after, isMoved ? snapshot : undefined))
  const skills: SkillReview[] = []
  for (const change of changes) {
    const known = had.get(change.from?.path ?? change.path)
    // What the former lock had of a skill can be an earlier version than that of the former commit.
    const was = known?.digest === change.from?.digest ? known : ((await texts.skill(change.from?.digest)) ?? known)
    const isThere = change.to !== undefined || change.change === 'withheld'
    skills.push(await texts.review(change, { before: was, after: isThere ? has.get(change.path) : undefined }, true))
  }
  const docs = docsBetween(before?.docs, after.docs)
  const bothDocs = { before: former?.docs, after: snapshot.docs }
  return {
    source: id,
    url: after.url,
    from: before?.revision,
    to: after.revision,
    before: before?.skills.size ?? 0,
    after: after.skills.size,
    signers: { before: signersTexts(before?.signers), after: signersTexts(after.signers) },
    docs: docs && (await texts.reviewDocs(docs, bothDocs, true)),
    budget: budgetMove(compared),
    skills,
  }
}

/** The skills of a lock entry; and those that are withheld, with the descriptions of all, if its commit is known. */
function statesIn(entry: LockEntry | undefined, snapshot: Snapshot | undefined): SkillStates {
  const locked = entry?.skills ?? new Map<string, SkillState>()
  const known = [...skillStatesOf(snapshot)].filter(([path, { digest }]) => digest === locked.get(path)?.digest)
  return new Map<string, SkillState>([...locked, ...known])
}

/** The skills of a snapshot by their paths. A lock can move a hundred thousand. */
function skillsByPath(snapshot: Snapshot | undefined): ReadonlyMap<string, Skill> {
  return new Map(snapshot?.skills.map((skill) => [skill.path, skill]))
}

/** Empty if the former skills are not known. */
function budgetMove({ before, snapshot, former }: Compared): readonly BudgetDelta[] {
  if (before !== undefined && former === undefined) return []
  return budgetDeltas(budgetSkillsOf(former === undefined ? [] : [former]), budgetSkillsOf([snapshot]))
}

function packMoves({ before, after, ends }: ReviewedPacks): PackMove[] {
  const ids = [...new Set([...before.keys(), ...after.keys()])].toSorted(comparePaths)
  return ids.flatMap((pack): PackMove[] => {
    const [was, is] = [new Set(before.get(pack)?.skills), new Set(after.get(pack)?.skills)]
    const [added, removed] = [[...is.difference(was)], [...was.difference(is)]]
    const lacks = (ends.find(({ id }) => id === pack)?.lacks ?? []).map(lackingText)
    return added.length + removed.length + lacks.length === 0 ? [] : [{ pack, added, removed, lacks }]
  })
}
