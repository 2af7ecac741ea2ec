import { systemClock } from '../../../base/async/clock.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import type { Config } from '../../config/config.ts'
import { lockHolderOf } from '../../control/daemon-lock.ts'
import { stopRequest } from '../../control/process-requests.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { isAlive, isHere } from '../../runtime/process-identity.ts'
import type { ProcessIdentity } from '../../runtime/process-identity.ts'
import { requestDaemon } from './daemon-request.ts'
import type { DaemonAnswer } from './daemon-request.ts'

export const stop: Command = {
  name: 'stop',
  details: `
  Running requests of clients end first, and the command waits until the daemon has released its state folder. What the
  daemon stored stays; skillsyncd start serves it again.
`,
  examples: ['skillsyncd stop'],
  async run(context) {
    const config = await configInUse(context)
    const { answer, holder } = await requestDaemon(config, { request: stopRequest, signal: context.signal })
    const { process, isManaged } = answer
    const { pid } = process
    await untilEnded(config, { holder, process }, context.signal)
    if (context.json) printJson(context, { pid, isManaged })
    else printLines(context, [`stopped process ${pid}`, ...(isManaged ? [MANAGED] : [])])
    return 0
  },
}

const MANAGED = 'a service manager had started it, and may start it again: systemctl stop skillsyncd, or with --user'

/** The process that was asked to stop. */
interface Stopping extends Pick<DaemonAnswer<unknown>, 'holder'> {
  readonly process: ProcessIdentity
}

/** Waits until the daemon has released its lock or, if it has none, has ended. */
async function untilEnded({ state }: Config, stopping: Stopping, signal: AbortSignal): Promise<void> {
  const byMs = systemClock.monotonicMs() + STOP_MS
  while (await isRunning(state, stopping)) {
    if (systemClock.monotonicMs() > byMs) throw await stillRuns(stopping.process)
    await systemClock.wait(PAUSE_MS, signal)
  }
}

/** The pid of another container or machine means nothing here. */
async function stillRuns(process: ProcessIdentity): Promise<OperatorError> {
  const { pid } = process
  const mend = (await isHere(process)) ? `kill ${pid} ends it` : 'end it where it runs, in another container or machine'
  return new OperatorError('timed-out', `Process ${pid} still runs after ${STOP_MS / 1000} s; ${mend}`)
}

async function isRunning(state: string, { holder, process }: Stopping): Promise<boolean> {
  if (holder === undefined) return isAlive(process)
  if ((await lockHolderOf(state))?.nonce !== holder.nonce) return false
  // The lock of a killed process stays.
  return holder.isElsewhere === true || isAlive(holder)
}

/** Longer than a daemon needs to end requests that hang. */
const STOP_MS = 30_000
const PAUSE_MS = 50
