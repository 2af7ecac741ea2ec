import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { hasProgram } from '../support/process/has-program.ts'
import { Program } from '../support/process/program.ts'
import type { Home } from '../support/process/program.ts'

const run = promisify(execFile)

/** A network namespace as another machine: one cable leads from it to this one. It goes with its last process. */
export class OtherMachine implements AsyncDisposable {
  /** The address of this machine, as the other one sees it. */
  readonly here: string
  /** The address of the other machine. */
  readonly there: string
  /** The words before a command that runs there. */
  readonly under: readonly string[]
  readonly #holder: Program

  private constructor(holder: Program, here: string, there: string) {
    this.#holder = holder
    this.here = here
    this.there = there
    this.under = ['nsenter', `--net=/proc/${holder.pid}/ns/net`, '--']
  }

  /** Returns the reason why there can be none here; `undefined` if there can. */
  static async obstacle(): Promise<string | undefined> {
    if (process.platform !== 'linux') return 'only Linux has network namespaces'
    if (process.getuid?.() !== 0) return 'only root can lay a cable between network namespaces'
    const missing = ['ip', 'unshare', 'nsenter'].find((name) => !hasProgram(name))
    if (missing !== undefined) return `the program "${missing}" is not installed`
    const cable = 'ip link add sks-a type veth peer name sks-b'
    return run('unshare', ['--net', 'sh', '-ec', cable]).then(
      () => undefined,
      (error: Error) => `this machine allows no network namespaces: ${error.message.replaceAll('\n', ' ')}`,
    )
  }

  static async start(home: Pick<Home, 'env' | 'path'>): Promise<OtherMachine> {
    const script = 'ip link set lo up && echo up && exec cat >/dev/null'
    const holder = new Program('unshare', ['--net', 'sh', '-ec', script], home)
    await holder.line()
    // Of the block for measurements of networks (RFC 2544), by the number of the process: two runs do not meet.
    const net = `198.${18 + (holder.pid % 2)}.${(holder.pid >> 1) % 256}`
    const machine = new OtherMachine(holder, `${net}.1`, `${net}.2`)
    const [inside, name] = [`--net=/proc/${holder.pid}/ns/net`, `sks${holder.pid}`]
    await run('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'hub', 'netns', String(holder.pid)])
    await run('ip', ['addr', 'add', `${machine.here}/30`, 'dev', name])
    await run('ip', ['link', 'set', name, 'up'])
    await run('nsenter', [inside, 'ip', 'addr', 'add', `${machine.there}/30`, 'dev', 'hub'])
    await run('nsenter', [inside, 'ip', 'link', 'set', 'hub', 'up'])
    return machine
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It waits for the end of its input.
    this.#holder.process.stdin.end()
    await this.#holder.ended()
  }
}
