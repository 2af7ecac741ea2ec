import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * A mark in the environment of a program, by which all that it starts is found on Linux wherever it goes: a process that calls `setsid`
 * leaves the group, and keeps what it was given. One that clears its environment, or runs as another user, is not found.
 */
export class RunMark {
  readonly #id = randomUUID()

  get env(): Readonly<Record<string, string>> {
    return { [NAME]: this.#id }
  }

  /** Kills all processes that have the mark and were started after the leader, and those that they start meanwhile. */
  async killAll(leader: number): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const found = await this.#pids(leader)
      if (found.length === 0) return
      for (const pid of found) kill(pid)
      // A process that is killed takes a moment to end, and its files are not free before.
      await pause(2 ** round)
    }
  }

  async #pids(leader: number): Promise<readonly number[]> {
    const pids = await startedAfter(leader)
    const found: number[] = []
    while (pids.length > 0) {
      const some = pids.splice(0, READ_AT_ONCE)
      const marked = await Promise.all(some.map(async (pid) => this.#isOn(pid)))
      found.push(...some.filter((_, index) => marked[index]))
    }
    return found
  }

  /** The environment of another user's process cannot be read, and one that has just ended has none. */
  async #isOn(pid: number): Promise<boolean> {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
    return environment.split('\0').includes(`${NAME}=${this.#id}`)
  }
}

/** Numbers of processes are given in turn, and from the beginning after the last. Other systems than Linux have no such list. */
async function startedAfter(leader: number): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const [newest = ''] = /\d+$/.exec((await readFile('/proc/loadavg', 'latin1').catch(() => '')).trimEnd()) ?? []
  const isLater = (pid: number): boolean =>
    Number(newest) > leader ? pid > leader && pid <= Number(newest) : pid > leader || pid <= Number(newest)
  return names.map(Number).filter((pid) => pid > 1 && (newest === '' || isLater(pid)))
}

const NAME = 'SKILLSYNCD_RUN'
/** A second in all: what starts others faster than they are found, or does not end, is left. */
const MOST_ROUNDS = 10
/** A few descriptors for a moment, on machines with thousands of processes too. */
const READ_AT_ONCE = 16

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
