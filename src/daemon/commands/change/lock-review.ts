import { joinPath } from '../../../base/paths.ts'
import { MOST_BODY_CHARACTERS } from '../../../features/lock-repository/pull-request-text.ts'
import type {
  LockReview,
  PackMove,
  SkillMove,
  ReviewedMove,
} from '../../../features/lock-repository/pull-request-text.ts'
import { commandNotes } from '../../../features/lock-repository/shell-commands.ts'
import { notesOf } from '../../../features/lock-repository/skill-notes.ts'
import type { SkillNote } from '../../../features/lock-repository/skill-notes.ts'
import { budgetDeltas } from '../../../sync/catalog/budget/budget-delta.ts'
import type { BudgetDelta } from '../../../sync/catalog/budget/budget-delta.ts'
import { budgetSkillsOf } from '../../../sync/catalog/budget/budget-skill.ts'
import { lackingText } from '../../../sync/catalog/pack-dependencies.ts'
import { docsChange, newlyKept, skillChanges } from '../../../sync/model/decisions/lock.ts'
import type { Lock, LockEntry } from '../../../sync/model/decisions/lock.ts'
import { comparePaths } from '../../../sync/model/digest.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { failureIn, readCandidate } from '../../cli/store-reader.ts'
import type { SourceFailure, SourceReader } from '../../cli/store-reader.ts'
import { signersTexts } from '../../runtime/signer-text.ts'
import type { PackEnd } from './lock-packs.ts'
import { SkillTexts } from './skill-texts.ts'

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
  const texts = new Comparisons(new SkillTexts(looking.store))
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

async function moveOf(compared: Compared, texts: Comparisons): Promise<ReviewedMove> {
  const { id, before, after } = compared
  const changes = new Map(
    skillChanges(before?.skills ?? new Map(), after.skills).map(({ path, change }) => [path, change]),
  )
  const moved = { ...compared, has: skillsByPath(compared.snapshot), had: skillsByPath(compared.former) }
  const skills: SkillMove[] = []
  const kept = new Set(newlyKept(before?.skills ?? new Map(), after.skills).filter((path) => !changes.has(path)))
  for (const path of [...changes.keys(), ...newlyWithheld(compared), ...kept].toSorted(comparePaths))
    skills.push(await skillMove(path, kept.has(path) ? 'kept' : changes.get(path), moved, texts))
  return {
    source: id,
    url: after.url,
    from: before?.revision,
    to: after.revision,
    before: before?.skills.size ?? 0,
    after: after.skills.size,
    signers: { before: signersTexts(before?.signers), after: signersTexts(after.signers) },
    docs: docsChange(before?.docs, after.docs),
    budget: budgetMove(compared),
    skills,
  }
}

/** Empty if the former skills are not known. */
function budgetMove({ before, snapshot, former }: Compared): readonly BudgetDelta[] {
  if (before !== undefined && former === undefined) return []
  return budgetDeltas(budgetSkillsOf(former === undefined ? [] : [former]), budgetSkillsOf([snapshot]))
}

/** Skills that no lock has because they are withheld, and that the former commit did not have, or served. */
function newlyWithheld({ before, after, snapshot, former }: Compared): string[] {
  if (before?.revision.commit === after.revision.commit) return []
  const known = new Set(former?.skills.filter(({ standing }) => standing === 'withheld').map(({ path }) => path))
  return snapshot.skills
    .filter(({ path, standing }) => standing === 'withheld' && !known.has(path))
    .filter(({ path }) => before?.skills.has(path) !== true && !after.skills.has(path))
    .map(({ path }) => path)
}

/** The skills of the new and the former snapshot by their paths. A lock can move a hundred thousand. */
interface SnapshotSkills {
  readonly has: ReadonlyMap<string, Skill>
  readonly had: ReadonlyMap<string, Skill>
}

function skillsByPath(snapshot: Snapshot | undefined): ReadonlyMap<string, Skill> {
  return new Map(snapshot?.skills.map((skill) => [skill.path, skill]))
}

/** `change`: that of the lock; `undefined` for a withheld skill that neither lock has. */
async function skillMove(
  path: string,
  change: SkillMove['change'] | undefined,
  { id, before, after, has, had }: Compared & SnapshotSkills,
  texts: Comparisons,
): Promise<SkillMove> {
  const [from, to] = [before?.skills.get(path)?.digest, after.skills.get(path)?.digest]
  const present = has.get(path)
  const known = had.get(path)
  // What the former lock had of a skill can be an earlier version than that of the former commit.
  const was = known?.digest === from || from === undefined ? known : ((await texts.skill(from)) ?? known)
  const isWithheld = to === undefined && present?.standing === 'withheld'
  return {
    place: joinPath(id, path),
    change: isWithheld || change === undefined ? 'withheld' : change,
    notes: [
      ...(await texts.commandNotes(from, to)),
      ...notesOf(was, to !== undefined || isWithheld ? present : undefined),
    ],
    diff: await texts.between(from, to),
  }
}

/** Comparisons until the text of a pull request is full: a lock can move a hundred thousand skills. */
class Comparisons {
  readonly #texts: SkillTexts
  #room = MOST_BODY_CHARACTERS

  constructor(texts: SkillTexts) {
    this.#texts = texts
  }

  async skill(digest: string | undefined): Promise<Skill | undefined> {
    return digest === undefined ? undefined : this.#texts.skill(digest)
  }

  async commandNotes(from: string | undefined, to: string | undefined): Promise<readonly SkillNote[]> {
    if (to === undefined || from === to) return []
    return commandNotes(await this.#texts.documentOf(from), await this.#texts.documentOf(to))
  }

  /** `undefined` if there is no room for it. */
  async between(from: string | undefined, to: string | undefined): Promise<readonly string[] | undefined> {
    if (to === undefined || from === to) return []
    if (this.#room <= 0) return undefined
    const lines = from === undefined ? await this.#texts.added(to) : await this.#texts.diff(from, to)
    this.#room -= lines.reduce((sum, line) => sum + Math.min(line.length, MOST_OF_LINE), 0)
    return lines
  }
}

/** One line of a large file does not take the room of all others, since the text shows no more of it. */
const MOST_OF_LINE = 300

function packMoves({ before, after, ends }: ReviewedPacks): PackMove[] {
  const ids = [...new Set([...before.keys(), ...after.keys()])].toSorted(comparePaths)
  return ids.flatMap((pack): PackMove[] => {
    const [was, is] = [new Set(before.get(pack)?.skills), new Set(after.get(pack)?.skills)]
    const [added, removed] = [[...is.difference(was)], [...was.difference(is)]]
    const lacks = (ends.find(({ id }) => id === pack)?.lacks ?? []).map(lackingText)
    return added.length + removed.length + lacks.length === 0 ? [] : [{ pack, added, removed, lacks }]
  })
}
