import type { Skill } from '../../../sync/model/skill.ts'
import type { Digest } from '../../../sync/store/objects/object-store.ts'
import { ProofRefusedError } from '../log/tlog-proof.ts'
import { parseHead, parseList, parseSkills, parseSource } from './channel-schema.ts'
import type { DigestList, PublishedSource } from './channel-schema.ts'

/** A source of a channel, or one of its skills, with the objects from the head down to it. */
export interface FoundInChannel {
  readonly source: PublishedSource
  /** `undefined` for the source itself, which comes before its skills. */
  readonly skill: Skill | undefined
  readonly path: readonly Digest[]
}

/** Returns the bytes of an object, which have this digest; `undefined` for one that is passed over. */
export type ReadOrSkip = (digest: Digest) => Promise<Uint8Array | undefined>

/**
 * Finds the sources of a head and their skills, without those below objects that are passed over. Throws `ProofRefusedError` if
 * an object has another form, or if more is named than any channel has.
 */
export async function* findInChannel(head: Digest, read: ReadOrSkip): AsyncGenerator<FoundInChannel> {
  const bytes = await read(head)
  if (bytes === undefined) throw new ProofRefusedError('the object that the entry names is not there')
  const counter = new Counter()
  const walk: Walk = { read, count: (more) => counter.add(more), lists: new Map() }
  for await (const { digest, bytes: own, path } of itemsOf(expected(parseHead(bytes), 'head').sources, [head], walk)) {
    const source = expected(parseSource(own), 'source')
    const below = [...path, digest]
    yield { source, skill: undefined, path: below }
    for await (const list of itemsOf(source.skills, below, walk)) {
      // One list can be that of many sources.
      const skills = walk.lists.get(list.digest) ?? expected(parseSkills(list.bytes), 'list of skills')
      walk.lists.set(list.digest, skills)
      walk.count(skills.length)
      for (const skill of skills) yield { source, skill, path: [...list.path, list.digest] }
    }
  }
}

interface Walk {
  readonly read: ReadOrSkip
  readonly count: (more: number) => void
  readonly lists: Map<Digest, readonly Skill[]>
}

class Counter {
  #left = MOST_NAMED

  add(more: number): void {
    this.#left -= more
    if (this.#left < 0) throw new ProofRefusedError(`it names over ${MOST_NAMED} objects and skills`)
  }
}

interface FoundItem {
  readonly digest: Digest
  readonly bytes: Uint8Array
  /** The objects above it. */
  readonly path: readonly Digest[]
}

async function* itemsOf(list: DigestList, path: readonly Digest[], walk: Walk): AsyncGenerator<FoundItem> {
  if (path.length > MOST_LEVELS) throw new ProofRefusedError('it has lists in lists')
  const named = 'items' in list ? list.items : list.lists
  walk.count(named.length)
  for (const digest of named) {
    const bytes = await walk.read(digest)
    if (bytes === undefined) continue
    if ('items' in list) yield { digest, bytes, path }
    else yield* itemsOf(expected(parseList(bytes), 'list'), [...path, digest], walk)
  }
}

function expected<Value>(value: Value | undefined, kind: string): Value {
  if (value !== undefined) return value
  throw new ProofRefusedError(`an object that must be a ${kind} has another form`)
}

/** Five levels of lists for the sources, as many for the skills, and the objects between them. */
const MOST_LEVELS = 12

/** One object can be named many times, so they are counted as often. */
const MOST_NAMED = 1_000_000
