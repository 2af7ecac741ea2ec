import type { Decision } from '../../sync/decisions/decisions.ts'
import type { Standing } from '../../sync/model/skill.ts'
import type { DisabledBy } from './status.ts'

/** What a person decided about a source, a sentence for each part, with the command that takes it back. */
export function decisionTexts({ paused, frozen, skipped, approved }: Decision, source: string): string[] {
  const texts: string[] = []
  if (paused === true) texts.push(`paused: it is not looked at until skillsyncd resume ${source}`)
  if (frozen?.by === 'pin') texts.push(`pinned at ${frozen.commit} until skillsyncd unpin ${source}`)
  if (frozen?.by === 'rollback') texts.push(`held at ${frozen.commit} until skillsyncd release ${source}`)
  if (skipped?.by === 'rollback')
    texts.push(`rolled back from ${skipped.commit}, which is passed over until skillsyncd release ${source}`)
  if (skipped?.by === 'reject') texts.push(`rejected ${skipped.commit}, which is passed over`)
  if (approved !== undefined) texts.push(`approved ${approved.commit}, which is taken as soon as upstream leads to it`)
  return texts
}

/** The decision that keeps a skill out of service, with the command that takes it back. `by`: where it is about another place. */
export function disabledText(source: string, path: string, by?: DisabledBy): string {
  const own = `${source}/${path}`
  const why = by === undefined || by.as === own ? '' : `; ${matchedText(by.by)} ${by.as}`
  // To enable a place undoes the decision that it matches, also where the source of that is not configured any more.
  const as = by === undefined || (!by.as.startsWith(`${source}/`) && by.by !== 'holds') ? own : by.as
  return `disabled: in no list, and clients do not find it${why}, until skillsyncd enable ${quoted(as)}`
}

/** By what a skill is the one that a person disabled. */
export function matchedText(by: DisabledBy['by']): string {
  return MATCHED[by]
}

const MATCHED: Readonly<Record<DisabledBy['by'], string>> = {
  path: 'it is at a place of',
  uri: 'it has the URI of',
  name: 'it has the name of',
  content: 'it has the SKILL.md of',
  holds: 'it holds files of',
}

/** That nobody has approved a skill, with the command that does. */
export function pendingText(source: string, path: string): string {
  return `in no list, and clients do not find it, until skillsyncd approve ${skillOperand(source, path)}`
}

/** What became of a skill, and what people have to do with that. */
export function stateText({ standing, disabled, pending }: State): string {
  if (disabled) return standing === 'served' ? 'disabled' : `${standing}, disabled`
  return pending ? 'waits for approval' : standing
}

interface State {
  readonly standing: Standing
  readonly disabled: boolean
  readonly pending: boolean
}

/** A skill as it can be written on a command line. */
export function skillOperand(source: string, path: string): string {
  return quoted(`${source}/${path}`)
}

function quoted(operand: string): string {
  return /^[\w./:@%+,=-]+$/.test(operand) ? operand : `'${operand.replaceAll("'", `'\\''`)}'`
}
