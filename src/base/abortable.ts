/** Who waits for what is there for others too may leave: rejects with the reason of the signal then. */
export async function whileWanted<Result>(awaited: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const left = Promise.withResolvers<never>()
  const leave = (): void => left.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([awaited, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
