import { constants, existsSync } from 'node:fs'
import type { BigIntStats, Dirent } from 'node:fs'
import { lstat, open, opendir, readlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { FollowedLinks } from './folder-links.ts'

/**
 * A folder of this disk, held open. On Linux what is reached through it lies in it, whatever becomes of its path meanwhile:
 * nobody can put a link in the place of a folder above. Names are raw bytes, written as Latin-1.
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

  /** `followed`: links in it that are opened as the folders that they lead to. */
  static async open(path: string | Buffer, followed?: FollowedLinks): Promise<OpenFolder> {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
    return new OpenFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), Buffer.from(path), followed)
  }

  async folder(name: string): Promise<OpenFolder> {
    return OpenFolder.open(this.#followed?.get(name) ?? this.#at(name))
  }

  /** A file in it. A pipe that took its place is not waited for. */
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

/** Something is not there any more, or is something else than it was a moment before. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO', 'EMLINK'].includes(diskCodeOf(error) ?? '')
}

/** We may not look at it. */
export function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(diskCodeOf(error) ?? '')
}

/** What the operating system says; undefined for what does not come from there. */
export function diskCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** For `.catch` on a look at the disk: what cannot be looked at counts as not there. */
export function undefinedIfAway(error: unknown): undefined {
  if (diskCodeOf(error) === undefined) throw error
  return undefined
}

const SLASH = Buffer.from('/')

/** Elsewhere the path is looked up anew each time, and only its last name is kept from being a link. */
const IS_ANCHORED = process.platform === 'linux' && existsSync('/proc/self/fd')
