import { systemClock } from '../../../base/clock.ts'
import { OperatorError } from '../../base/operator-error.ts'
import type { Config } from '../../config/config.ts'
import { isListening, lockHolderOf } from '../../control/daemon-lock.ts'
import { request } from '../../control/requests.ts'
import { ELSEWHERE_MEND, processText } from '../../control/write-lock.ts'
import { STOPPED } from '../../process/stop-request.ts'
import { configFor, printJson, printLines } from '../command.ts'
import type { Command } from '../command.ts'

export const stop: Command = {
  name: 'stop',
  summary: 'Stop the running daemon',
  details: `
  Running requests of clients end first, and the command waits until the daemon has ended. What the daemon stored stays;
  skillsyncd start serves it again.
`,
  examples: ['skillsyncd stop'],
  async run(context) {
    const config = await configFor(context)
    const holder = await lockHolderOf(config.state)
    if (holder !== undefined && holder.command !== 'start')
      throw new OperatorError(
        'no-daemon',
        `Cannot stop: process ${holder.pid} (skillsyncd ${holder.command}) is no daemon; it ends with its client`,
      )
    const answer = await request(config, 'stop', {}, { signal: context.signal })
    if (answer === undefined && holder?.isElsewhere === true)
      throw new OperatorError(
        'no-daemon',
        `Cannot stop: ${processText(holder)} has the lock and cannot be reached from here; ${ELSEWHERE_MEND}`,
      )
    if (answer === undefined) throw new OperatorError('no-daemon', `No daemon runs for "${config.state}"`)
    const { pid, isManaged } = STOPPED.parse(answer.result)
    await untilEnded(config, pid, context.signal)
    if (context.json) printJson(context, { pid, isManaged })
    else printLines(context, [`stopped process ${pid}`, ...(isManaged ? [MANAGED] : [])])
    return 0
  },
}

const MANAGED = 'a service manager had started it, and may start it again: systemctl stop skillsyncd, or with --user'

/** Waits until the daemon has released its lock, or another process has it. */
async function untilEnded({ state }: Config, pid: number, signal: AbortSignal): Promise<void> {
  const byMs = systemClock.monotonicMs() + STOP_MS
  for (;;) {
    const holder = await lockHolderOf(state)
    if (holder === undefined || holder.pid !== pid || !(await isListening(holder))) return
    if (systemClock.monotonicMs() > byMs)
      throw new OperatorError('timed-out', `Process ${pid} still runs after ${STOP_MS / 1000} s; kill ${pid} ends it`)
    await systemClock.wait(PAUSE_MS, signal)
  }
}

/** Longer than a daemon needs to end requests that hang. */
const STOP_MS = 30_000
const PAUSE_MS = 50
