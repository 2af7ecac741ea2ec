import { constants, existsSync } from 'node:fs'
import type { BigIntStats, Dirent } from 'node:fs'
import { lstat, open, opendir, readlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

/**
 * An open folder on this disk. On Linux, all access goes through its descriptor: a link that replaces a parent folder
 * meanwhile has no effect. Names are raw bytes, written as Latin-1.
 */
export class OpenFolder implements AsyncDisposable {
  readonly #handle: FileHandle
  readonly #path: Buffer
  readonly #followed: FollowedLinks | undefined

  private constructor(handle: FileHandle, path: Buffer, followed: FollowedLinks | undefined) {
    this.#handle = handle
    this.#followed = followed
    this.#path = IS_ANCHORED ? Buffer.from(`/proc/self/fd/${handle.fd}`) : path
  }

  /** `followed`: links in it that are opened as their target folders. */
  static async open(path: string | Buffer, followed?: FollowedLinks): Promise<OpenFolder> {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
    return new OpenFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), Buffer.from(path), followed)
  }

  async folder(name: string): Promise<OpenFolder> {
    return OpenFolder.open(this.#followed?.get(name) ?? this.#at(name))
  }

  /** Opens a file in it. Does not block on a pipe that replaced the file. */
  async file(name: string): Promise<FileHandle> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    return open(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }

  async entries(): Promise<AsyncIterable<Dirent>> {
    return opendir(this.#path, { encoding: 'latin1', bufferSize: 256 })
  }

  async stat(name: string): Promise<BigIntStats> {
    return lstat(this.#at(name), { bigint: true })
  }

  async link(name: string): Promise<Buffer> {
    return readlink(this.#at(name), { encoding: 'buffer' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }

  #at(name: string): Buffer {
    return Buffer.concat([this.#path, SLASH, Buffer.from(name, 'latin1')])
  }
}

/** True if the entry is gone, or has become something else. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO', 'EMLINK'].includes(diskCodeOf(error) ?? '')
}

/** True if this process lacks the permission. */
export function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(diskCodeOf(error) ?? '')
}

/** Returns the code of an operating system error; `undefined` for any other error. */
export function diskCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** A handler for `.catch`: an entry that cannot be accessed counts as missing. */
export function undefinedIfAway(error: unknown): undefined {
  if (diskCodeOf(error) === undefined) throw error
  return undefined
}

const SLASH = Buffer.from('/')

/** On other systems the path is resolved at each access, and only its last component is protected against links. */
const IS_ANCHORED = process.platform === 'linux' && existsSync('/proc/self/fd')

/** Links in a folder that are read as their target folders: real paths by link name, both raw. */
export type FollowedLinks = ReadonlyMap<string, Buffer>
