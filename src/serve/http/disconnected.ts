import type { ServerResponse } from 'node:http'

/** A signal that is raised when the client goes away before it was answered. */
export function disconnected(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort(new ClientGone())
  })
  return controller.signal
}

/** Nobody waits for the answer any more. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'

  constructor() {
    super('The client closed the connection')
  }
}
