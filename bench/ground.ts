import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../test/support/temporary.ts'
import type { Extent } from './figure.ts'
import { makeSkills } from './skills.ts'
import { serveSkills } from './upstream.ts'
import type { ServedSkills } from './upstream.ts'

const run = promisify(execFile)

/** What the figures of one run share: repositories that take long to make, and a disk from which nothing is removed before the end. */
export class Ground implements Extent, AsyncDisposable {
  readonly quick: boolean
  readonly #folder: Awaited<ReturnType<typeof temporaryFolder>>
  readonly #served = new Map<number, Promise<ServedSkills>>()
  #folders = 0

  private constructor(quick: boolean, folder: Awaited<ReturnType<typeof temporaryFolder>>) {
    this.quick = quick
    this.#folder = folder
  }

  static async open({ quick }: Extent): Promise<Ground> {
    return new Ground(quick, await temporaryFolder())
  }

  /** The repository of so many skills. It is made once, and may have commits of others on top. */
  async skills(count: number): Promise<ServedSkills> {
    const served = this.#served.get(count) ?? serveSkills(makeSkills(count))
    this.#served.set(count, served)
    return served
  }

  /**
   * An empty folder that was nobody's before. ext4 takes up to ten times as long to make files where many were removed in the
   * last minutes, so nobody removes any. What others have written is on the disk by then: nobody pays for them either.
   */
  async fresh(): Promise<string> {
    this.#folders += 1
    const folder = join(this.#folder.path, String(this.#folders))
    await mkdir(folder)
    await run('sync', ['-f', folder])
    return folder
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#served.values()].map(async (served) => (await served)[Symbol.asyncDispose]()))
    // A million files are many for Node's own way; what this leaves the other takes.
    await run('rm', ['-rf', this.#folder.path]).catch(() => {})
    await this.#folder[Symbol.asyncDispose]()
  }
}
