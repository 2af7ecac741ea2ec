import type { PublishedRecall } from '../../../sync/model/decisions/published-recall.ts'
import type { ChannelSkills, KnownListSize } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { ASK_HUB, SyncError } from '../../../sync/model/sync-error.ts'
import type { Digest } from '../../../sync/store/objects/object-store.ts'
import { parseRecallList } from '../recall/recall-list.ts'
import { parseHead, parseList, parseSkills, parseSource } from './channel-schema.ts'
import type { DigestList } from './channel-schema.ts'

/** Yields the bytes of the objects, each verified by its digest, in the same order. */
export type ReadObjects = (digests: readonly Digest[]) => AsyncIterable<Uint8Array>

/** Limits for what a channel may name. */
export interface ChannelLimits {
  readonly skills: number
}

/**
 * Reads everything that the head names but the files of skills, level by level, so that few requests fetch many objects.
 * Lists of skills that the caller knows are not read.
 * Throws `content-refused` if an object has another form, and `limit-exceeded` if there are too many skills.
 */
export async function walkChannel(
  head: Digest,
  read: ReadObjects,
  limits: ChannelLimits,
  known: KnownListSize,
): Promise<readonly ChannelSkills[]> {
  return walkSources(await sourcesOf(head, read, limits), read, limits, known)
}

/** The objects of the sources that the head names, by their ids. */
export async function sourcesIn(
  head: Digest,
  read: ReadObjects,
  limits: ChannelLimits,
): Promise<ReadonlyMap<SourceId, Digest>> {
  const digests = await sourcesOf(head, read, limits)
  const sources = await parsed(digests, read, parseSource, 'a source')
  const objects = new Map(sources.map(({ source }, index) => [source, digests[index] ?? '']))
  if (objects.size !== digests.length) throw refusal('the list of its sources')
  return objects
}

/** The object with the recalls that the head names; `undefined` if it names none. */
export async function recallsOf(head: Digest, read: ReadObjects): Promise<Digest | undefined> {
  const [top] = await parsed([head], read, parseHead, 'its head')
  return top?.recalls
}

/** The recalls in that object. Throws `content-refused` if it has another form. */
export async function recallsAt(list: Digest, read: ReadObjects): Promise<readonly PublishedRecall[]> {
  const [recalls = []] = await parsed([list], read, parseRecallList, 'the list of its recalls')
  return recalls
}

/** The ids of the recalls that are in force by the head. */
export async function recallsInForce(head: Digest, read: ReadObjects): Promise<readonly string[]> {
  const list = await recallsOf(head, read)
  const recalls = list === undefined ? [] : await recallsAt(list, read)
  return recalls.flatMap(({ id, revoked }) => (revoked === undefined ? [id] : []))
}

async function sourcesOf(head: Digest, read: ReadObjects, limits: ChannelLimits): Promise<readonly Digest[]> {
  const [top] = await parsed([head], read, parseHead, 'its head')
  if (top === undefined) throw refusal('its head')
  return itemsOf([top.sources], read, limits)
}

/** `walkChannel` for these objects of sources alone. */
export async function walkSources(
  named: readonly Digest[],
  read: ReadObjects,
  limits: ChannelLimits,
  known: KnownListSize,
): Promise<readonly ChannelSkills[]> {
  const sources = await parsed(named, read, parseSource, 'a source')
  const parts: (readonly Digest[])[] = []
  let count = 0
  for (const { skills } of sources) {
    const own = await itemsOf([skills], read, limits)
    count += own.length
    if (count > limits.skills) throw tooMany(limits)
    parts.push(own)
  }
  const isNew = (hub: SourceId, digest: Digest): boolean => known(hub, digest) === undefined
  const fresh = sources.flatMap(({ source }, index) => parts[index]?.filter((digest) => isNew(source, digest)) ?? [])
  const digests = [...new Set(fresh)]
  const lists = await parsed(digests, read, parsingSkills(limits), 'a list of skills')
  const skills = new Map(digests.map((digest, index) => [digest, lists[index] ?? []]))
  const sizeOf = (hub: SourceId, digest: Digest): number => known(hub, digest) ?? skills.get(digest)?.length ?? 0
  // A list can be named many times, and can be empty.
  const sizes = sources.flatMap(({ source }, index) =>
    (parts[index] ?? []).map((one) => Math.max(sizeOf(source, one), 1)),
  )
  if (sizes.reduce((sum, size) => sum + size, 0) > limits.skills) throw tooMany(limits)
  const walked: ChannelSkills[] = []
  for (const [index, { skills: _list, ...source }] of sources.entries()) {
    const own = (parts[index] ?? []).map((digest) => ({
      digest,
      skills: isNew(source.source, digest) ? skills.get(digest) : undefined,
    }))
    walked.push({ ...source, parts: own })
  }
  return walked
}

/** Parses lists of skills, as long as they have no more than the limit together. */
function parsingSkills(limits: ChannelLimits): typeof parseSkills {
  let count = 0
  return (bytes) => {
    const skills = parseSkills(bytes)
    count += skills?.length ?? 0
    if (count > limits.skills) throw tooMany(limits)
    return skills
  }
}

/** All digests of the lists, in their order. Lists of lists are read with one call for each level. */
async function itemsOf(
  lists: readonly DigestList[],
  read: ReadObjects,
  limits: ChannelLimits,
): Promise<readonly Digest[]> {
  let level: readonly DigestList[] = lists
  for (let depth = 0; depth < MOST_LEVELS; depth += 1) {
    // One list can be named many times, so they are counted before they are joined.
    if (level.reduce((sum, list) => sum + digestsIn(list).length, 0) > limits.skills) throw tooMany(limits)
    const named = level.flatMap(digestsIn)
    if (level.every((list) => 'items' in list)) return named
    // The lists of one level are alike, so that their order is that of their items.
    if (level.some((list) => 'items' in list)) throw refusal('a list')
    level = await parsed(named, read, parseList, 'a list')
  }
  throw refusal('a list in lists')
}

function digestsIn(list: DigestList): readonly Digest[] {
  return 'items' in list ? list.items : list.lists
}

/** Room for 64 to the fifth items. */
const MOST_LEVELS = 5

/** Returns the parsed objects, in this order. One that is named many times is read and parsed once. */
async function parsed<Value>(
  digests: readonly Digest[],
  read: ReadObjects,
  parse: (bytes: Uint8Array) => Value | undefined,
  what: string,
): Promise<Value[]> {
  const distinct = [...new Set(digests)]
  const values = new Map<Digest, Value>()
  for await (const bytes of read(distinct)) {
    const value = parse(bytes)
    const digest = distinct[values.size]
    if (value === undefined || digest === undefined) throw refusal(what)
    values.set(digest, value)
  }
  return digests.flatMap((digest) => {
    const value = values.get(digest)
    return value === undefined ? [] : [value]
  })
}

function refusal(what: string): SyncError {
  return new SyncError('content-refused', `Cannot take the channel: ${what} has the wrong form`)
}

function tooMany({ skills }: ChannelLimits): SyncError {
  return new SyncError('limit-exceeded', `Cannot take the channel: it has over ${skills} skills`, { fix: ASK_HUB })
}
