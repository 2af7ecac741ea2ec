import { countOf } from '../../../base/text/plural.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { withHiddenEscaped } from '../../../sync/skill/hidden-unicode.ts'
import { unservedReasonOf } from './unserved-sources.ts'
import type { UnservedSources } from './unserved-sources.ts'

/**
 * Returns the reason, in words for a model, why a list of skills is empty. `lacking`: the sources without served
 * skills. The rest comes from the catalog that the caller sees.
 */
export function emptyReason(catalog: Catalog, lacking: UnservedSources = NONE): string {
  const reasons = [
    ...catalog.snapshots.map((snapshot) => `${quote(snapshot.source)} ${reasonIn(catalog, snapshot)}`),
    ...lacking.named.map(unservedReasonOf),
  ]
  if (reasons.length > 0) return `No skill is available. ${sentenceOf(reasons, unnamedIn(lacking))}`
  if (catalog.generation === 0) return 'No skill is available yet: nothing has been fetched. Try again in a moment.'
  return lacking.count > 0 ? NOT_YET : 'No skill is available to you here.'
}

const NONE: UnservedSources = { count: 0, named: [] }

const NOT_YET = 'No skill is available to you here: something has not been fetched yet. Try again later.'

/** A caller that learns no source names does not learn their number either. */
function unnamedIn({ count, named }: UnservedSources): number {
  return named.length === 0 ? 0 : count - named.length
}

function sentenceOf(reasons: readonly string[], unnamed: number): string {
  const left = Math.max(0, reasons.length - MOST_REASONS) + unnamed
  const more = left > 0 ? [`${left} more ${left === 1 ? 'source has' : 'sources have'} none`] : []
  return `By source: ${[...reasons.slice(0, MOST_REASONS), ...more].join('; ')}. The operator finds more in skillsyncd status.`
}

const MOST_REASONS = 10

/** The reason omits skills that are disabled or wait for approval: clients must not learn their names. */
function reasonIn({ sources }: Catalog, { source, skills, findings }: Snapshot): string {
  const [, ...absent] = sources.find(([id]) => id === source) ?? [source]
  const withheld = skills.filter(({ standing, path }) => standing === 'withheld' && !absent.includes(path))
  const [first] = withheld
  if (first !== undefined) {
    const id = quote(`${source}/${withHiddenEscaped(first.path)}`)
    return `has ${countOf(withheld.length, 'skill')} that ${withheld.length === 1 ? 'is' : 'are'} withheld: get_skill with the id ${id} gives the reason`
  }
  const link = findings.find(({ rule }) => rule === 'link-refused')
  if (link !== undefined)
    return `has links in place of skills, such as ${quote(withHiddenEscaped(link.path))}, that lead elsewhere and are refused`
  return skills.length === 0 ? 'has no SKILL.md' : 'has no skill that is offered'
}

function quote(text: string): string {
  return JSON.stringify(text)
}
