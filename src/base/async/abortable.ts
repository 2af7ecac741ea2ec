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

/** Disposes a resource as soon as the signal is aborted, until the result is disposed. */
export function disposeOnAbort(resource: Disposable, signal: AbortSignal): Disposable {
  const dispose = (): void => resource[Symbol.dispose]()
  if (signal.aborted) dispose()
  else signal.addEventListener('abort', dispose)
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', dispose) }
}
