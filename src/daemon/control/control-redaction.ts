import { SyncError } from '../../sync/model/sync-error.ts'
import { cleanError } from '../pull/pull-context.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import type { ControlHandler, ControlHandlers } from './control-server.ts'

/** The handlers, with secrets removed from all results, events and error messages. */
export function redactHandlers(handlers: ControlHandlers, redactor: Redactor): ControlHandlers {
  const entries = Object.entries(handlers).map(
    ([method, handler]) => [method, redactHandler(handler, redactor)] as const,
  )
  return Object.fromEntries(entries)
}

function redactHandler(handler: ControlHandler, redactor: Redactor): ControlHandler {
  return async (params, send, signal) => {
    try {
      return redactor.cleanAll(await handler(params, (event) => send(redactor.cleanAll(event)), signal))
    } catch (error) {
      if (error instanceof OperatorError)
        throw new OperatorError(error.code, redactor.clean(error.message), {
          fix: error.fix && redactor.clean(error.fix),
          place: error.place,
        })
      if (error instanceof SyncError) throw cleanError(error, redactor)
      throw error
    }
  }
}
