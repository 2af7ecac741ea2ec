import { countOf } from '../../../base/text/plural.ts'
import type { SkillCode } from '../../skill/skill-diagnostic.ts'
import type { ObjectId } from '../revision.ts'

/** The states of a skill, in the order in which people should read them. */
export const VERDICT_STATES = ['waiting', 'withheld', 'partly', 'disabled', 'served'] as const

export type VerdictState = (typeof VERDICT_STATES)[number]

/** The words for a state, equal at every surface. */
export function stateText(state: VerdictState): string {
  return state === 'partly' ? 'partly served' : state
}

/**
 * The ways by which clients get a skill: `skills/list` and the index, the tools, folders of agents and installers, the
 * marketplace, and the channel for other hubs.
 */
export const WAYS = ['listed', 'tools', 'folder', 'marketplace', 'channel'] as const

export type Ways = Readonly<Record<(typeof WAYS)[number], boolean>>

export const NO_WAYS: Ways = { listed: false, tools: false, folder: false, marketplace: false, channel: false }

/**
 * The judgement about one skill, as every surface shows it: `why`, `show`, `list`, `status`, the page, metrics and
 * `doctor`. Made in one place.
 */
export interface Verdict {
  readonly state: VerdictState
  /** The ways that are open to it, if the hub has them. */
  readonly ways: Ways
  /** The one that decides the state first. A skill that is served has notes here, which decide nothing. */
  readonly reasons: readonly SkillProblem[]
  /** The oldest of the consecutive generations that serve its present content. */
  readonly since?: Since
  /** Present for a skill that was served and left. */
  readonly until?: Until
}

/** The code of a problem of a skill; `skillsyncd explain` knows each. */
export type VerdictCode =
  | SkillCode
  | 'awaiting-approval'
  | 'disabled'
  | 'scan-finding'
  | 'skill-recalled'
  | 'skill-removed'
  | 'skill-renamed'
  | 'skill-scanned'
  | 'skill-unlisted'
  | 'stray-link'

/** A problem of a skill: its message may quote foreign text, its fix is a next step that can be typed or done. */
export interface SkillProblem {
  readonly code: VerdictCode
  /** The skill, its file, or the skill whose decision it is: `source/path`. */
  readonly place: string
  readonly message: string
  readonly fix: string
}

/** The generation since which a content is served. */
export interface Since {
  readonly generation: number
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** True if no older generation is kept: it may have been served for longer. */
  readonly isOldestKept: boolean
  /** The time of approval, if that came after the generation. */
  readonly approvedAt?: string
}

/** The end of a skill that was served once. */
export interface Until {
  /** The last generation that had it. */
  readonly generation: number
  /** The generation after it, its time, and the commit that it has of the source; none if the source is gone. */
  readonly next: number
  readonly at: string
  readonly commit?: ObjectId
  /** The path or the name that the skill has since. */
  readonly successor?: string
}

/** In the order of their states. */
export function byState<Judged extends Pick<Verdict, 'state'>>(verdicts: readonly Judged[]): readonly Judged[] {
  return verdicts.toSorted((a, b) => VERDICT_STATES.indexOf(a.state) - VERDICT_STATES.indexOf(b.state))
}

/** True for a SKILL.md that is no skill: a link that leads nowhere, named like a skill that the source serves. */
export function isNoSkill({ reasons: [first] }: Pick<Verdict, 'reasons'>): boolean {
  return first?.code === 'stray-link'
}

/** The numbers of SKILL.md files by state. The parts add up to `seen`. */
export type Tally = Readonly<Record<VerdictState | 'seen' | 'links', number>>

/** A tally in one line: those that are served of all, and the others by state. `links`: no skills, as `isNoSkill` says. */
export function tallyText({ seen, links, ...states }: Tally): string {
  const others = VERDICT_STATES.filter((state) => state !== 'served' && states[state] > 0)
  return [
    `${states.served} of ${countOf(seen, 'skill')} served`,
    ...others.map((state) => `${states[state]} ${stateText(state)}`),
    ...(links > 0 ? [`${countOf(links, 'link')} to nothing`] : []),
  ].join(', ')
}
