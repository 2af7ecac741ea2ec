import { hasEntryFault, isYaml } from '../../skill/entry-faults.ts'
import { pendingPaths } from '../decisions/approvals.ts'
import type { Approvals } from '../decisions/approvals.ts'
import { disabledIn } from '../decisions/disabled-matches.ts'
import type { DisabledMatches } from '../decisions/disabled-matches.ts'
import type { OutOfService } from '../decisions/out-of-service.ts'
import type { Skill } from '../skill.ts'
import { strayLinks } from '../snapshot.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Source } from '../source.ts'
import type { Tally, VerdictState } from './verdict.ts'

/** The decisions of people, of scans and of hubs about skills. */
export interface SkillDecisions {
  readonly outOfService: OutOfService
  readonly approvals: Approvals
}

/** The skills of a source that a decision keeps out of service, by their folders. */
export interface DecidedSkills {
  readonly out: DisabledMatches
  readonly waiting: ReadonlySet<string>
}

export const UNDECIDED_SKILLS: DecidedSkills = { out: new Map(), waiting: new Set() }

/** The decisions about the skills of one snapshot. */
export function decidedIn(
  snapshot: Snapshot,
  source: Source,
  { outOfService, approvals }: SkillDecisions,
): DecidedSkills {
  return {
    out: disabledIn(snapshot, outOfService),
    waiting: new Set(pendingPaths(source, snapshot, approvals)),
  }
}

/** The state of a skill: the one place that says if it is served. Nothing here changes what is served. */
export function verdictStateOf(skill: Skill, { out, waiting }: DecidedSkills): VerdictState {
  const { path, standing } = skill
  if (out.has(path)) return 'disabled'
  if (waiting.has(path)) return 'waiting'
  if (standing === 'withheld') return 'withheld'
  return isListed(skill) ? 'served' : 'partly'
}

/** True if every client takes a list with the skill, and it is in the lists. */
export function isListed(skill: Skill): boolean {
  return skill.standing === 'served' && isYaml(skill) && !hasEntryFault(skill)
}

/** Counts the skills of a source by state. */
export function tallyOf(skills: readonly Skill[], decided: DecidedSkills): Tally {
  const tally = { seen: skills.length, links: 0, waiting: 0, withheld: 0, partly: 0, disabled: 0, served: 0 }
  const links = strayLinks(skills)
  for (const skill of skills) {
    const state = verdictStateOf(skill, decided)
    tally[state === 'withheld' && links.has(skill) ? 'links' : state] += 1
  }
  return tally
}
