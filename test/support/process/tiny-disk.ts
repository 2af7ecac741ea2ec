import { execFile } from 'node:child_process'
import { cp, mkdir, open, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { isDiskError } from '../../../src/sync/store/files/disk-error.ts'
import { Program } from './program.ts'
import type { Home } from './program.ts'

const run = promisify(execFile)

/** What fits on a disk. */
interface Size {
  readonly bytes: number
  readonly inodes: number
}

/** Enough for a few generations of a small source. */
const SMALL: Size = { bytes: 4 * 2 ** 20, inodes: 2_000 }

/**
 * A small disk in memory, in a mount namespace of its own: what is started in the home sees it, and this machine does not.
 * It is gone with the last process in the namespace.
 */
export class TinyDisk {
  readonly #holder: Program
  readonly #folder: string

  private constructor(holder: Program, folder: string) {
    this.#holder = holder
    this.#folder = folder
  }

  /** Why there can be none here, or undefined. */
  static async obstacle(): Promise<string | undefined> {
    if (process.platform !== 'linux') return 'only Linux has mount namespaces'
    if (process.getuid?.() !== 0) return 'only root can mount a small disk'
    return run('unshare', ['--mount', '--propagation', 'private', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).then(
      () => undefined,
      (error: Error) => `this machine allows no mount namespaces: ${error.message.replaceAll('\n', ' ')}`,
    )
  }

  /** Puts one in the place of a folder, with what is in it. What is started in the home from now on sees it there. */
  static async at(home: Home, folder: string, { bytes, inodes }: Size = SMALL): Promise<TinyDisk> {
    const disk = await TinyDisk.#mounted(home, folder, `mount -t tmpfs -o size=${bytes},nr_inodes=${inodes} tmpfs "$0"`)
    await cp(folder, disk.path(), { recursive: true })
    return disk
  }

  /** Puts an overlay in the place of a folder, as an image that has all that is in it by now would. */
  static async over(home: Home, folder: string): Promise<TinyDisk> {
    const layers = [
      'aside=$(mktemp -d)',
      'mount -t tmpfs tmpfs "$aside"',
      'mkdir "$aside/lower" "$aside/upper" "$aside/work"',
      'cp -a "$0/." "$aside/lower"',
      'mount -t overlay -o "lowerdir=$aside/lower,upperdir=$aside/upper,workdir=$aside/work,redirect_dir=off" overlay "$0"',
    ]
    return TinyDisk.#mounted(home, folder, layers.join(' && '))
  }

  static async #mounted(home: Home, folder: string, mount: string): Promise<TinyDisk> {
    await mkdir(folder, { recursive: true })
    const script = `${mount} && echo mounted && exec cat >/dev/null`
    const args = ['--mount', '--propagation', 'private', 'sh', '-c', script, folder]
    const holder = new Program('unshare', args, home)
    onTestFinished(async () => {
      // It waits for the end of what it is told.
      holder.process.stdin.end()
      await holder.ended()
    })
    await holder.line()
    home.under = ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, `--wd=${home.path}`, '--']
    return new TinyDisk(holder, folder)
  }

  /** Where something of it is seen from here. */
  path(...names: readonly string[]): string {
    return join(`/proc/${this.#holder.pid}/root`, this.#folder, ...names)
  }

  /** Fills it up to so many bytes. */
  async leaveBytes(room: number): Promise<void> {
    await this.free()
    await writeFile(this.#ballast, Buffer.alloc((await this.room()) - room))
  }

  /** Fills it, also while others write to it. */
  async fill(): Promise<void> {
    await using file = await open(this.#ballast, 'a')
    try {
      for (;;) await file.write(Buffer.alloc(BLOCK))
    } catch (error) {
      if (!isDiskError(error, 'ENOSPC')) throw error
    }
  }

  /** Fills it with files, up to so many. */
  async leaveInodes(room: number): Promise<void> {
    await this.free()
    await mkdir(this.#ballast)
    let count = 0
    while (await addFile(join(this.#ballast, `${count}`))) count += 1
    for (let file = count - room; file < count; file += 1) await rm(join(this.#ballast, `${file}`))
  }

  /** How many bytes there are left. */
  async room(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path())
    return bavail * bsize
  }

  /** Removes what it was filled with. */
  async free(): Promise<void> {
    await rm(this.#ballast, { recursive: true, force: true })
  }

  /** From now on nobody can write to it. What is open for writing by now stays so. */
  async closeToWriting(): Promise<void> {
    // A mount with such a file cannot be made read-only; one that lies over it can, if it comes there as such.
    const over = [
      'aside=$(mktemp -d)',
      'mount --bind "$0" "$aside"',
      'mount -o remount,bind,ro "$aside"',
      'mount --move "$aside" "$0"',
      'rmdir "$aside"',
    ]
    await this.#inside('sh', '-c', over.join(' && '), this.#folder)
  }

  async openToWriting(): Promise<void> {
    await this.#inside('umount', '--lazy', this.#folder)
  }

  get #ballast(): string {
    return this.path('ballast')
  }

  async #inside(...command: readonly string[]): Promise<void> {
    await run('nsenter', [`--mount=/proc/${this.#holder.pid}/ns/mnt`, '--', ...command])
  }
}

const BLOCK = 2 ** 16

/** Says whether it was done: not where the disk takes no more files. */
async function addFile(file: string): Promise<boolean> {
  return writeFile(file, '').then(
    () => true,
    (error: unknown) => {
      if (isDiskError(error, 'ENOSPC')) return false
      throw error
    },
  )
}
