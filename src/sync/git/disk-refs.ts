import { constants } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { inParallel, WIDTH } from '../../base/async/parallel.ts'
import { isObjectId, type ObjectId } from '../model/revision.ts'
import { isSystemError, SyncError } from '../model/sync-error.ts'
import { FEWER_REFS, type Ref } from './objects/ref-rules.ts'

/**
 * The refs of a local repository in git's format `files` (gitrepository-layout): each is a file, or a line of
 * `packed-refs`. For one ref that file is searched and not parsed, since it may have tens of thousands of lines.
 */
export class DiskRefs {
  readonly #gitdir: string
  #packed: PackedRefs | undefined

  /** The object reads `packed-refs` once, and again only after it has changed. */
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

  /** Returns the refs in a folder of refs such as `refs/tags/` whose full names have this prefix, in no order. */
  async refsBelow(folder: string, prefix = folder): Promise<readonly Ref[]> {
    const loose = (await this.#looseNames(folder)).filter((name) => name.startsWith(prefix))
    // A packed ref was a file before, so the files are listed first: a ref that is packed meanwhile is found once.
    const found = new Map(packedIn(await this.#packedRefs(), prefix).map((ref) => [ref.name, ref]))
    const lookUp = async (name: string): Promise<void> => {
      const ref = await this.ref(name)
      if (ref === undefined) found.delete(name)
      else found.set(name, ref)
    }
    await inParallel(loose, WIDTH, lookUp, NEVER)
    return [...found.values()]
  }

  async #looseNames(folder: string): Promise<readonly string[]> {
    const entries = await unlessAbsent(readdir(join(this.#gitdir, folder), { recursive: true, withFileTypes: true }))
    const files = (entries ?? []).filter((entry) => entry.isFile())
    return files.map(({ parentPath, name }) => join(parentPath, name).slice(join(this.#gitdir, '/').length))
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

  /**
   * Returns the file as it is now. `git pack-refs` writes it before it removes the files of refs, so a ref whose file is
   * gone is in it, but may not be in what was read before.
   */
  async #packedRefs(): Promise<Buffer> {
    const path = join(this.#gitdir, 'packed-refs')
    const version = await versionOf(path)
    if (this.#packed === undefined || this.#packed.version !== version)
      this.#packed = { version, reading: unlessAbsent(wholeOf(path)).then((bytes) => bytes ?? NONE) }
    return this.#packed.reading
  }
}

/** The bytes of `packed-refs` at one moment. */
interface PackedRefs {
  readonly version: string | undefined
  readonly reading: Promise<Buffer>
}

/** Changes when the file is replaced. `undefined` if there is none. */
async function versionOf(path: string): Promise<string | undefined> {
  const stats = await unlessAbsent(stat(path, { bigint: true }))
  return stats && [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ')
}

function packedIn(packed: Buffer, prefix: string): readonly Ref[] {
  const refs: Ref[] = []
  for (const [, id = '', name = ''] of packed.toString('utf8').matchAll(PACKED))
    if (name.startsWith(prefix) && REF_NAME.test(name) && isObjectId(id)) refs.push({ name, id })
  return refs
}

const NONE = Buffer.alloc(0)

const NEVER = new AbortController().signal

/** The limit of git for refs that lead to refs. */
const MOST_SYMBOLIC = 5
const SYMBOLIC = /^ref: *(?<target>\S.*)$/
/** A line of `packed-refs` that is neither a comment nor the object of the tag before it. */
const PACKED = /^(\S+) (.+)$/gm

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
    throw new SyncError('limit-exceeded', `Cannot read "${path}": it is over ${PACKED_BYTES} bytes`, {
      fix: FEWER_REFS,
    })
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
