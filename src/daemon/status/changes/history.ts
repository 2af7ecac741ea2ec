import { shellWord } from '../../../base/text/shell-word.ts'
import { isGoneAfter } from '../../../sync/model/changes/generation-record.ts'
import type { GenerationRecord, RecordedMove } from '../../../sync/model/changes/generation-record.ts'
import { CHANGE_KINDS, changeGroups } from '../../../sync/model/changes/skill-changes.ts'
import type { ChangeGroup, SkillChange } from '../../../sync/model/changes/skill-changes.ts'
import type { DocsChange } from '../../../sync/model/changes/skill-review.ts'
import { digestText } from '../../../sync/model/digest.ts'
import type { GenerationCause } from '../../../sync/model/generation.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { NO_WAYS } from '../../../sync/model/verdict/verdict.ts'
import type { SkillProblem, Until, Verdict } from '../../../sync/model/verdict/verdict.ts'
import { Store } from '../../../sync/store/store.ts'
import type { SkillRow } from '../skill-rows.ts'

/** One generation in the store, as plain data. */
export interface StoredGeneration {
  readonly generation: number
  readonly createdAt: string | undefined
  readonly isServed: boolean
  readonly cause: GenerationCause | undefined
  /** False if there is its record alone: its contents are gone. */
  readonly isKept: boolean
  /** The generation before it, 0 for none. `undefined` if the contents of one of the two are gone. */
  readonly before: number | undefined
  /** The damage for which it cannot be served completely. */
  readonly damage: readonly string[]
  /** The changes since the previous generation. `undefined` if there is no record of them. */
  readonly moves: readonly SourceMove[] | undefined
}

/** The change of one source from one generation to the next. */
export interface SourceMove {
  readonly source: SourceId
  /** `undefined` if the source had no content before. */
  readonly from: ObjectId | undefined
  /** `undefined` if the source has no content any more. */
  readonly to: ObjectId | undefined
  readonly skills: readonly ChangeGroup[]
  /** The change of the docs, if any. */
  readonly docs?: DocsChange['change']
}

/** The latest generations of the record and of the store, at most so many, newest first. */
export async function historyOf({ generations, snapshots }: Store, most: number): Promise<StoredGeneration[]> {
  const served = (await generations.current())?.number
  const kept = new Set(await generations.numbers())
  const numbers = [...kept.union(new Set(await generations.records.numbers(most)))].toSorted((a, b) => b - a)
  const whole = new Map<string, boolean>()
  const moments: StoredGeneration[] = []
  for (const number of numbers.slice(0, most)) {
    const generation = kept.has(number) ? await generations.read(number) : undefined
    const record = await generations.records.read(number)
    const damage = kept.has(number) && generation === undefined ? ['it is damaged or missing'] : []
    for (const { source, snapshot } of generation?.sources ?? []) {
      const isWhole = whole.get(snapshot) ?? (await snapshots.readWhole(snapshot)) !== undefined
      whole.set(snapshot, isWhole)
      if (!isWhole) damage.push(`the snapshot ${snapshot} of "${source}" is damaged`)
    }
    const before = record?.before
    const isComparable = kept.has(number) && (before === 0 || (before !== undefined && kept.has(before)))
    moments.push({
      generation: number,
      createdAt: (record ?? generation)?.createdAt,
      isServed: number === served,
      isKept: kept.has(number),
      before: isComparable ? before : undefined,
      cause: (record ?? generation)?.cause,
      damage,
      moves: record?.moves?.map(sourceMove),
    })
  }
  return moments
}

function sourceMove({ source, from, to, skills, docs, leftOut = {} }: RecordedMove): SourceMove {
  const named = changeGroups(skills)
  const counted = CHANGE_KINDS.flatMap((change): readonly ChangeGroup[] => {
    const { count = 0, first = [] } = named.find((group) => group.change === change) ?? {}
    const all = count + (leftOut[change] ?? 0)
    return all === 0 ? [] : [{ change, count: all, first }]
  })
  return { source, from: from?.commit, to: to?.commit, skills: counted, ...(docs && { docs: docs.change }) }
}

/** A skill that was served once, with the verdict about it. Of its content and packs there is no record. */
export interface LeftSkill extends Omit<SkillRow, 'uri' | 'description' | 'packs' | 'size' | 'files'> {
  readonly name: string
  readonly verdict: Verdict & { readonly reasons: readonly [SkillProblem]; readonly until: Until }
}

/** The skill that a text named when it was served last, by the records in this state folder. */
export async function leftSkillIn(state: string, asked: string): Promise<LeftSkill | undefined> {
  using store = await Store.openExisting(state)
  if (store === undefined) return undefined
  const name = asked.replace(/\/SKILL\.md$/, '')
  for await (const left of leftSkills(store, name.slice(name.lastIndexOf('/') + 1)))
    if (isNamed(left, asked)) return left
  return undefined
}

/** The skills that left, the latest first; those whose record has this text in it. */
export async function* leftSkills({ generations }: Store, text = ''): AsyncGenerator<LeftSkill> {
  for await (const record of generations.records.leaving(text))
    for (const move of record.moves ?? [])
      for (const change of move.skills) if (isGoneAfter(change)) yield leftAs(move, change, record)
}

function isNamed({ source, path, name }: LeftSkill, asked: string): boolean {
  return [path, name].some((one) => [one, `${source}/${one}`, `skill://${source}/${one}/SKILL.md`].includes(asked))
}

function leftAs(
  { source, from: was, to: is }: RecordedMove,
  { change, from, to, reason }: SkillChange & Pick<Required<SkillChange>, 'from'>,
  { before: generation, number, createdAt }: GenerationRecord,
): LeftSkill {
  const { path, name, digest } = from
  const commit = is?.commit
  const successor = to && (to.path === path ? to.name : to.path)
  const became = change === 'renamed' ? `renamed it to ${successor}` : change === 'withheld' ? 'broke it' : 'removed it'
  const by = commit === undefined ? 'the source is gone' : `commit ${commit.slice(0, 12)} ${became}`
  const why = change !== 'withheld' || reason === undefined ? '' : `: ${reason.message}`
  const message = `served until generation ${generation}; in generation ${number} of ${createdAt} ${by}${why}`
  const place = `${source}/${path}`
  const fix = `skillsyncd ${change === 'renamed' ? `why ${shellWord(`${source}/${successor}`)}` : `diff ${generation} ${number}`}`
  const code = change === 'renamed' ? 'skill-renamed' : (reason?.code ?? 'skill-removed')
  const found = { ...(commit !== undefined && { commit }), ...(successor !== undefined && { successor }) }
  const until = { generation, next: number, at: createdAt, ...found }
  const verdict = { state: 'withheld', ways: NO_WAYS, reasons: [{ code, place, message, fix }], until } as const
  const { commit: of = '', ref = '' } = was ?? {}
  return { source, path, name, digest: digestText(digest), verdict, commit: from.keptFrom ?? of, ref }
}
