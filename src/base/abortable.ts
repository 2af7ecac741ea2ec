/** Waits for work that other callers share. If the signal aborts, rejects with its reason; the work goes on. */
export async function abortable<Result>(awaited: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const left = Promise.withResolvers<never>()
  const leave = (): void => left.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([awaited, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
