import { z } from 'zod'
import type { Decided } from '../../sync/model/decisions/decided.ts'
import type { SourceDecision, SourceHold } from '../../sync/model/decisions/decisions.ts'
import type { KeptVersion, Standing } from '../../sync/model/skill.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import type { DisabledBy, RecallReason } from './status.ts'

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
  const about = [source, skill].filter((part) => part !== undefined).join('/')
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

/**
 * The decision that keeps a skill out of service, with the command that reverts it. `by`: the disabled skill that it
 * matches, if that is another place.
 */
export function disabledText(source: string, path: string, by?: DisabledBy): string {
  if (by?.recall !== undefined) return recalledText(by.recall)
  const own = `${source}/${path}`
  if (by?.by === 'scan') return scannedText(by.as)
  const why = by === undefined || by.as === own ? '' : `; ${matchedText(by.by)} ${by.as}`
  const reason = by?.reason === undefined ? '' : ` (${printableLine(by.reason)})`
  // Enabling a place reverts the decision that it matches, even if the source of that decision is no longer configured.
  const as = by === undefined || (!by.as.startsWith(`${source}/`) && by.by !== 'holds') ? own : by.as
  return `disabled${reason}: in no list, and clients do not find it${why}, until skillsyncd enable ${quote(as)}`
}

/** The note that a scan took a skill out of service, with the command that accepts its content. */
export function scannedText(as: string): string {
  return `withheld by a scan of its content: in no list, and clients do not find it, until a scan clears it, or skillsyncd enable ${quote(as)}`
}

/** The recall that keeps a skill out of service, on one line. */
export function recalledText({ id, reason, at, hub }: RecallReason): string {
  const why = reason === undefined ? 'the hub tells no reason here' : printableLine(reason)
  return `recalled: ${why} (${id.slice(0, SHOWN_DIGITS)}, ${at}, by ${hub === undefined ? 'this hub' : printableLine(hub)})`
}

/** The form of a `RecallReason` in an answer of the daemon. */
export const RECALL_REASON = z.object({
  id: z.string(),
  reason: z.string().exactOptional(),
  at: z.string(),
  hub: z.string().exactOptional(),
})

/** The decision that a skill out of service matches, in an answer of the daemon. */
export const DISABLED_BY = z.object({
  as: z.string(),
  by: z.enum(['path', 'uri', 'name', 'content', 'holds', 'scan']),
  reason: z.string().exactOptional(),
  recall: RECALL_REASON.exactOptional(),
})

/** The first of the places that a decision concerns. */
export const DISABLED_PLACES = z.array(DISABLED_BY.extend({ place: z.string() })).readonly()

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

/** The note that a skill waits for approval, with the command that approves it. */
export function pendingText(source: string, path: string): string {
  return `in no list, and clients do not find it, until skillsyncd approve ${skillOperand(source, path)}`
}

/** The state of a skill, including the operator's decisions. */
export function stateText({ standing, disabled, disabledBy, pending }: State): string {
  const out = outWord(disabledBy)
  if (disabled) return standing === 'served' ? out : `${standing}, ${out}`
  return pending ? 'waits for approval' : standing
}

/** The commits of an earlier version that is served. */
export function keptText({ commit, since }: KeptVersion): string {
  return `the version of commit ${commit}, because commit ${since} broke the skill`
}

/** The word for a skill that is out of service by a decision. */
export function outWord(by: DisabledBy | undefined): 'recalled' | 'withheld by a scan' | 'disabled' {
  if (by?.recall !== undefined) return 'recalled'
  return by?.by === 'scan' ? 'withheld by a scan' : 'disabled'
}

interface State {
  readonly standing: Standing
  readonly disabled: boolean
  readonly disabledBy?: DisabledBy | undefined
  readonly pending: boolean
}

/** A skill in the syntax of a command line. */
export function skillOperand(source: string, path: string): string {
  return quote(`${source}/${path}`)
}

function quote(operand: string): string {
  return /^[\w./:@%+,=-]+$/.test(operand) ? operand : `'${operand.replaceAll("'", `'\\''`)}'`
}
