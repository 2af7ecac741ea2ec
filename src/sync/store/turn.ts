import { open, rm, stat, type FileHandle } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'

/** The turn of one of several processes that change the same thing: whoever made the file first has it, until disposed. */
export class Turn implements AsyncDisposable {
  readonly path: string
  /** The file, open for writing. */
  readonly handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.path = path
    this.handle = handle
  }

  /** Waits for those that have it. Of one that has had it for ten seconds it is taken away: it is short, or of the dead. */
  static async take(path: string, now: () => number): Promise<Turn> {
    for (;;) {
      const handle = await open(path, 'wx', 0o666).catch((error: unknown) => {
        if (isDiskError(error, 'EEXIST')) return undefined
        return cannot(`write "${path}"`)(error)
      })
      if (handle !== undefined) return new Turn(path, handle)
      await expectAbandoned(path, now)
    }
  }

  /** Whether nobody took it away. */
  async isOurs(): Promise<boolean> {
    const there = await unlessAbsent(stat(this.path)).catch(cannot(`look at "${this.path}"`))
    return there?.ino === (await this.handle.stat()).ino
  }

  /** Once the file was renamed, or taken away, the path is that of the next in turn. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (await this.isOurs()) await rm(this.path, { force: true })
    await this.handle.close()
  }
}

/** Writing takes milliseconds. What is older was left by a process that was killed. */
const ABANDONED_MS = 10_000

const PAUSE_MS = 20

async function expectAbandoned(path: string, now: () => number): Promise<void> {
  const found = await unlessAbsent(stat(path)).catch(cannot(`look at "${path}"`))
  if (found === undefined) return
  if (now() - found.mtimeMs < ABANDONED_MS) await setTimeout(PAUSE_MS)
  else await rm(path, { force: true }).catch(cannot(`remove "${path}"`))
}
