import type { Decision } from '../sync/model/decisions.ts'

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
