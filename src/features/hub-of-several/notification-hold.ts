import type { HubReplica } from '../../daemon/runtime/hub-replica.ts'
import type { NotificationBarrier } from '../../serve/registry.ts'

/**
 * Holds notifications back until each process of the hub serves what they are about: a client that is notified by one can
 * read at any other one. What comes while some wait waits for the next round, so that none is held for long. If a process
 * takes longer than a round, clients are notified, and again once that process serves it: they can have read there.
 */
export function holdFor(replica: Pick<HubReplica, 'isServedByAll' | 'onCaughtUp'>): NotificationBarrier {
  let waiting: Parameters<NotificationBarrier>[] = []
  const late = new Set<(areAll: boolean) => void>()
  let isRunning = false
  const run = async (): Promise<void> => {
    isRunning = true
    while (waiting.length > 0) {
      const round = waiting
      waiting = []
      const isServedByAll = await replica.isServedByAll()
      for (const [notify, again] of round) {
        notify(isServedByAll)
        if (!isServedByAll && again !== undefined) late.add(again)
      }
    }
    isRunning = false
  }
  replica.onCaughtUp((areAll) => {
    const all = [...late]
    // What a client reads now, it can still read at another process that is late.
    if (areAll) late.clear()
    for (const again of all) again(areAll)
  })
  return (notify, again) => {
    waiting.push([notify, again])
    // It rejects only with an error that ends the process.
    if (!isRunning) void run()
  }
}
