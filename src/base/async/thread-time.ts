/**
 * CPU time of this thread in milliseconds; clock time before Node 23.9, which does not report CPU time. A thread that
 * waits for a core uses none.
 */
export function threadMs(): number {
  if (!('threadCpuUsage' in process)) return performance.now()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
