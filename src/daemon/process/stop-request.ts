import { z } from 'zod'
import type { ControlHandler } from '../control/control.ts'

/** The answer to a request to stop: the process that stops, and true if a service manager started it. */
export const STOPPED = z.object({ pid: z.number(), isManaged: z.boolean() })

/** Returns the handler of an operator's request to stop. */
export function stopHandler(stop: () => void, isManaged: boolean): ControlHandler {
  return async () => {
    // The answer is written before the control socket closes.
    setImmediate(stop)
    return { pid: process.pid, isManaged } satisfies z.infer<typeof STOPPED>
  }
}
