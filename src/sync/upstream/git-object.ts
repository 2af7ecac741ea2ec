import { createHash } from 'node:crypto'
import { isObjectId, type ObjectId } from '../model/revision.ts'

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'

/** What an id stands for: the bytes after the header that only the hash sees. */
export interface GitObject {
  readonly type: ObjectType
  readonly bytes: Buffer
}

/** The id that belongs to the object. */
export function idOf({ type, bytes }: GitObject): ObjectId {
  const hash = createObjectHash(type, bytes.length)
  return hash.update(bytes).objectId()
}

/** A hash of an object that comes in pieces. */
export function createObjectHash(type: ObjectType, size: number) {
  const hash = createHash('sha1').update(`${type} ${size}\0`)
  return {
    update(bytes: Uint8Array) {
      hash.update(bytes)
      return this
    },
    objectId(): ObjectId {
      return checked(hash.digest('hex'))
    },
  }
}

/** The tree of a commit object; undefined if it names none. */
export function treeOfCommit(commit: Buffer): ObjectId | undefined {
  return headerOf(commit, /^tree ([0-9a-f]{40})\n/)
}

/** The commits that a commit names as its parents, in its order. */
export function parentsOf(commit: Buffer): ObjectId[] {
  const header = commit.toString('latin1', 0, Math.max(0, commit.indexOf('\n\n')))
  return [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].flatMap(([, id]) =>
    id !== undefined && isObjectId(id) ? [id] : [],
  )
}

/** What a tag object points to; undefined if it names nothing. */
export function targetOfTag(tag: Buffer): ObjectId | undefined {
  return headerOf(tag, /^object ([0-9a-f]{40})\n/)
}

function headerOf(bytes: Buffer, shape: RegExp): ObjectId | undefined {
  const id = shape.exec(bytes.toString('latin1', 0, 64))?.[1]
  return id !== undefined && isObjectId(id) ? id : undefined
}

function checked(id: string): ObjectId {
  if (!isObjectId(id)) throw new TypeError(`"${id}" is no object id`)
  return id
}
