/** True if the error is an abort error. */
export function isAbortError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'AbortError'
}

/** For `.catch`: ignores an abort error and rethrows every other one. */
export function ignoreAbort(error: unknown): void {
  if (!isAbortError(error)) throw error
}

/** The reason of a wait that is over before its time. Made once: its stack would cost more than the wait. */
export const CANCELED: Error = new DOMException('The wait was canceled', 'AbortError')
