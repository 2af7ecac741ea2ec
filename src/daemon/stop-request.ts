import { z } from 'zod'
import type { ControlHandler } from './control/control-server.ts'
import { PROCESS_IDENTITY } from './control/daemon-lock.ts'
import { processIdentityOf } from './runtime/process-identity.ts'

/** The answer to a request to stop: the process that stops, and true if a service manager started it. */
export const STOPPED = z.object({ process: PROCESS_IDENTITY, isManaged: z.boolean() })

/** Returns the handler of an operator's request to stop. */
export function stopHandler(stop: () => void, isManaged: boolean): ControlHandler {
  return async () => {
    const identity = await processIdentityOf(process.pid)
    // The answer is written before the control socket closes.
    setImmediate(stop)
    return { process: identity, isManaged } satisfies z.infer<typeof STOPPED>
  }
}
