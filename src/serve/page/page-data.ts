import type { Diagnostic } from '../../base/diagnostic.ts'
import type { PackBudgetLimits } from '../../sync/catalog/budget/catalog-budget.ts'
import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { PluginChange } from '../../sync/model/changes/plugin-changes.ts'
import type { ChangeGroup } from '../../sync/model/changes/skill-changes.ts'
import type { DocsReview, SkillReview } from '../../sync/model/changes/skill-review.ts'
import type { Item, Urgency } from '../../sync/model/item.ts'
import type { ListingForm } from '../../sync/model/listing-form.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Tally, Verdict, VerdictState } from '../../sync/model/verdict/verdict.ts'
import type { CommitWords } from './format.ts'
import type { FeaturePage, FeatureSection } from './page-view.ts'

/**
 * The services of the daemon for the page, because `serve` knows no schedule and no store. Nothing in it is a secret.
 */
export interface PageHost {
  /** Removes secrets from a text. */
  readonly clean: (text: string) => string
  readonly now: () => Date
  /** True if clients need a token. */
  readonly isTokenRequired: boolean
  readonly sources: () => readonly SourceHealth[]
  /** Every SKILL.md that is not served unchanged, and other findings. Unlisted skills are not included. */
  readonly problems: () => readonly PathProblems[]
  /** The findings of the scanner in the present content of a skill, a line each. Empty if it was not scanned. */
  readonly scanFindings: (skill: Pick<CatalogSkill, 'source' | 'digest'>) => readonly string[]
  /** The state of everything that has one, the sources among it. */
  readonly items: () => readonly Item[]
  /** The problems between skills with a contract, except those that would name an unlisted skill. */
  readonly misfits: () => readonly MisfitDiagnostic[]
  /** The limits of packs for their listing in an agent. */
  readonly packBudgets: PackBudgetLimits
  /** The latest decisions, or those about one skill, newest first. They name people. */
  readonly decisions: (about?: Pick<CatalogSkill, 'source' | 'skill'>) => readonly PageDecision[]
  /** The stored generations, newest first. `undefined` if they cannot be read now. */
  readonly history: () => Promise<readonly PageGeneration[] | undefined>
  /**
   * The last change of the content of each skill, by `momentKeyOf`. Empty if the generations cannot be read now.
   */
  readonly lastChanges: () => Promise<ReadonlyMap<string, ContentMoment>>
  /** Compares two generations. `undefined` if one of them is gone, or the comparison takes too long. */
  readonly compare: (from: number, to: number) => Promise<readonly SourceChange[] | undefined>
  /** The revision of a source that waits for approval. `undefined` if none does. Fetches it if it is not stored. */
  readonly pending: (source: string) => Promise<PendingRevision | undefined>
  /** The rings in their order; absent if there are none. */
  readonly rings?: (() => readonly PageRing[]) | undefined
  /** The use of skills in the last 30 days; absent if use is not counted. */
  readonly uses?: (() => Promise<PageUses>) | undefined
  /** The pages of features, by their paths. */
  readonly pages?: Readonly<Record<string, FeaturePage>>
  /** The parts of features in the page with the setup of clients. */
  readonly sections?: readonly FeatureSection[]
}

/** One ring of clients, with the content that it has of each source. */
export interface PageRing {
  readonly id: string
  /** The share of the principals that no ring names, from 0 to 1. */
  readonly share: number
  /** The time for which the ring before serves a commit until this one takes it, such as `3d`; `undefined` without one. */
  readonly minAge: string | undefined
  readonly sources: readonly PageRingSource[]
}

/** The content of one source in a ring. Times are ISO 8601, UTC. */
export interface PageRingSource {
  readonly source: string
  /** True if the ring serves what the first ring serves. */
  readonly isNewest: boolean
  /** The commit that the ring serves; `undefined` for none, and beside a hold for what the first ring serves. */
  readonly commit: string | undefined
  readonly since: string | undefined
  /** The commit that the ring takes next, and the time at which it may; without a time, now. */
  readonly next: string | undefined
  readonly nextAt: string | undefined
  /** The reason why the ring takes nothing. */
  readonly stopped: { readonly code: string; readonly message: string } | undefined
}

/** The use of skills in a number of days up to today. */
export interface PageUses {
  readonly days: number
  /** The first of these days, in UTC, as `2026-03-31`. */
  readonly from: string
  /** The first day that was counted; `null` if none was, or if the counts cannot be read now. */
  readonly since: string | null
  /** By `<source>/<path>`. */
  readonly skills: ReadonlyMap<string, SkillUses>
  readonly lists: readonly ListUses[]
}

/** The number of answers with the instructions of a skill, with other files of it, and of those that failed. */
export interface SkillUses {
  readonly loads: number
  readonly reads: number
  readonly failures: number
  /** The last day with a load or a read; `undefined` if all uses failed. */
  readonly last: string | undefined
}

/** The number of answers with a list of the skills of some packs; without packs, of all skills. */
export interface ListUses {
  readonly packs: readonly string[] | undefined
  readonly lists: number
}

