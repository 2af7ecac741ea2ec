import { failureUrgency } from '../../sync/model/item.ts'
import type { Item } from '../../sync/model/item.ts'
import { isPassing, mendOf, type Problem, type SyncErrorCode } from '../../sync/model/sync-error.ts'

/** The state of a publication, in the shape of `status --json`. Times are ISO 8601, UTC. */
export interface PublicationStatus {
  readonly url: string
  readonly branch: string
  readonly pack?: string
  /** True if the branch had what is served now when it was last read. */
  readonly isCurrent: boolean
  /** The commit of the branch when it was last read; absent before that, and while there is no such branch. */
  readonly commit?: string
  /** The time of the last push by this process. */
  readonly pushedAt?: string
  /** The reason why the branch is not current, with the remedy; absent if the last attempt did not fail. */
  readonly problem?: PublicationProblem
  /** The time of the next attempt after a failure. */
  readonly nextAttempt?: string
}

/** The message may quote the server: it is printable text. */
export interface PublicationProblem extends Problem {
  readonly fix: string
  /** The time of the first of the failures since the last success. */
  readonly since: string
}

/** The state of a channel of this hub, in the shape of `status --json`. */
export interface ChannelStatus {
  /** The folder that it is written to; absent for the one that clients ask this daemon for. */
  readonly to?: string
  readonly pack?: string
  /** The ring that it has, if it is one before the last. */
  readonly ring?: string
  /** True if it has what is served now. */
  readonly isCurrent: boolean
  /** The number of entries of its log, once this process has written it. */
  readonly entries?: number
  /** The reason why it is not current, with the remedy; absent if the last attempt did not fail. */
  readonly problem?: PublicationProblem
}

/** The end of one requested publication, in the shape of `publish --json`. */
export type PublicationEnd = Pick<PublicationStatus, 'url' | 'branch' | 'pack'> &
  (
    | {
        readonly kind: 'pushed' | 'unchanged' | 'would-push'
        /** The commit of the branch now; absent if a dry run finds no such branch. */
        readonly commit?: string
        /** The commit that the new one follows; absent for the first commit of a branch. */
        readonly parent?: string
        /** The tree that is served. */
        readonly tree: string
      }
    | { readonly kind: 'failed'; readonly problem: Omit<PublicationProblem, 'since'> }
  )

/** The keys that name a publication. */
export function publicationKeys({
  url,
  branch,
  pack,
}: {
  readonly url: string
  readonly branch: string
  readonly pack: string | undefined
}): Pick<PublicationStatus, 'url' | 'branch' | 'pack'> {
  return { url, branch, ...(pack !== undefined && { pack }) }
}

/** The next step for the operator of a publication. Only a daemon retries it. */
export function publicationMend({ code, fix }: Problem, isRetried: boolean): string {
  const passing = isRetried && isPassing(code) ? 'It is retried with growing delay' : undefined
  return fix ?? MENDS[code] ?? passing ?? mendOf({ code })
}

/** The next step for the operator of a channel. */
export function channelMend({ code, fix }: Problem): string {
  const again = isPassing(code) ? 'It is retried with growing delay' : 'It is retried each hour'
  return `${again}; ${fix ?? 'the message names the cause'}`
}

const MENDS: Partial<Readonly<Record<SyncErrorCode, string>>> = {
  'credentials-rejected': 'Check that the credential named in `auth` is present, valid and may push to the branch',
  'repository-not-found': 'Check the address; the repository must exist, and without a credential it may look absent',
  'push-refused':
    'Let this account push in the rules of the branch, or publish to another branch; the message is that of the server',
  'limit-exceeded': 'The server sends more than is needed; check that the address is that of a git repository',
  unsupported: 'The message names what the server cannot do; publish to another host',
}

/** The state of a publication or a channel as an item, without its name. */
export function publishedItem(
  { isCurrent, problem }: Pick<PublicationStatus, 'isCurrent' | 'problem'>,
  now: Date,
): Pick<PublishedItem, 'state' | 'urgency' | 'since' | 'problems' | 'isPrivate'> {
  if (problem === undefined)
    return { isPrivate: true, state: isCurrent ? 'current' : 'under-way', urgency: 'well', problems: [] }
  const { code, message, fix, since } = problem
  const urgency = failureUrgency(code, since, now)
  return { isPrivate: true, state: 'failing', urgency, since, problems: [{ code, message, fix }] }
}

type PublishedItem = Extract<Item, { readonly kind: 'publication' }>
