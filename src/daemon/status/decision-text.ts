import { z } from 'zod'
import { shellWord } from '../../base/text/shell-word.ts'
import type { Decided } from '../../sync/model/decisions/decided.ts'
import type { SourceDecision, SourceHold } from '../../sync/model/decisions/decisions.ts'
import type { DisabledMatch } from '../../sync/model/decisions/disabled-matches.ts'
import { isRecall } from '../../sync/model/decisions/out-of-service.ts'
import { recallingHub } from '../../sync/model/decisions/recalled-skills.ts'
import type { RecallRule } from '../../sync/model/decisions/rules.ts'
import type { KeptVersion } from '../../sync/model/skill.ts'
import type { SkillProblem } from '../../sync/model/verdict/verdict.ts'
import { printableLine } from '../runtime/log/log-line.ts'

/** The operator's decisions about a source, one sentence each, with the command that reverts it. */
export function decisionTexts({ hold, skipped, approved }: SourceDecision, source: string): string[] {
  const texts: string[] = []
  if (hold !== undefined) texts.push(holdText(hold, source))
  if (skipped?.by === 'rollback')
    texts.push(`rolled back from ${skipped.commit}, which is skipped until skillsyncd release ${source}`)
  if (skipped?.by === 'reject') texts.push(`rejected ${skipped.commit}, which is skipped`)
  if (approved !== undefined) texts.push(`approved ${approved.commit}, which is served as soon as upstream leads to it`)
  return texts
}

/** A decision of the history, on one line. */
export function decidedText({ by, who, decision, source, ring, skill, commit, forFollowers, reason }: Decided): string {
  const about = skill === '' ? `the root of ${source}` : [source, skill].filter((part) => part !== undefined).join('/')
  const inRing = ring === undefined ? '' : ` in the ring ${ring}`
  const at = commit === undefined ? '' : ` at ${commit}`
  const reach = forFollowers === true ? ', for all followers' : ''
  const decider = by === 'scan' ? 'a scan' : `${by === 'hub' ? 'the hub ' : ''}${who ?? 'a person'}`
  const why = reason === undefined ? '' : `: ${reason}`
  return printableLine(`${decision} ${about}${inRing}${at} by ${decider}${reach}${why}`)
}

/** A hold, with the command that ends it. `released`: the source, as that command names it. */
export function holdText({ commit, noPoll, reason }: Omit<SourceHold, 'at'>, released: string): string {
  const at = commit === undefined ? '' : ` at ${commit}`
  const why = reason === undefined ? '' : ` (${printableLine(reason)})`
  return `held${at}${why}${noPoll === true ? ', and not polled,' : ''} until skillsyncd release ${released}`
}

/** The decision that keeps a skill out of service, as a problem of the skill. `by`: the disabled skill that it matches. */
export function outProblem(source: string, path: string, { as, by, reason, recall }: DisabledBy): SkillProblem {
  if (recall !== undefined) {
    const fix =
      recall.hub === undefined
        ? `skillsyncd enable ${recall.id} ends it at all followers`
        : `The hub that recalled it ends that; skillsyncd enable ${recall.id} does once that hub is not followed any more`
    return { code: 'skill-recalled', place: as, message: recalledText(recall), fix }
  }
  const own = `${source}/${path}`
  // Enabling a place reverts the decision that it matches, even if the source of that decision is no longer configured.
  const enabled = !as.startsWith(`${source}/`) && by !== 'holds' && by !== 'scan' ? own : as
  const fix = `skillsyncd enable ${shellWord(enabled)}`
  if (by === 'scan') return { code: 'skill-scanned', place: as, message: `${OUT}: a scan refuses its content`, fix }
  const why = as === own ? '' : `; ${matchedText(by)} ${as}`
  return { code: 'disabled', place: as, message: `${reason === undefined ? '' : `${reason}: `}${OUT}${why}`, fix }
}

const OUT = 'in no list, and clients do not find it'

/** The approval that a skill waits for, as a problem of the skill. */
export function waitingProblem(source: string, path: string): SkillProblem {
  const place = `${source}/${path}`
  return { code: 'awaiting-approval', place, message: OUT, fix: `skillsyncd approve ${shellWord(place)}` }
}

/** The reason of a recall, and its origin, on one line. */
export function recalledText({ id, reason, at, hub }: RecallReason): string {
  const why = reason === undefined ? 'the hub tells no reason here' : printableLine(reason)
  return `${why} (${id.slice(0, SHOWN_DIGITS)}, ${at}, by ${hub === undefined ? 'this hub' : printableLine(hub)})`
}

/** A recall, for people. `hub`: the name of the log of the hub that made it; absent if it was made here. */
const RECALL_REASON = z.object({
  id: z.string(),
  /** Absent if the hub does not tell it here. */
  reason: z.string().exactOptional(),
  at: z.string(),
  hub: z.string().exactOptional(),
})

type RecallReason = z.infer<typeof RECALL_REASON>

/** The reason why a skill is out of service: `as` is the disabled skill, `source/path`. */
export const DISABLED_BY = z.object({
  as: z.string(),
  by: z.enum(['path', 'uri', 'name', 'content', 'holds', 'scan']),
  reason: z.string().exactOptional(),
  recall: RECALL_REASON.exactOptional(),
})

export type DisabledBy = z.infer<typeof DISABLED_BY>

/** The first of the places that a decision concerns. */
export const DISABLED_PLACES = z.array(DISABLED_BY.extend({ place: z.string() })).readonly()

export function disabledBy({ source, path, by, rule }: DisabledMatch): DisabledBy {
  const about = { as: `${source}/${path}`, by }
  if (isRecall(rule)) return { ...about, recall: recallReason(rule) }
  return rule.reason === undefined ? about : { ...about, reason: rule.reason }
}

/** The part of a recall that people see. */
export function recallReason(recall: RecallRule): RecallReason {
  const { id, reason, at } = recall
  const hub = recallingHub(recall)
  return { id, ...(reason !== undefined && { reason }), at, ...(hub !== undefined && { hub }) }
}

/** The digits of the id of a recall that people see, and that commands accept. */
const SHOWN_DIGITS = 12

/** The property by which a skill matches the one that the operator disabled. */
export function matchedText(by: DisabledBy['by']): string {
  return MATCHED[by]
}

const MATCHED: Readonly<Record<DisabledBy['by'], string>> = {
  path: 'it is at a place of',
  uri: 'it has the URI of',
  name: 'it has the name of',
  content: 'it has the SKILL.md of',
  holds: 'it holds files of',
  scan: 'it has the content of',
}

/** The commits of an earlier version that is served. */
export function keptText({ commit, since }: Pick<KeptVersion, 'commit' | 'since'>): string {
  return `the version of commit ${commit}, because commit ${since} broke the skill`
}
