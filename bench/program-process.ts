import './run-the-build.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { answerParent } from './child.ts'

// The whole program in a process that can be asked what its memory holds, and how long a turn of its loop took. Started with its
// arguments.

let longest: { cpuMs: number; wallMs: number } | undefined

answerParent({
  /** From now on each turn of the loop is measured; the loop does not wait meanwhile. */
  'begin turns': () => {
    const measured = { cpuMs: 0, wallMs: 0 }
    longest = measured
    let [lastCpuMs, lastWallMs] = [cpuMs(), performance.now()]
    const measure = (): void => {
      const [nowCpuMs, nowWallMs] = [cpuMs(), performance.now()]
      measured.cpuMs = Math.max(measured.cpuMs, nowCpuMs - lastCpuMs)
      measured.wallMs = Math.max(measured.wallMs, nowWallMs - lastWallMs)
      lastCpuMs = nowCpuMs
      lastWallMs = nowWallMs
      if (longest === measured) setImmediate(measure)
    }
    setImmediate(measure)
  },
  /** The longest of them, by processor time and by the clock. */
  'end turns': async () => {
    // The turn that answered a client may not have ended when it asks.
    await turn()
    await turn()
    const measured = longest
    longest = undefined
    return measured
  },
})

/** Processor time of the thread of the loop: what other threads and other programs take is not in it. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

// The program ends when it is done, not when nobody listens to it any more.
process.channel?.unref()
await import('../src/daemon/main.ts')
