/**
 * Milliseconds of processor time that this thread has taken; those of the clock before Node 23.9, which does not tell. A thread that
 * waits for a core spends none.
 */
export function threadMs(): number {
  if (!('threadCpuUsage' in process)) return performance.now()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
