import type { ServerResponse } from 'node:http'

/** A signal that is raised when the client goes away before it was answered, or has gone already. */
export function disconnected(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  const look = (): void => {
    if (!response.writableEnded) controller.abort(new ClientGone())
  }
  // What has happened by now is told to nobody again.
  if (response.destroyed) look()
  else response.once('close', look)
  return controller.signal
}

/** Nobody waits for the answer any more. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'

  constructor() {
    super('The client closed the connection')
  }
}
