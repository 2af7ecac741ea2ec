import { z } from 'zod'
import type { ControlHandler } from '../control/control.ts'

/** The answer to a request to stop: the process that stops, and true if a service manager started it. */
export const STOPPED = z.object({ pid: z.number(), isManaged: z.boolean() })

/** A request of an operator that the daemon stops. */
export class StopRequest {
  readonly #controller = new AbortController()

  /** Aborted soon after the request was answered. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Returns the handler of the request. */
  handler(isManaged: boolean): ControlHandler {
    return async () => {
      // The answer is written before the control socket closes.
      setImmediate(() => this.#controller.abort())
      return { pid: process.pid, isManaged } satisfies z.infer<typeof STOPPED>
    }
  }
}
