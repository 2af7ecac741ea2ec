import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isObjectId, type ObjectId } from '../../model/revision.ts'
import { isSystemError, SyncError } from '../../model/sync-error.ts'
import type { Ref } from './objects/ref-rules.ts'

/**
 * The refs of a local repository in git's format `files` (gitrepository-layout): each is a file, or a line of
 * `packed-refs`. That file is searched, not parsed, since it may have tens of thousands of lines.
 */
export class DiskRefs {
  readonly #gitdir: string
  #packed: Promise<Buffer> | undefined

  /** For one look: what `packed-refs` holds is read once. */
  constructor(gitdir: string) {
    this.#gitdir = gitdir
  }

  /** Returns the ref; `undefined` if there is none of this name, or if it leads to no object. */
  async ref(name: string): Promise<Ref | undefined> {
    const found = await this.#resolve(name, MOST_SYMBOLIC)
    if (found === undefined) return undefined
    const { id, target } = found
    return name === 'HEAD' && target !== undefined ? { name, id, target } : { name, id }
  }

  /** Returns the full names that begin with a folder of refs such as `refs/tags/`, in no order. */
  async names(folder: string): Promise<readonly string[]> {
    const loose = await unlessAbsent(readdir(join(this.#gitdir, folder), { recursive: true, withFileTypes: true }))
    const files = (loose ?? []).filter((entry) => entry.isFile())
    const below = files.map(({ parentPath, name }) => join(parentPath, name).slice(join(this.#gitdir, '/').length))
    const packed = (await this.#packedRefs()).toString('utf8').matchAll(PACKED)
    const names = [...below, ...Array.from(packed, ([, name = '']) => name)]
    return [...new Set(names)].filter((name) => name.startsWith(folder) && REF_NAME.test(name))
  }

  async #resolve(name: string, left: number): Promise<{ readonly id: ObjectId; readonly target?: string } | undefined> {
    // The name becomes part of a path here, so an invalid ref name is never looked up.
    if (!REF_NAME.test(name)) return undefined
    const text = await this.#looseText(name)
    if (text === undefined) {
      const id = await this.#packedId(name)
      return id && { id }
    }
    const target = SYMBOLIC.exec(text)?.groups?.['target']
    if (target === undefined) return isObjectId(text) ? { id: text } : undefined
    const found = left === 0 ? undefined : await this.#resolve(target, left - 1)
    return found && { id: found.id, target }
  }

  async #looseText(name: string): Promise<string | undefined> {
    const text = await unlessAbsent(startOf(join(this.#gitdir, name)))
    return text?.trim()
  }

  async #packedId(name: string): Promise<ObjectId | undefined> {
    const packed = await this.#packedRefs()
    const at = packed.indexOf(` ${name}\n`)
    const id = packed.toString('latin1', packed.lastIndexOf('\n', at) + 1, Math.max(at, 0))
    return isObjectId(id) ? id : undefined
  }

  #packedRefs(): Promise<Buffer> {
    return (this.#packed ??= unlessAbsent(wholeOf(join(this.#gitdir, 'packed-refs'))).then((bytes) => bytes ?? NONE))
  }
}

const NONE = Buffer.alloc(0)

/** The limit of git for refs that lead to refs. */
const MOST_SYMBOLIC = 5
const SYMBOLIC = /^ref: *(?<target>\S.*)$/
/** A line of `packed-refs` that is neither a comment nor the object of the tag before it. */
const PACKED = /^[0-9a-f]{40,64} (.+)$/gm

/** The rules of `git check-ref-format` that matter for a path. */
const REF_NAME = /^(?!.*(?:\.\.|\/\/|\/\.|\.lock(?:\/|$)))[^\p{Cc} ~^:?*[\\]+(?<![/.])$/u

/** The beginning of a file, which for a ref is all of it. */
async function startOf(path: string): Promise<string> {
  // Without a writer, opening a pipe for reading would wait for ever.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(REF_BYTES) })
  return buffer.toString('utf8', 0, bytesRead)
}

/** Longer than the longest ref name that a file system takes. */
const REF_BYTES = 8_192

async function wholeOf(path: string): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const { size } = await file.stat()
  if (size > PACKED_BYTES)
    throw new SyncError('limit-exceeded', `Cannot read "${path}": it is over ${PACKED_BYTES} bytes`)
  return await file.readFile()
}

/** Some two million refs. */
const PACKED_BYTES = 2 ** 27

/** `undefined` if there is no such file. A folder of this name holds longer names. */
async function unlessAbsent<Value>(looking: Promise<Value>): Promise<Value | undefined> {
  return looking.catch((error: unknown) => {
    if (isSystemError(error) && ABSENT.has(String(error.code))) return undefined
    throw error
  })
}

const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR'])
