import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Program } from './program.ts'

const run = promisify(execFile)

/** What becomes of calls of a process while this is there: as strace names it, for these paths alone where some are named. */
export interface Injection {
  /** Such as `fsync:error=EIO`. */
  readonly inject: string
  readonly paths: readonly string[]
}

/** Has calls of a running process fail, from outside of it. Disposed of, it lets go of the process, which goes on. */
export class Strace implements AsyncDisposable {
  readonly #strace: Program

  private constructor(strace: Program) {
    this.#strace = strace
  }

  /** Why it cannot be used here, or undefined. */
  static async obstacle(): Promise<string | undefined> {
    if (process.platform !== 'linux') return 'strace is for Linux'
    if (process.getuid?.() !== 0) return 'only root may be sure to trace a process'
    return run('strace', ['--quiet=all', '--trace=none', '--', 'true']).then(
      () => undefined,
      (error: Error) => `strace does not run: install the package strace (${error.message.replaceAll('\n', ' ')})`,
    )
  }

  /** Resolves once all threads are in its hand. */
  static async on(pid: number, { inject, paths }: Injection): Promise<Strace> {
    const call = inject.slice(0, inject.indexOf(':'))
    const at = paths.flatMap((path) => ['-P', path])
    const args = ['-f', '-e', `trace=${call}`, '-e', `inject=${inject}`, ...at, '-o', '/dev/null', '-p', `${pid}`]
    const strace = new Program('strace', args, { env: { PATH: process.env['PATH'] ?? '' }, path: '/' })
    await strace.said((line) => line.includes('attached'))
    return new Strace(strace)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#strace.stop('SIGINT')
  }
}
