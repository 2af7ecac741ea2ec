/** Whether something ended because it was told to stop. */
export function isAbortError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'AbortError'
}

/** For `.catch`, where being stopped is as good an end as any. */
export function ignoreAbort(error: unknown): void {
  if (!isAbortError(error)) throw error
}
