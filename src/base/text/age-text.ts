/** How long ago a time was: `12 s ago`. `now` also for one that is yet to come since a clock was set back. */
export function agoText(at: string, now: Date): string {
  const ms = now.getTime() - Date.parse(at)
  return ms < 1_000 ? 'now' : `${spanText(ms)} ago`
}

/** What is due, `in 3 min`; it is late where the machine was asleep. */
export function dueText(at: string, now: Date): string {
  const ms = Date.parse(at) - now.getTime()
  if (ms <= 0) return 'due now'
  return ms < 1_000 ? 'now' : `in ${spanText(ms)}`
}

/** How long something has lasted that began then. A clock that was set back makes that no less than no time. */
export function sinceText(at: string, now: Date): string {
  return spanText(Math.max(0, now.getTime() - Date.parse(at)))
}

/** The largest unit of which there are two, so that nothing is off by more than a third. */
export function spanText(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= 2 * length) ?? SECOND
  return `${Math.floor(ms / length)} ${unit}`
}

const SECOND = ['s', 1_000] as const
const UNITS = [['days', 86_400_000], ['h', 3_600_000], ['min', 60_000], SECOND] as const
