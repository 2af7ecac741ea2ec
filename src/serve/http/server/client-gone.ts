import type { ServerResponse } from 'node:http'

/** Returns a signal that aborts when the client disconnects before its response, or has disconnected already. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  const look = (): void => {
    if (!response.writableEnded) controller.abort(new ClientGone())
  }
  // A past event is not emitted again.
  if (response.destroyed) look()
  else response.once('close', look)
  return controller.signal
}

/** The client no longer waits for its response. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'

  constructor() {
    super('The client closed the connection')
  }
}
