import type { Catalog } from '../../sync/model/catalog.ts'
import { withHiddenEscaped } from '../../sync/model/hidden-unicode.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SyncErrorCode } from '../../sync/model/sync-error.ts'
import { countOf } from '../count-text.ts'

/** A source of which nothing is served, and the reason as its host knows it. */
export interface Lacking {
  readonly source: string
  readonly why: 'first-pull' | 'paused' | SyncErrorCode
}

/**
 * Says in words for a model why a list of skills is empty. `lacking`: the sources that have nothing served; undefined for a caller that
 * sees packs alone, and may know of no source. The rest is read off the catalog that the caller sees.
 */
export function whyEmpty(catalog: Catalog, lacking: readonly Lacking[] | undefined): string {
  const reasons = [
    ...catalog.snapshots.map((snapshot) => `${quoted(snapshot.source)} ${reasonIn(catalog, snapshot)}`),
    ...(lacking ?? []).map(({ source, why }) => `${quoted(source)} ${REASONS[why] ?? OTHER}`),
  ]
  if (reasons.length > 0) return `No skill is available. ${sentenceOf(reasons)}`
  if (catalog.generation === 0) return 'No skill is available yet: nothing has been fetched. Ask again in a moment.'
  return 'No skill is available to you here.'
}

function sentenceOf(reasons: readonly string[]): string {
  const more = reasons.length > MOST_REASONS ? [`${reasons.length - MOST_REASONS} more sources have none`] : []
  return `By source: ${[...reasons.slice(0, MOST_REASONS), ...more].join('; ')}. The operator is told more by skillsyncd status.`
}

const MOST_REASONS = 10

/** The reason without skills that are disabled or wait for approval: those are not named to clients. */
function reasonIn({ sources }: Catalog, { source, skills, findings }: Snapshot): string {
  const [, ...absent] = sources.find(([id]) => id === source) ?? [source]
  const withheld = skills.filter(({ standing, path }) => standing === 'withheld' && !absent.includes(path))
  const [first] = withheld
  if (first !== undefined) {
    const id = quoted(`${source}/${withHiddenEscaped(first.path)}`)
    return `has ${countOf(withheld.length, 'skill')} that ${withheld.length === 1 ? 'is' : 'are'} withheld: get_skill with the id ${id} gives the reason`
  }
  const link = findings.find(({ rule }) => rule === 'link-refused')
  if (link !== undefined)
    return `has links in place of skills, such as ${quoted(withHiddenEscaped(link.path))}, that lead elsewhere and are refused`
  return skills.length === 0 ? 'has no SKILL.md' : 'has no skill that is offered'
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

const UNREACHABLE = 'cannot be reached at the moment'
const NOT_THERE = 'was not found where the configuration says'

const REASONS: Readonly<Partial<Record<Lacking['why'], string>>> = {
  'first-pull': 'is being fetched for the first time: ask again in a moment',
  paused: 'was paused by the operator before anything of it was served',
  'credentials-rejected': 'rejects the credential that it is asked with (401 or 403), or lacks one',
  'source-unreachable': UNREACHABLE,
  'dns-failed': UNREACHABLE,
  'tls-failed': `${UNREACHABLE}: its certificate or host key is not accepted`,
  'rate-limited': 'has asked for a pause: ask again later',
  'repository-not-found': NOT_THERE,
  'ref-not-found': `${NOT_THERE}: its branch or tag is not there`,
  'ref-ambiguous': `${NOT_THERE}: its ref can mean several`,
  'awaiting-approval': 'waits for approval by the operator',
  'revision-unverified': 'is not signed as the operator asks for',
  'lock-mismatch': 'is not what the lock of the operator says',
}

const OTHER = 'could not be taken'
