import { dirname, relative } from 'node:path'
import { expect, test } from 'vitest'
import { hasProgram } from '../support/process/has-program.ts'
import { callsOf, steady } from './calls.ts'
import type { Call } from './calls.ts'
import { SECOND, Stage } from './crash-stage.ts'

const OBSTACLE = hasProgram('strace') ? '' : ': there is no strace'

test.skipIf(OBSTACLE !== '')(
  `by the word of the system, nothing says that something is stored before it is synced, and nothing is left unsynced${OBSTACLE}`,
  async () => {
    await using stage = await Stage.set()
    await stage.run(['sync'])
    await stage.repository.commit(SECOND)
    steady(stage.home)

    const [ended, calls] = await callsOf(stage.home, stage.log, ['sync'])

    const disk = new Disk(stage.home.state)
    for (const call of calls) disk.make(call)
    expect(ended.status).toBe(0)
    expect(disk.named).toEqual(['current', 'sources/team.json'])
    expect(disk.unsynced()).toEqual([])
  },
)

/**
 * What a disk has not been told to keep, after each call. What is in `tmp/` need not be kept, nor the lock of a process,
 * and the index of the log, which is made anew.
 */
class Disk {
  /** What tells of something that is stored in the database, in order. */
  readonly named: string[] = []
  readonly #state: string
  readonly #unsynced = new Set<string>()

  constructor(state: string) {
    this.#state = state
  }

  make({ name, path, other, changes }: Call): void {
    if (name === 'fsync' || name === 'fdatasync') this.#unsynced.delete(path)
    else if (name === 'rename' && other !== undefined) this.#rename(path, other)
    else if (changes && name === 'unlink' && path.endsWith('-wal')) this.#forgetLog(path)
    else if (changes && this.#isKept(path)) this.#change(path, MAKES_A_NAME.has(name))
  }

  unsynced(below = this.#state): readonly string[] {
    return [...this.#unsynced].filter((path) => path === below || path.startsWith(`${below}/`))
  }

  #change(path: string, isNamed: boolean): void {
    // That it is opened to be written changes no bytes of a file that is there.
    if (!isNamed || !DATABASE.test(path)) this.#unsynced.add(path)
    if (isNamed) this.#unsynced.add(dirname(path))
  }

  #rename(from: string, to: string): void {
    if (!this.#isKept(to)) return
    expect(this.unsynced(from), `what becomes ${to} is on the disk`).toEqual([])
    this.#unsynced.delete(from)
    this.#change(to, true)
    this.#unsynced.delete(to)
    this.#name(relative(this.#state, to))
  }

  #name(place: string): void {
    this.named.push(place)
    const stored = this.unsynced().filter((path) => DATABASE.test(path))
    expect(stored, `${place} tells of what is on the disk`).toEqual([])
  }

  #forgetLog(log: string): void {
    expect(this.unsynced(log.replace(/-wal$/, '')), 'what was in the log is in the database').toEqual([])
    this.#unsynced.delete(log)
  }

  #isKept(path: string): boolean {
    const place = relative(this.#state, path)
    return !/^(?:\.\.|tmp\/|daemon\.lock|store\.db-shm$)/.test(place)
  }
}

const DATABASE = /\/store\.db(?:-wal)?$/

const MAKES_A_NAME: ReadonlySet<string> = new Set(['openat', 'open', 'mkdir', 'link', 'symlink'])
