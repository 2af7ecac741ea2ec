import { createHash, hash } from 'node:crypto'
import { isObjectId, type ObjectFormat, type ObjectId } from '../../model/revision.ts'

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'

/** A git object: its type and its bytes, without the header, which only the hash includes. */
export interface GitObject {
  readonly type: ObjectType
  readonly bytes: Buffer
}

/** The length of a binary id, as in trees and packs. */
export const ID_BYTES: Readonly<Record<ObjectFormat, number>> = { sha1: 20, sha256: 32 }

/** Returns the id of the object. */
export function objectIdOf({ type, bytes }: GitObject, format: ObjectFormat): ObjectId {
  if (bytes.length > MOST_JOINED) return createObjectHash(type, bytes.length, format).update(bytes).objectId()
  // A hash in one call takes half the time of a `Hash`, copying included.
  const start = JOINED.write(headerOf(type, bytes.length), 'latin1')
  JOINED.set(bytes, start)
  return checkId(hash(format, JOINED.subarray(0, start + bytes.length)))
}

/** Most files of skills are smaller. Of a larger object the hashing itself takes longer than what one call saves. */
const MOST_JOINED = 2 ** 15
const LONGEST_HEADER = 32
const JOINED = Buffer.alloc(LONGEST_HEADER + MOST_JOINED)

/** Creates a hash for an object that arrives in pieces. */
export function createObjectHash(type: ObjectType, size: number, format: ObjectFormat) {
  const state = createHash(format).update(headerOf(type, size))
  return {
    update(bytes: Uint8Array) {
      state.update(bytes)
      return this
    },
    objectId(): ObjectId {
      return checkId(state.digest('hex'))
    },
  }
}

/** The start of the hashed bytes. */
function headerOf(type: ObjectType, size: number): string {
  return `${type} ${size}\0`
}

/** Returns the tree of a commit object; `undefined` if it names none. */
export function treeOfCommit(commit: Buffer): ObjectId | undefined {
  return namedIn(commit, /^tree ([0-9a-f]+)\n/)
}

/** Returns the target of a tag object; `undefined` if it names none. */
export function targetOfTag(tag: Buffer): ObjectId | undefined {
  return namedIn(tag, /^object ([0-9a-f]+)\n/)
}

/** Returns the parents of a commit object, first parent first. */
export function parentsOf(commit: Uint8Array): readonly ObjectId[] {
  const text = Buffer.from(commit.buffer, commit.byteOffset, commit.byteLength).toString('latin1')
  const parent = /parent ([0-9a-f]+)\n/y
  // The parent lines follow the tree line, which is always there. The same words in a message do not count.
  parent.lastIndex = text.indexOf('\n') + 1
  const parents: ObjectId[] = []
  for (let id = parent.exec(text)?.[1]; id !== undefined && isObjectId(id); id = parent.exec(text)?.[1])
    parents.push(id)
  return parents
}

/**
 * Returns the committer date in seconds since 1970; `undefined` if there is none. Old importers wrote time zones of
 * three digits, and left out the space before the date.
 */
export function committedSeconds(commit: Uint8Array): number | undefined {
  const text = Buffer.from(commit.buffer, commit.byteOffset, Math.min(commit.byteLength, HEADER_BYTES)).toString(
    'latin1',
  )
  const headers = text.split('\n\n', 1)[0] ?? ''
  const seconds = /^committer [^\n]*> *([0-9]{1,19}) +[+-][0-9]+$/m.exec(headers)?.[1]
  return seconds === undefined ? undefined : Number(seconds)
}

/** Enough for the tree, the parents and two names; a signature may follow. */
const HEADER_BYTES = 65_536

function namedIn(bytes: Buffer, shape: RegExp): ObjectId | undefined {
  const id = shape.exec(bytes.toString('latin1', 0, 80))?.[1]
  return id !== undefined && isObjectId(id) ? id : undefined
}

function checkId(id: string): ObjectId {
  if (!isObjectId(id)) throw new TypeError(`"${id}" is not an object id`)
  return id
}