/** The state of one source. Times are ISO 8601, UTC. */
export interface SourceHealth {
  readonly id: SourceId
  readonly state: SourceItem['state']
  readonly urgency: Urgency
  readonly kind: 'git' | 'directory' | 'mcp' | 'channel'
  /** The location of the source. */
  readonly place: string
  readonly ref: string | undefined
  readonly update: 'auto' | 'locked' | 'review'
  /** The state of the source in the lock; `undefined` if there is no lock. */
  readonly lock: { readonly text: string; readonly isFollowed: boolean } | undefined
  readonly served: { readonly commit: string; readonly ref: string; readonly place?: string } | undefined
  /** The signers of the served revision, one text for each object. */
  readonly signers: readonly string[]
  /** True if the configuration pins the served commit, so that upstream is not queried for another. */
  readonly isFixed: boolean
  /** The commit of its ref at the last response; `undefined` if it was not queried. */
  readonly upstream: { readonly commit: string; readonly at: string } | undefined
  /** The revision that waits for approval: the id to approve, and its ref. */
  readonly pending: { readonly id: string; readonly ref: string } | undefined
  readonly lastAttempt: string | undefined
  readonly lastSuccess: string | undefined
  readonly nextPoll: string | undefined
  readonly isLooking: boolean
  readonly problem: (Diagnostic<SyncErrorCode> & { readonly fix: string }) | undefined
  /** Decisions of people about the source. */
  readonly decisions: readonly string[]
  readonly tally: Tally
  readonly form: ListingForm | undefined
}

type SourceItem = Extract<Item, { readonly kind: 'source' }>

/** The problems of a skill, or of a source. */
export interface PathProblems extends Pick<Verdict, 'reasons'> {
  readonly source: SourceId
  /** The path of the skill, or of the source itself if there is no skill. */
  readonly path: string
  /** Absent if they are of no skill. */
  readonly state?: VerdictState
}

/** Skills that contradict each other. All of them are served. */
export interface MisfitDiagnostic extends Diagnostic<'id-clash' | 'dependency-missing' | 'dependency-cycle'> {
  readonly fix: string
  readonly skills: readonly { readonly source: string; readonly path: string }[]
}

/** The moment since which a skill has its present content on this hub. */
export interface ContentMoment {
  /** ISO 8601, UTC. */
  readonly at: string
  readonly generation: number
  /** The generation before it, 0 for none; absent if the contents of one of the two are gone. */
  readonly before?: number
  /** `unknown`: the records do not reach further back, so the skill may have its content for longer. */
  readonly change: 'added' | 'changed' | 'approved' | 'unknown'
  /** True if it was there when its source came. */
  readonly isFirst?: true
  /**
   * The commit with which the content came, if the hub had the source before. Earlier commits, which the hub never had,
   * may have changed the skill. `words`: absent if the contents of the generation are gone.
   */
  readonly commit?: { readonly id: string; readonly words?: CommitWords | undefined }
  /** The changes before, newest first. */
  readonly earlier?: readonly ContentMoment[]
}

/** The key of a skill's `ContentMoment`. */
export function momentKeyOf({ source, skill }: Pick<CatalogSkill, 'source' | 'skill'>): string {
  return `${source}/${skill.path}`
}

/** One decision of a person, a scan or a followed hub. */
export interface PageDecision {
  /** ISO 8601, UTC. */
  readonly at: string
  /** Stays the same. */
  readonly id: string
  readonly text: string
}

/** One generation. */
export interface PageGeneration {
  readonly generation: number
  readonly createdAt: string | undefined
  readonly isServed: boolean
  /** The generation before it, 0 for none. `undefined` if the contents of one of the two are gone. */
  readonly before: number | undefined
  /** The cause of the generation, and the person or program behind it. */
  readonly cause: string | undefined
  /** The changes since the previous generation. `undefined` if they are not known. */
  readonly moves: readonly PageMove[] | undefined
}

export interface PageMove {
  readonly source: SourceId
  readonly from: string | undefined
  readonly to: string | undefined
  /** The changes of its listed skills. */
  readonly changes: readonly ChangeGroup[]
}

/** The changes of one source. */
export interface SourceChange {
  readonly source: SourceId
  readonly from: string | undefined
  readonly to: string | undefined
  /** The changed skills, at most as many as fit on a page. */
  readonly skills: readonly SkillReview[]
  /** The number of further skills. */
  readonly more: number
  /** The number of changed skills that are in no list, and are not named. */
  readonly unnamed: number
}

/** The changes that the approval of a revision would serve. */
export interface PendingChange extends SourceChange {
  /** The change of the docs, if any. */
  readonly docs: DocsReview | undefined
  /** The changes of what the plugins of its marketplace have. */
  readonly plugins: readonly PluginChange[]
}

/** A revision that waits for approval. */
export interface PendingRevision {
  readonly source: SourceId
  /** The commit, or the tag object if the ref is an annotated tag: the operand of `skillsyncd approve`. */
  readonly id: string
  readonly ref: string
  /** The difference from what is served; `fetching` if that is not known yet. */
  readonly content: PendingContent | 'fetching' | { readonly error: string }
}

export interface PendingContent {
  readonly change: PendingChange
  /** True if a lock or signatures bind the source, or it is an MCP server: no text is shown. */
  readonly isWithoutText: boolean
  /** The author and the first line of the message of the commit. */
  readonly words: { readonly author: string; readonly subject: string; readonly at?: string } | undefined
}
