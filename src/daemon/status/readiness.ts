import { spanText } from '../../base/text/age-text.ts'
import type { Unready } from '../../serve/http/health.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Age } from '../pull/schedule/staleness.ts'

/** The reasons to send requests elsewhere. Empty if each required source is served and fresh enough. */
export function unreadyIn(catalog: Catalog, ages: readonly Age[]): readonly Unready[] {
  const ofAll: Unready[] = catalog.generation > 0 ? [] : [{ why: 'nothing-served' }]
  const served = new Set(catalog.snapshots.map(({ source }) => source))
  const ofSources = ages.flatMap(({ configured: { source, required }, ageMs, limitMs, isTooOld }): Unready[] => {
    if (!required) return []
    if (!served.has(source.id)) return [{ source: source.id, why: 'nothing-served' }]
    if (!isTooOld) return []
    if (ageMs === Number.POSITIVE_INFINITY) return [{ source: source.id, why: 'never-answered' }]
    return [{ source: source.id, why: 'too-old', age: seconds(ageMs), limit: seconds(limitMs) }]
  })
  return [...ofAll, ...ofSources]
}

/** The reason as text. */
export function unreadyText({ source, why, age, limit }: Unready): string {
  const what = source === undefined ? 'nothing is served' : UNREADY_TEXTS[why]
  const ages = age === undefined || limit === undefined ? '' : `: ${spanText(age * 1000)}, of ${spanText(limit * 1000)}`
  return `${source === undefined ? '' : `${source} `}${what}${ages}`
}

const UNREADY_TEXTS: Readonly<Record<Unready['why'], string>> = {
  'nothing-served': 'is required, and nothing of it is served',
  'never-answered': 'is required, and has never answered',
  'too-old': 'is required, and its last answer is older than it may be',
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
