import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * A marker in a program's environment that identifies all its descendants on Linux. A process that calls `setsid`
 * leaves the group, but keeps its environment. A process that clears its environment, or runs as another user, is not
 * found.
 */
export class ChildProcessTag {
  readonly #id = randomUUID()

  get env(): Readonly<Record<string, string>> {
    return { [NAME]: this.#id }
  }

  /** Kills all processes with the marker that started after the leader, and their new children. */
  async killAll(leader: number): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const found = await this.#pids(leader)
      if (found.length === 0) return
      for (const pid of found) kill(pid)
      // A killed process takes a moment to end, and holds its files until then.
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

  /** Returns false for a process of another user, whose environment is unreadable, and for one that has just ended. */
  async #isOn(pid: number): Promise<boolean> {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
    return environment.split('\0').includes(`${NAME}=${this.#id}`)
  }
}

/**
 * Returns the processes that started after the leader. Process ids increase, and wrap around at the maximum. Only Linux
 * has this list.
 */
async function startedAfter(leader: number): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const [newest = ''] = /\d+$/.exec((await readFile('/proc/loadavg', 'latin1').catch(() => '')).trimEnd()) ?? []
  const isLater = (pid: number): boolean =>
    Number(newest) > leader ? pid > leader && pid <= Number(newest) : pid > leader || pid <= Number(newest)
  return names.map(Number).filter((pid) => pid > 1 && (newest === '' || isLater(pid)))
}

const NAME = 'SKILLSYNCD_RUN'
/** About one second in total. A process that forks faster than it is found, or does not end, stays. */
const MOST_ROUNDS = 10
/** Limits the open descriptors, even on machines with thousands of processes. */
const READ_AT_ONCE = 16

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended already.
  }
}
