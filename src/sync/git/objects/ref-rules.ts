import { askedText, isObjectId } from '../../model/revision.ts'
import type { AskedRef, ObjectFormat, ObjectId, Revision } from '../../model/revision.ts'
import type { GitSource } from '../../model/source.ts'
import { SyncError } from '../../model/sync-error.ts'
import { highestTags } from '../../model/tag-range.ts'

/** A ref of a repository and the object it points to. */
export interface Ref {
  /** `HEAD`, or a full name: `refs/heads/main`. */
  readonly name: string
  readonly id: ObjectId
  /** The target of a symbolic ref, as HEAD points to the default branch. */
  readonly target?: string
  /** The peeled target of an annotated tag; `id` is then the tag object. */
  readonly peeled?: ObjectId
}

/** Returns the revision if `asked` is a commit id, which needs no listing. */
export function revisionOfCommit(asked: AskedRef): Revision | undefined {
  const id = typeof asked === 'string' ? asked.toLowerCase() : ''
  return isObjectId(id) ? { asked, ref: id, commit: id } : undefined
}

/**
 * Returns the refs that `asked` can mean, in no order: full names, and prefixes that end in `*`. HEAD is included: if
 * nothing is found, the message names the default branch.
 */
export function patternsOf(asked: AskedRef): readonly string[] {
  if (typeof asked === 'object') return ['HEAD', `${TAGS}${asked.prefix}*`]
  return [...new Set(['HEAD', ...candidatesOf(asked)])]
}

/** Returns the prefix of the names that a pattern matches. */
export function prefixOf(pattern: string): string {
  return pattern.replace(/\*$/, '')
}

const TAGS = 'refs/tags/'

/** Returns the full names that `asked` can mean. If two of them exist, it is ambiguous. */
function candidatesOf(asked: string | undefined): readonly string[] {
  if (asked === undefined || asked === 'HEAD') return ['HEAD']
  if (asked.startsWith('refs/')) return [asked]
  return [`refs/heads/${asked}`, `${TAGS}${asked}`]
}

/**
 * Returns the one ref of a listing that `asked` means; `undefined` if there is none. The listing may hold more than was
 * requested.
 */
export function chooseRef(asked: AskedRef, listing: readonly Ref[], source: string): Ref | undefined {
  const found = typeof asked === 'object' ? inRange(asked, listing) : refsNamed(candidatesOf(asked), listing)
  if (found.length < 2) return found[0]
  const names = found.map(({ name }) => name).sort()
  const some = names.slice(0, 5).map((name) => `"${name}"`)
  const message = `Cannot resolve "${askedText(asked)}" of "${source}": there are ${some.join(' and ')}`
  throw new SyncError('ref-ambiguous', message)
}

function refsNamed(names: readonly string[], listing: readonly Ref[]): Ref[] {
  return listing.filter((ref) => names.includes(ref.name))
}

function inRange(range: Extract<AskedRef, object>, listing: readonly Ref[]): Ref[] {
  const tags = new Map(
    listing.filter(({ name }) => name.startsWith(TAGS)).map((ref) => [ref.name.slice(TAGS.length), ref]),
  )
  return highestTags([...tags.keys()], range).flatMap((tag) => tags.get(tag) ?? [])
}

/** Returns the revision of a peeled ref. */
export function revisionOf(asked: AskedRef, ref: Ref): Revision {
  const place = { asked, ref: nameOf(ref) }
  return ref.peeled === undefined ? { ...place, commit: ref.id } : { ...place, commit: ref.peeled, tag: ref.id }
}

/** The place where a ref is looked for. */
type AskedPlace = Pick<GitSource, 'id' | 'url' | 'ref' | 'root'>

/**
 * Returns what to list for the error of a missing ref: also longer names that reach into the root, because the address
 * of a page does not tell where the name of its branch ends.
 */
export function patternsOfMissing(place: AskedPlace): readonly string[] {
  return [...patternsOf(place.ref), ...longerNames(place).flatMap(({ longer }) => candidatesOf(longer))]
}

