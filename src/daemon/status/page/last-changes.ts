import { commitWords, isCommit } from '../../../serve/page/format.ts'
import type { CommitWords } from '../../../serve/page/format.ts'
import type { ContentMoment } from '../../../serve/page/page-data.ts'
import type { RecordedMove } from '../../../sync/model/changes/generation-record.ts'
import { skillStatesOf } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillChange, SkillStates } from '../../../sync/model/changes/skill-changes.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Store } from '../../../sync/store/store.ts'

/** The changes of the skills of one source. */
export interface LastChanges {
  readonly source: SourceId
  /** Every served skill of the source is in one of them, and in one more for each earlier change. Newest first. */
  readonly moments: readonly (ContentMoment & { readonly paths: readonly string[] })[]
}

/**
 * Returns since when each skill has the content that it has now, and its changes before, as far back as the last 500
 * records of generations. What happened between two generations is not known: a source may have moved by several commits.
 */
export async function lastChangesOf({ generations, snapshots }: Store): Promise<LastChanges[]> {
  const served = await generations.current()
  if (served === undefined) return []
  const sources = new Map<SourceId, FollowedSource>()
  for (const { source, snapshot } of served.sources)
    sources.set(source, new FollowedSource(skillStatesOf(await snapshots.read(snapshot))))
  const kept = new Set([0, ...(await generations.numbers())])
  let oldest = { at: served.createdAt, generation: served.number }
  for (let number = served.number, left = MOST_RECORDS; number > 0 && left > 0; left -= 1) {
    const record = await generations.records.read(number)
    if (record === undefined) break
    const { createdAt: at, before } = record
    oldest = { at, generation: number }
    if (record.moves === undefined) break
    const generation = kept.has(number) ? await generations.read(number) : undefined
    const moment = { ...oldest, ...(generation !== undefined && kept.has(before) && { before }) }
    for (const move of record.moves) {
      const digest = generation?.sources.find(({ source }) => source === move.source)?.snapshot
      const snapshot = digest === undefined ? undefined : await snapshots.readWhole(digest)
      sources.get(move.source)?.follow(move, moment, snapshot && commitWords(snapshot))
    }
    number = before
  }
  return [...sources].map(([source, followed]) => ({ source, moments: followed.endAt(oldest) }))
}

const MOST_RECORDS = 500

type Moment = LastChanges['moments'][number]

/** The skills of a source, followed from the served generation to those before it. */
class FollowedSource {
  readonly #moments: Moment[] = []
  readonly #paths: ReadonlySet<string>
  /** The skills that are there in the generation that is reached. */
  readonly #present: Set<string>
  #isEnded = false

  constructor(served: SkillStates) {
    this.#paths = new Set([...served].flatMap(([path, { digest }]) => (digest === undefined ? [] : [path])))
    this.#present = new Set(this.#paths)
  }

  /** `moment`: the generation of this move. `words`: those of its commit, if they are kept. */
  follow({ from, to, skills, leftOut }: RecordedMove, moment: Place, words: CommitWords | undefined): void {
    if (this.#isEnded) return
    // The first commit of a source that this hub had says nothing of one of its skills.
    if (from === undefined) return this.#end({ ...moment, change: 'added', isFirst: true })
    const commit = to && isCommit(to.ref) ? { commit: { id: to.commit, words } } : {}
    const changed = Map.groupBy(skills, (change) => this.#stepBack(change))
    for (const change of ['added', 'changed'] as const) {
      const paths = changed.get(change)?.map(({ path }) => path)
      if (paths !== undefined) this.#moments.push({ ...moment, change, ...commit, paths })
    }
    if (leftOut !== undefined) this.#end({ at: moment.at, generation: moment.generation, change: 'unknown' })
  }

  /** Returns all moments; those of the skills that are still there are not known. */
  endAt(oldest: Place): readonly Moment[] {
    if (!this.#isEnded) this.#end({ ...oldest, change: 'unknown' })
    return this.#moments
  }

  #end(moment: ContentMoment): void {
    this.#isEnded = true
    if (this.#present.size > 0) this.#moments.push({ ...moment, paths: [...this.#present] })
  }

  #stepBack({ path, from, to }: SkillChange): 'added' | 'changed' | 'none' {
    const isThere = to !== undefined && this.#present.delete(path)
    if (from !== undefined && this.#paths.has(from.path)) this.#present.add(from.path)
    if (!isThere) return 'none'
    if (from?.path !== path) return 'added'
    return from.digest === to.digest ? 'none' : 'changed'
  }
}

/** A generation of a moment. */
type Place = Pick<ContentMoment, 'at' | 'generation' | 'before'>

/** The rules by which the page shows the last changes of one source. */
export interface MomentRules {
  /** True if the page may show the author and the message of this commit. */
  readonly isCommitShown: (id: string) => boolean
  /** The time at which the content of a skill was approved, if it had to be. */
  readonly approvedAt: (path: string) => string | undefined
}

/** Returns the moments by `momentKeyOf`, as the page may show them, each with those before it. */
export function shownMoments(
  all: readonly LastChanges[],
  rulesOf: (source: SourceId) => MomentRules | undefined,
): ReadonlyMap<string, ContentMoment> {
  const shown = new Map<string, ContentMoment & { readonly earlier: ContentMoment[] }>()
  for (const { source, moments } of all) {
    const rules = rulesOf(source)
    if (rules === undefined) continue
    for (const { paths, commit, ...moment } of moments) {
      const isShown = commit !== undefined && rules.isCommitShown(commit.id)
      const plain: ContentMoment = isShown ? { ...moment, commit } : moment
      for (const path of paths) {
        const key = `${source}/${path}`
        const last = shown.get(key)
        if (last === undefined) shown.set(key, { ...atApproval(plain, rules.approvedAt(path)), earlier: [] })
        else if (last.earlier.length < MOST_EARLIER) last.earlier.push(plain)
      }
    }
  }
  return shown
}

const MOST_EARLIER = 20

/** Before its approval, content waits. */
function atApproval(moment: ContentMoment, approvedAt: string | undefined): ContentMoment {
  return approvedAt === undefined || approvedAt <= moment.at
    ? moment
    : { at: approvedAt, generation: moment.generation, change: 'approved' }
}
