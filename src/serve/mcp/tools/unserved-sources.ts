import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { offerTexts } from '../../../sync/model/server-listing.ts'
import type { SyncErrorCode } from '../../../sync/model/sync-error.ts'
import { withText } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'

/** The sources without served skills that the caller could use. */
export interface UnservedSources {
  readonly count: number
  /** The first of them; empty for a caller limited to packs, which must not learn of sources. */
  readonly named: readonly LackingSource[]
}

/** A source without served skills, and the reason. */
export interface LackingSource {
  readonly source: string
  readonly why: 'first-pull' | SyncErrorCode
}

/**
 * Appends a sentence for a model that the answer lacks the skills of these sources. Returns the answer unchanged if
 * there are none.
 */
export function saidLacking(answer: ToolAnswer, lacking: UnservedSources | undefined): ToolAnswer {
  return lacking === undefined || lacking.count === 0 ? answer : withText(answer, lackingText(lacking))
}

/** Appends a sentence for a model about the skills that MCP servers offer and the operator has not taken. */
export function saidOffers(answer: ToolAnswer, { snapshots }: Pick<Catalog, 'snapshots'>): ToolAnswer {
  const texts = snapshots.flatMap(({ source, offers }) =>
    offers === undefined ? [] : offerTexts(source, offers).map((text) => `${JSON.stringify(source)} offers ${text}`),
  )
  if (texts.length === 0) return answer
  const more = texts.length > MOST_TOLD ? `; and ${texts.length - MOST_TOLD} more` : ''
  return withText(answer, `The operator can take more skills: ${texts.slice(0, MOST_TOLD).join('; ')}${more}.`)
}

function lackingText({ count, named }: UnservedSources): string {
  if (named.length === 0)
    return 'This answer may lack skills that you can have: something has not been fetched yet. Try again later.'
  const told = named.slice(0, MOST_TOLD)
  const more = count > told.length ? [`and ${count - told.length} more`] : []
  return `This answer lacks the skills of sources that have served nothing yet: ${[...told.map(unservedReasonOf), ...more].join('; ')}.`
}

const MOST_TOLD = 3

/** Returns the source with the reason in words. */
export function unservedReasonOf({ source, why }: LackingSource): string {
  return `${JSON.stringify(source)} ${REASONS[why] ?? OTHER}`
}

const UNREACHABLE = 'cannot be reached at the moment'
const NOT_THERE = 'was not found at the configured address'

const REASONS: Readonly<Partial<Record<LackingSource['why'], string>>> = {
  'first-pull': 'is being fetched for the first time: try again in a moment',
  held: 'was held by the operator before anything of it was served',
  'credentials-rejected': 'rejects the credential of the request (401 or 403), or requires one',
  'source-unreachable': UNREACHABLE,
  'dns-failed': UNREACHABLE,
  'tls-failed': `${UNREACHABLE}: its certificate or host key is not accepted`,
  'rate-limited': 'has requested a pause: try again later',
  'repository-not-found': NOT_THERE,
  'ref-not-found': `${NOT_THERE}: its branch or tag does not exist`,
  'ref-ambiguous': `${NOT_THERE}: its ref is ambiguous`,
  'awaiting-approval': 'waits for approval by the operator',
  'revision-unverified': 'does not have the signature that the operator requires',
  'log-unwitnessed': 'does not have the cosignatures that the operator requires',
  'log-unsigned': 'does not have the signature that the operator requires',
  'not-stored': 'is not on this machine, which must not fetch it',
  'lock-mismatch': 'differs from the lock of the operator',
  'skill-recalled': 'is locked at content that was recalled',
}

const OTHER = 'could not be fetched'