/** Returns the names that the ref makes with the first parts of the root, each with the rest of the root. */
export function longerNames({
  ref,
  root = '',
}: {
  readonly ref?: AskedRef
  readonly root?: string
}): readonly { readonly longer: string; readonly below: string }[] {
  if (typeof ref !== 'string' || root === '') return []
  const parts = root.split('/')
  return parts.slice(0, MOST_LONGER).map((_, index) => ({
    longer: [ref, ...parts.slice(0, index + 1)].join('/'),
    below: parts.slice(index + 1).join('/'),
  }))
}

const MOST_LONGER = 4

/** Creates the error for a missing ref. `isEmpty`: the repository has no branch and no tag at all. */
export function refNotFound(place: AskedPlace, listing: readonly Ref[], isEmpty: boolean): SyncError {
  const { id, ref } = place
  const what = ref === undefined ? `the default branch of "${id}"` : `"${askedText(ref)}" of "${id}"`
  const fix = isEmpty ? 'Push a first commit to the repository' : (longerRefFix(place, listing) ?? wordFix(place))
  return new SyncError('ref-not-found', `Cannot resolve ${what}: ${noRefReason(ref, listing, isEmpty)}`, { fix })
}

/** The next step if a longer name exists. */
function longerRefFix(place: AskedPlace, listing: readonly Ref[]): string | undefined {
  const found = longerNames(place).find(({ longer }) => refsNamed(candidatesOf(longer), listing).length > 0)
  if (found === undefined) return undefined
  const { longer, below } = found
  const rootText = below === '' ? 'no `root`' : `\`root: ${below}\``
  const behind = (below === '' ? [longer] : [longer, below]).map((part) =>
    part.replaceAll(/[%&:=\s]/g, encodeURIComponent),
  )
  return `The name has slashes: set \`ref: ${longer}\` and ${rootText}; on a command line, write ${place.url}#${behind.join(':')}`
}

/** The next step for the default branch, and for one word, which may be the anchor of a page that was pasted. */
function wordFix({ url, ref, root }: AskedPlace): string | undefined {
  if (ref === undefined || ref === 'HEAD')
    return 'Set `ref` to a branch or a tag, or let HEAD of the repository point to a branch that is there'
  if (typeof ref !== 'string' || /[/\p{Cc}\p{Cf}]/u.test(ref) || root !== '' || !/^https?:/i.test(url)) return undefined
  return `Check \`ref\`; the branch or tag may have been renamed or deleted. #${ref} behind an address is read as a branch: leave it out if it is an anchor of the page`
}

function noRefReason(asked: AskedRef, listing: readonly Ref[], isEmpty: boolean): string {
  if (isEmpty) return 'the repository has no commits'
  if (typeof asked === 'object') return 'no tag has a version in that range'
  if (candidatesOf(asked)[0] === 'HEAD') return 'its HEAD points to no branch'
  const head = listing.find(({ name }) => name === 'HEAD')
  const branch = head === undefined ? 'HEAD' : nameOf(head)
  return branch === 'HEAD' ? 'no such ref' : `no such ref; its default branch is "${branch}"`
}

/** Returns the branch that HEAD points to. A server can claim any target, so an invalid branch name is not repeated. */
function nameOf(ref: Ref): string {
  const isBranch = ref.target !== undefined && /^refs\/heads\/[^\p{Cc}\p{Cf}\s]{1,255}$/u.test(ref.target)
  return isBranch && ref.target !== undefined ? ref.target : ref.name
}

/** The answer of a server about one repository. Plain data: it is sent to the worker. */
export interface Server {
  /** The address after redirects. */
  readonly base: string
  readonly version: 1 | 2
  /** The format of all ids of the repository. */
  readonly format: ObjectFormat
  /** It can leave out file contents. */
  readonly filters: boolean
  /** Version 1 lists all refs each time, asked or not. */
  readonly refs: readonly Ref[]
  /** The capabilities that a request of version 1 names. */
  readonly words: readonly string[]
  /** It can leave out the history before a commit. */
  readonly isShallow: boolean
}

/** The next step for a list of refs that is over its limit. */
export const FEWER_REFS = 'Have fewer branches and tags in the repository: the list of them is too long'
