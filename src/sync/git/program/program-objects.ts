import { formatOf, type ObjectId } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { TakenBlob } from '../../model/tree.ts'
import { objectIdOf, type GitObject, type ObjectType } from '../../upstream/objects/git-object.ts'
import type { FetchLimits, Relation } from '../../upstream/upstream.ts'
import { readRelation } from '../objects/ancestry.ts'
import {
  ABSENT,
  objectBytesOf,
  tooLarge,
  type KeepBlob,
  type LargeObject,
  type ObjectSource,
} from '../objects/object-source.ts'

/** The objects that `git cat-file --batch` prints. `ProgramSupply` has fetched them and checked their sizes before. */
export class ProgramObjects implements ObjectSource {
  readonly #from: Printed
  readonly #to: NodeJS.WritableStream
  readonly #most: number

  constructor(from: NodeJS.ReadableStream, to: NodeJS.WritableStream, limits: FetchLimits) {
    this.#from = new Printed(from)
    this.#to = to
    this.#most = Math.max(limits.blobBytes, objectBytesOf(limits))
  }

  async open(): Promise<void> {}

  async read(id: ObjectId): Promise<GitObject | LargeObject | undefined> {
    this.#to.write(`${id}\n`)
    return this.#next(id)
  }

  async relation(from: ObjectId, to: ObjectId): Promise<Relation> {
    return readRelation(from, to, (id) => this.read(id))
  }

  async take(blobs: readonly ObjectId[], keep: KeepBlob): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
    const taken = new Map<ObjectId, TakenBlob>()
    // Requested together and read one by one: git waits while the worker writes files.
    if (blobs.length > 0) this.#to.write(blobs.map((id) => `${id}\n`).join(''))
    for (const id of blobs) {
      const object = await this.#next(id)
      if (object?.type === 'too-large') taken.set(id, tooLarge(object.size))
      else taken.set(id, object?.type === 'blob' ? keep(id, object.bytes) : ABSENT)
    }
    return taken
  }

  /** Parses `<id> <type> <size>`, the bytes and a line break; or one line of two words. */
  async #next(id: ObjectId): Promise<GitObject | LargeObject | undefined> {
    const [found, type = '', size] = (await this.#from.line()).split(' ')
    if (size === undefined) return undefined
    const length = Number(size)
    if (!isType(type) || !Number.isSafeInteger(length)) throw damageError(id)
    if (length > this.#most) {
      await this.#from.pass(length + 1)
      return { type: 'too-large', size: length }
    }
    const bytes = await this.#from.bytes(length)
    await this.#from.bytes(1)
    const object = { type, bytes }
    // A name that is not an id of the repository can still lead git to an object.
    if (found !== id) return undefined
    if (objectIdOf(object, formatOf(id)) !== id) throw damageError(id)
    return object
  }
}

const TYPES = { commit: true, tree: true, blob: true, tag: true } satisfies Record<ObjectType, true>

function isType(text: string): text is ObjectType {
  return Object.hasOwn(TYPES, text)
}

function damageError(id: ObjectId): SyncError {
  return new SyncError('content-refused', `Cannot read ${id}: the object is damaged`)
}

/** git ended before it printed all requested objects. The main thread sees the exit and knows the reason. */
export class ProgramEnded extends SyncError {
  constructor() {
    super('source-unreachable', 'Cannot read the objects: git ended before it gave all of them')
  }
}

/** The output of a program, by lines and by byte counts. */
class Printed {
  readonly #parts: AsyncIterator<string | Buffer>
  #held: Buffer = Buffer.alloc(0)

  constructor(from: NodeJS.ReadableStream) {
    this.#parts = from[Symbol.asyncIterator]()
  }

  async line(): Promise<string> {
    for (;;) {
      const end = this.#held.indexOf('\n')
      if (end >= 0) {
        const line = this.#held.toString('latin1', 0, end)
        this.#held = this.#held.subarray(end + 1)
        return line
      }
      if (this.#held.length > LINE_BYTES)
        throw new SyncError(
          'source-unreachable',
          `Cannot read what git prints: it has a line of over ${LINE_BYTES} bytes`,
          {
            fix: NO_GIT,
          },
        )
      this.#held = Buffer.concat([this.#held, await this.#more()])
    }
  }

  async bytes(length: number): Promise<Buffer> {
    const parts = [this.#held]
    let held = this.#held.length
    while (held < length) {
      const part = await this.#more()
      parts.push(part)
      held += part.length
    }
    const all = parts.length === 1 ? this.#held : Buffer.concat(parts)
    this.#held = all.subarray(length)
    return all.subarray(0, length)
  }

  /** Skips bytes without holding them. */
  async pass(length: number): Promise<void> {
    let left = length
    while (left > this.#held.length) {
      left -= this.#held.length
      this.#held = await this.#more()
    }
    this.#held = this.#held.subarray(left)
  }

  async #more(): Promise<Buffer> {
    const { value, done } = await this.#parts.next()
    if (done === true) throw new ProgramEnded()
    return Buffer.from(value)
  }
}

const LINE_BYTES = 4096

/** The next step after output that git does not print, whatever the repository has. */
export const NO_GIT = 'Check the program that `programs.git` names'
