/**
 * The age of a time, such as `12 s ago`; `now` if it is under a second old, or in the future because the clock was set
 * back.
 */
export function agoText(at: string, now: Date): string {
  const ms = now.getTime() - Date.parse(at)
  return ms < 1_000 ? 'now' : `${spanText(ms)} ago`
}

/** The time until something is due, such as `in 3 min`. It can be overdue if the machine was asleep. */
export function dueText(at: string, now: Date): string {
  const ms = Date.parse(at) - now.getTime()
  if (ms <= 0) return 'due now'
  return ms < 1_000 ? 'now' : `in ${spanText(ms)}`
}

/** The time since something began; zero if the clock was set back. */
export function sinceText(at: string, now: Date): string {
  return spanText(Math.max(0, now.getTime() - Date.parse(at)))
}

/** Rounds down to the largest unit of which there are at least two, so that the error is at most a third. */
export function spanText(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= 2 * length) ?? SECOND
  return `${Math.floor(ms / length)} ${unit}`
}

const SECOND = ['s', 1_000] as const
const UNITS = [['days', 86_400_000], ['h', 3_600_000], ['min', 60_000], SECOND] as const
