import type { Environment } from '../../config/environment.ts'
import { ProgramFailedError, runProgram } from '../../runtime/run-program.ts'

/** Sends lines `NAME=value` to the service manager as one message (sd_notify). Rejects with a `ProgramFailedError`. */
export interface NotifySocket {
  tell(lines: readonly string[]): Promise<void>
}

/**
 * A socket that sends through the `systemd-notify` program, because Node has no Unix datagram sockets
 * (nodejs/node#61933). The sender is another process, which the unit has to accept (NotifyAccess=all). An addon is no
 * alternative: it is native code in the daemon, and none is published with the digest of its binary for every platform.
 */
export function notifySocketAt(address: string, { path }: Pick<Environment, 'path'>): NotifySocket {
  return {
    async tell(lines) {
      const call = { command: 'systemd-notify', args: lines, env: { NOTIFY_SOCKET: address, PATH: path }, input: '' }
      const { status } = await runProgram(call, { timeoutMs: PROGRAM_MS, outputBytes: 4_096, signal: NEVER })
      if (status !== 0) throw new ProgramFailedError(`it ended with ${status}`)
    },
  }
}

const PROGRAM_MS = 5_000
const NEVER = new AbortController().signal
