/** True if the error is an abort error. */
export function isAbortError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'AbortError'
}

/** For `.catch`: ignores an abort error and rethrows every other one. */
export function ignoreAbort(error: unknown): void {
  if (!isAbortError(error)) throw error
}
