import { inSlices } from '../../../base/async/cooperative.ts'
import { Damaged, undefinedIfDamaged } from '../../../sync/model/sync-error.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { parseHead, parseList, parseSkills, parseSource } from './channel-schema.ts'
import type { DigestList, PublishedSource } from './channel-schema.ts'

/** An object of a channel. A file of a skill is any bytes; each other kind names further objects. */
interface ChannelObject {
  readonly digest: Digest
  readonly kind: 'head' | 'recalls' | 'sources' | 'source' | 'parts' | 'skills' | 'file'
}

/**
 * Finds the objects of heads of channels: these, and all that they name, directly or not. Of a head that is not whole in
 * the store, those that are found. `onSkills` is called with each list of skills among them.
 */
export async function objectsOf(
  heads: Iterable<Digest>,
  objects: Pick<ObjectStore, 'get'>,
  signal?: AbortSignal,
  onSkills?: (list: Digest) => void,
): Promise<Set<Digest>> {
  const files = new Set<Digest>()
  // Apart from the files: one that has the bytes of a list names nothing.
  const walked = new Set<Digest>()
  const visit = async ({ digest, kind }: ChannelObject): Promise<void> => {
    if (kind === 'file' || kind === 'recalls') return void files.add(digest)
    if (walked.has(digest)) return
    await inSlices(namedIn(kind, await expectObject(objects, digest)), visit, signal)
    walked.add(digest)
    if (kind === 'skills') onSkills?.(digest)
  }
  for (const head of heads) await visit({ digest: head, kind: 'head' }).catch(undefinedIfDamaged)
  return files.union(walked)
}

/** The sources that a stored head names. Throws `Damaged` if an object is not in the store, or is not of its kind. */
export async function publishedSourcesIn(
  head: Digest,
  objects: Pick<ObjectStore, 'get'>,
): Promise<readonly PublishedSource[]> {
  const sources: PublishedSource[] = []
  const visit = async ({ digest, kind }: ChannelObject): Promise<void> => {
    const bytes = await expectObject(objects, digest)
    if (kind === 'source') sources.push(expected(parseSource(bytes), kind))
    else if (kind === 'head' || kind === 'sources') for (const one of namedIn(kind, bytes)) await visit(one)
  }
  await visit({ digest: head, kind: 'head' })
  return sources
}

/** The objects that an object names. Throws `Damaged` if it is not of its kind. */
function namedIn(
  kind: Exclude<ChannelObject['kind'], 'file' | 'recalls'>,
  bytes: Uint8Array,
): readonly ChannelObject[] {
  switch (kind) {
    case 'head': {
      const { sources, recalls } = expected(parseHead(bytes), kind)
      const listed = namedBy(sources, 'source', 'sources')
      return recalls === undefined ? listed : [...listed, { digest: recalls, kind: 'recalls' }]
    }
    case 'sources':
      return namedBy(expected(parseList(bytes), kind), 'source', 'sources')
    case 'source':
      return namedBy(expected(parseSource(bytes), kind).skills, 'skills', 'parts')
    case 'parts':
      return namedBy(expected(parseList(bytes), kind), 'skills', 'parts')
    case 'skills':
      return expected(parseSkills(bytes), kind)
        .flatMap(({ files }) => files)
        .map(({ sha256 }) => ({ digest: sha256, kind: 'file' }))
    default:
      return kind satisfies never
  }
}

function namedBy(
  list: DigestList,
  item: ChannelObject['kind'],
  sublist: ChannelObject['kind'],
): readonly ChannelObject[] {
  if ('items' in list) return list.items.map((digest) => ({ digest, kind: item }))
  return list.lists.map((digest) => ({ digest, kind: sublist }))
}

function expected<Value>(value: Value | undefined, kind: string): Value {
  if (value !== undefined) return value
  throw new Damaged(`Cannot read the channel: an object of the kind "${kind}" has the wrong form`)
}

/** Reads an object that must be there. */
export async function expectObject(objects: Pick<ObjectStore, 'get'>, digest: Digest): Promise<Uint8Array> {
  const bytes = await objects.get(digest)
  if (bytes === undefined) throw new Damaged(`Cannot read the object "${digest}" of a channel: it is not in the store`)
  return bytes
}
