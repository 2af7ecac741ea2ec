import { askedText, isObjectId, type AskedRef, type ObjectId, type Revision } from '../../../model/revision.ts'
import { SyncError } from '../../../model/sync-error.ts'
import { highestTags } from '../../../model/tag-range.ts'
import type { ObjectFormat } from '../../../model/revision.ts'

/** A name in a repository and the object it points to. */
export interface Ref {
  /** `HEAD`, or in full: `refs/heads/main`. */
  readonly name: string
  readonly id: ObjectId
  /** The ref that this one stands for, as HEAD stands for the default branch. */
  readonly target?: string
  /** What an annotated tag leads to in the end; `id` is then the tag object. */
  readonly peeled?: ObjectId
}

/** The revision that needs no listing, because a commit id was asked for. */
export function revisionOfCommit(asked: AskedRef): Revision | undefined {
  const id = typeof asked === 'string' ? asked.toLowerCase() : ''
  return isObjectId(id) ? { asked, ref: id, commit: id } : undefined
}

/**
 * The refs that `asked` can mean, in no order: names in full, and with a `*` at their end all that begin so. HEAD is among
 * them: where nothing is found it says what there is.
 */
export function patternsOf(asked: AskedRef): readonly string[] {
  if (typeof asked === 'object') return ['HEAD', `${TAGS}${asked.prefix}*`]
  return [...new Set(['HEAD', ...candidatesOf(asked)])]
}

/** What the names begin with that a pattern means. */
export function prefixOf(pattern: string): string {
  return pattern.replace(/\*$/, '')
}

const TAGS = 'refs/tags/'

/** The full names that `asked` can mean: two that exist are one too many. */
function candidatesOf(asked: string | undefined): readonly string[] {
  if (asked === undefined || asked === 'HEAD') return ['HEAD']
  if (asked.startsWith('refs/')) return [asked]
  return [`refs/heads/${asked}`, `${TAGS}${asked}`]
}

/** The one ref of a listing that `asked` means; undefined if there is none. The listing may hold more than was asked for. */
export function chooseRef(asked: AskedRef, listing: readonly Ref[], source: string): Ref | undefined {
  const found = typeof asked === 'object' ? inRange(asked, listing) : named(candidatesOf(asked), listing)
  if (found.length < 2) return found[0]
  const names = found.map(({ name }) => name).sort()
  const some = names.slice(0, 5).map((name) => `"${name}"`)
  const message = `Cannot resolve "${askedText(asked)}" of "${source}": there are ${some.join(' and ')}`
  throw new SyncError('ref-ambiguous', message)
}

function named(names: readonly string[], listing: readonly Ref[]): Ref[] {
  return listing.filter((ref) => names.includes(ref.name))
}

function inRange(range: Extract<AskedRef, object>, listing: readonly Ref[]): Ref[] {
  const tags = new Map(
    listing.filter(({ name }) => name.startsWith(TAGS)).map((ref) => [ref.name.slice(TAGS.length), ref]),
  )
  return highestTags([...tags.keys()], range).flatMap((tag) => tags.get(tag) ?? [])
}

/** Where a ref, once peeled, leads to. */
export function revisionOf(asked: AskedRef, ref: Ref): Revision {
  const place = { asked, ref: nameOf(ref) }
  return ref.peeled === undefined ? { ...place, commit: ref.id } : { ...place, commit: ref.peeled, tag: ref.id }
}

/** Why nothing was found. `isEmpty`: the repository has no branch and no tag at all. */
export function refNotFound(asked: AskedRef, source: string, listing: readonly Ref[], isEmpty: boolean): SyncError {
  const what = asked === undefined ? `the default branch of "${source}"` : `"${askedText(asked)}" of "${source}"`
  return new SyncError('ref-not-found', `Cannot resolve ${what}: ${whyNot(asked, listing, isEmpty)}`)
}

function whyNot(asked: AskedRef, listing: readonly Ref[], isEmpty: boolean): string {
  if (isEmpty) return 'the repository has no commits'
  if (typeof asked === 'object') return 'no tag has a version in that range'
  if (candidatesOf(asked)[0] === 'HEAD') return 'its HEAD points to no branch'
  const head = listing.find(({ name }) => name === 'HEAD')
  const branch = head === undefined ? 'HEAD' : nameOf(head)
  return branch === 'HEAD' ? 'no such ref' : `no such ref; its default branch is "${branch}"`
}

/** The branch that HEAD stands for. A server can claim any target, so one that is no name of a branch is not repeated. */
function nameOf(ref: Ref): string {
  const isBranch = ref.target !== undefined && /^refs\/heads\/[^\p{Cc}\p{Cf}\s]{1,255}$/u.test(ref.target)
  return isBranch && ref.target !== undefined ? ref.target : ref.name
}

/** What a server said about one repository. Plain data: it is handed to the worker. */
export interface Server {
  /** The address after redirects. */
  readonly base: string
  readonly version: 1 | 2
  /** Of all of its ids. */
  readonly format: ObjectFormat
  /** It can leave out file contents. */
  readonly filters: boolean
  /** Version 1 lists all refs each time, asked or not. */
  readonly refs: readonly Ref[]
}
