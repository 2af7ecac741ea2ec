/** How long ago a time was, or how far off it is: `12 s ago`, `in 3 min`. `now` while it is less than a second. */
export function agoText(at: string, now: Date): string {
  const ms = now.getTime() - Date.parse(at)
  if (Math.abs(ms) < 1_000) return 'now'
  return ms > 0 ? `${spanText(ms)} ago` : `in ${spanText(-ms)}`
}

/** What is due, which is late where the machine was asleep. */
export function dueText(at: string, now: Date): string {
  return Date.parse(at) <= now.getTime() ? 'due now' : agoText(at, now)
}

/** The largest unit of which there are two, so that nothing is off by more than a third. */
export function spanText(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= 2 * length) ?? SECOND
  return `${Math.floor(ms / length)} ${unit}`
}

const SECOND = ['s', 1_000] as const
const UNITS = [['days', 86_400_000], ['h', 3_600_000], ['min', 60_000], SECOND] as const
