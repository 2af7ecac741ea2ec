import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../support/process/program.ts'

/** A name that no name server knows. */
export const HOST = 'git.invalid'

/** Why a program cannot be given names of its own here. */
export const NO_NAMES = obstacle()

/** What whoever is started in the home knows of names: one at most, and no name server. */
export class Names {
  readonly #hosts: string

  private constructor(hosts: string) {
    this.#hosts = hosts
  }

  static async of(home: Home): Promise<Names> {
    const [hosts, order] = [join(home.path, 'hosts'), join(home.path, 'nsswitch.conf')]
    await writeFile(hosts, '')
    await writeFile(order, 'hosts: files\n')
    home.under = ['unshare', '--mount', 'sh', '-c', IN_THEIR_PLACE, 'sh', hosts, order]
    return new Names(hosts)
  }

  /** The name leads to this machine from now on. */
  async know(): Promise<void> {
    await writeFile(this.#hosts, `127.0.0.1 ${HOST}\n`)
  }

  /** The name does not resolve from now on. */
  async forget(): Promise<void> {
    await writeFile(this.#hosts, '')
  }
}

const IN_THEIR_PLACE = [
  'mount --bind "$1" /etc/hosts',
  'mount --bind "$2" /etc/nsswitch.conf',
  'shift 2',
  'exec "$@"',
].join(' && ')

function obstacle(): string | undefined {
  try {
    execFileSync('unshare', ['--mount', 'mount', '--bind', '/etc/hosts', '/etc/hosts'], { stdio: 'pipe' })
    return undefined
  } catch {
    return 'no files can be put in the place of others here'
  }
}
