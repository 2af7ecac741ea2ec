import type { Decision } from '../sync/model/decisions.ts'
import type { Standing } from '../sync/model/skill.ts'

/** What a person decided about a source, a sentence for each part, with the command that takes it back. */
export function decisionTexts({ paused, frozen, skipped, approved }: Decision, source: string): string[] {
  const texts: string[] = []
  if (paused === true) texts.push(`paused: it is not looked at until skillsyncd resume ${source}`)
  if (frozen?.by === 'pin') texts.push(`pinned at ${frozen.commit} until skillsyncd unpin ${source}`)
  if (frozen?.by === 'rollback') texts.push(`held at ${frozen.commit} until skillsyncd release ${source}`)
  if (skipped?.by === 'rollback')
    texts.push(`rolled back from ${skipped.commit}, which is passed over until skillsyncd release ${source}`)
  if (skipped?.by === 'reject') texts.push(`rejected ${skipped.commit}, which is passed over`)
  if (approved !== undefined) texts.push(`approved ${approved.commit}, which the next pull takes`)
  return texts
}

/** What a person decided about a skill, with the command that takes it back. */
export function disabledText(source: string, path: string): string {
  return `disabled: in no list, and clients do not find it, until skillsyncd enable ${skillOperand(source, path)}`
}

/** That nobody has approved a skill, with the command that does. */
export function pendingText(source: string, path: string): string {
  return `in no list, and clients do not find it, until skillsyncd approve ${skillOperand(source, path)}`
}

/** What became of a skill, and what people have to do with that. */
export function stateText({ standing, disabled, pending }: State): string {
  if (disabled) return `${standing}, disabled`
  return pending ? 'waits for approval' : standing
}

interface State {
  readonly standing: Standing
  readonly disabled: boolean
  readonly pending: boolean
}

/** A skill as it can be written on a command line. */
export function skillOperand(source: string, path: string): string {
  const operand = `${source}/${path}`
  return /^[\w./:@%+,=-]+$/.test(operand) ? operand : `'${operand.replaceAll("'", `'\\''`)}'`
}
