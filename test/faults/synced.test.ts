import { dirname, relative } from 'node:path'
import { expect, test } from 'vitest'
import { hasProgram } from '../support/process/has-program.ts'
import { callsOf, steady } from './calls.ts'
import type { Call } from './calls.ts'
import { SECOND, Stage } from './crash-stage.ts'

const OBSTACLE = hasProgram('strace') ? '' : ': there is no strace'

test.skipIf(OBSTACLE !== '')(
  `by the word of the system, nothing has a name before its bytes are synced, and no name is left unsynced${OBSTACLE}`,
  async () => {
    await using stage = await Stage.set()
    await stage.run(['sync'])
    await stage.repository.commit(SECOND)
    steady(stage.home)

    const [ended, calls] = await callsOf(stage.home, stage.log, ['sync'])

    const disk = new Disk(stage.home.state)
    for (const call of calls) disk.make(call)
    expect(ended.status).toBe(0)
    expect(disk.named.slice(0, 3).toSorted()).toEqual(['docs/*', 'skills/*', 'skills/*'])
    expect(disk.named.slice(3)).toEqual(['snapshots/*.json', 'generations/2.json', 'current', 'sources/team.json'])
    expect(disk.unsynced()).toEqual([])
  },
)

/** What a disk has not been told to keep, after each call. What is in `tmp/` need not be kept, nor the lock of a process. */
class Disk {
  readonly named: string[] = []
  readonly #state: string
  readonly #unsynced = new Set<string>()

  constructor(state: string) {
    this.#state = state
  }

  make({ name, path, other, changes }: Call): void {
    if (name === 'fsync') this.#unsynced.delete(path)
    else if (name === 'rename' && other !== undefined) this.#rename(path, other)
    else if (changes && this.#isKept(path)) this.#change(path, MAKES_A_NAME.has(name))
  }

  unsynced(below = this.#state): readonly string[] {
    return [...this.#unsynced].filter((path) => path === below || path.startsWith(`${below}/`))
  }

  #change(path: string, isNamed: boolean): void {
    this.#unsynced.add(path)
    if (isNamed) this.#unsynced.add(dirname(path))
  }

  #rename(from: string, to: string): void {
    if (!this.#isKept(to)) return
    this.#change(to, true)
    if (to.includes('/.tmp-')) return
    const place = relative(this.#state, to)
    this.named.push(place.replace(/[0-9a-f]{64}/, '*'))
    this.#unsynced.delete(to)
    expect(this.unsynced(from), `what becomes ${place} is on the disk`).toEqual([])
    // The folder of the state itself has the temporary name of what is renamed.
    const needed = this.unsynced().filter((path) => path !== dirname(to) && path !== this.#state)
    if (!place.startsWith('skills/') && !place.startsWith('docs/')) expect(needed, `${place} needs it`).toEqual([])
  }

  #isKept(path: string): boolean {
    const place = relative(this.#state, path)
    return !/^(?:\.\.|tmp\/|daemon\.lock)/.test(place)
  }
}

const MAKES_A_NAME: ReadonlySet<string> = new Set(['openat', 'open', 'mkdir', 'link', 'symlink'])
