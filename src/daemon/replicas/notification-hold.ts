import type { NotificationHold } from '../../serve/registry.ts'
import type { HubReplica } from './hub-replica.ts'

/**
 * Holds notifications back until each process of the hub serves what they are about: a client that is notified by one can
 * read at any other one. What comes while some wait waits for the next round, so that none is held for long.
 */
export function holdFor(replica: Pick<HubReplica, 'isServedByAll'>): NotificationHold {
  let waiting: (() => void)[] = []
  let isRunning = false
  const run = async (): Promise<void> => {
    isRunning = true
    while (waiting.length > 0) {
      const round = waiting
      waiting = []
      await replica.isServedByAll()
      for (const notify of round) notify()
    }
    isRunning = false
  }
  return (notify) => {
    waiting.push(notify)
    // It rejects only with an error that ends the process.
    if (!isRunning) void run()
  }
}
