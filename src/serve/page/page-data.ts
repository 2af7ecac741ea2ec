import type { ListingForm } from '../../sync/model/listing-form.ts'
import type { Tally } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'

/** What the page is told by the process around it: this side knows no schedule and no store. Nothing in it is a secret. */
export interface PageHost {
  /** Takes secrets out of a text. */
  readonly clean: (text: string) => string
  readonly now: () => Date
  /** Whether clients need a token. */
  readonly isTokenRequired: boolean
  readonly sources: () => readonly SourceHealth[]
  /** Every SKILL.md that is not served as it stands, and what else was found. Those that are in no list are in none here. */
  readonly problems: () => readonly Problem[]
  /** The alarms of the hub itself, the worst first. */
  readonly alarms: () => readonly HubAlarm[]
  /** The problems between skills that keep the contract, but for those that would name a skill that is in no list. */
  readonly misfits: () => readonly Misfit[]
  /** The generations that are kept, newest first. Undefined where that cannot be told now. */
  readonly history: () => Promise<readonly Moment[] | undefined>
  /** From one generation to another. Undefined where one of them is gone, or it takes too long. */
  readonly compare: (from: number, to: number) => Promise<readonly SourceChange[] | undefined>
}

/** How one source stands. Times are ISO 8601, UTC. */
export interface SourceHealth {
  readonly id: SourceId
  readonly kind: 'git' | 'directory' | 'mcp'
  /** Where it is. */
  readonly place: string
  readonly ref: string | undefined
  readonly update: 'auto' | 'locked' | 'review'
  /** How it stands to the lock; undefined where there is none. */
  readonly lock: { readonly text: string; readonly isFollowed: boolean } | undefined
  readonly served: { readonly commit: string; readonly ref: string; readonly place?: string } | undefined
  /** Who signed what is served, a text for each object. */
  readonly signers: readonly string[]
  /** The configuration names the commit that is served: upstream is not asked for another. */
  readonly isFixed: boolean
  /** Where its ref pointed when it last answered; undefined where it was not asked. */
  readonly upstream: { readonly commit: string; readonly at: string } | undefined
  readonly lastAttempt: string | undefined
  readonly lastSuccess: string | undefined
  readonly nextPoll: string | undefined
  readonly isLooking: boolean
  readonly condition: { readonly code: string; readonly message: string; readonly mend: string } | undefined
  /** What people decided about it. */
  readonly decisions: readonly string[]
  readonly tally: Tally
  readonly form: ListingForm | undefined
}

/** What became of a skill, or what was found in a source. */
export interface Problem {
  readonly source: SourceId
  /** Of the skill; the source itself where there is none. */
  readonly path: string
  readonly standing: 'withheld' | 'tools' | 'disabled' | 'pending' | 'source' | 'link' | 'noted'
  readonly findings: readonly FoundWrong[]
}

/** Something that is wrong with the hub, or with what it keeps of a source. */
export interface HubAlarm {
  readonly code: string
  readonly message: string
  readonly mend: string
  readonly source?: string
}

/** Skills that do not fit together. All of them are served. */
export interface Misfit {
  readonly kind: 'id-clash' | 'dependency-missing' | 'dependency-cycle'
  readonly message: string
  readonly mend: string
  readonly skills: readonly { readonly source: string; readonly path: string }[]
}

/** One thing that is wrong with a skill or a source. */
export interface FoundWrong {
  readonly rule: string
  readonly path: string
  readonly message: string
  /** The action that mends it, where the message does not name one. */
  readonly mend?: string
}

/** One generation. */
export interface Moment {
  readonly generation: number
  readonly createdAt: string | undefined
  readonly isServed: boolean
  /** What made it, and who asked for that. */
  readonly cause: string | undefined
  /** What moved since the one before. Undefined where that is not known. */
  readonly moves: readonly Move[] | undefined
}

export interface Move {
  readonly source: SourceId
  readonly from: string | undefined
  readonly to: string | undefined
  readonly added: number
  readonly changed: number
  readonly removed: number
}

/** What became of one source. */
export interface SourceChange {
  readonly source: SourceId
  readonly from: string | undefined
  readonly to: string | undefined
  /** At most so many as a page holds. */
  readonly skills: readonly SkillChange[]
  /** How many there are besides. */
  readonly more: number
}

export interface SkillChange {
  readonly path: string
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly files: readonly { readonly path: string; readonly change: 'added' | 'removed' | 'changed' }[]
  readonly moreFiles: number
  /** Of its SKILL.md, where its text may be shown. */
  readonly diff: TextDiff | undefined
}

/** The lines of a difference, or why there are none. */
export type TextDiff = { readonly hunks: readonly Hunk[] } | { readonly why: string }

export interface Hunk {
  readonly from: number
  readonly to: number
  /** Each with a space, a plus or a minus before it. */
  readonly lines: readonly string[]
}
