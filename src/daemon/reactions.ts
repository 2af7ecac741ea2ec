import type { Composition, LoadedParts } from './compose.ts'
import type { ReloadState } from './reload-state.ts'
import type { DaemonContext } from './runtime/context.ts'
import { Reaction } from './runtime/reaction.ts'

/** Work of a daemon after a change of what is served, at a time, or when another host reports something. */
export interface DaemonReaction {
  /** True if each process of a hub has it; false if the one that leads does it for all. */
  readonly isForAll: boolean
  /** Called when the daemon begins to poll; absent if another part calls it. */
  readonly start?: () => void
  /** Ended with the daemon; absent if the composition ends it. */
  readonly part?: AsyncDisposable
}

/** Has the reactions that outlive a reload follow each catalog, in this order and before those of the daemon. */
export function startLasting({ registry, linking, contract }: ReloadState, replica: DaemonContext['replica']): void {
  linking.start()
  registry.watch(() => replica?.served())
  contract.start()
}

/** The reactions of a daemon, in the order in which they start. They end in the reverse order. */
export function reactionsOf(parts: Composition & Pick<LoadedParts, 'registry' | 'clock'>): readonly DaemonReaction[] {
  const { registry, clock, channels, channelWatches, folders, followedLock, hub, mcp } = parts
  const { publications, recalls, ringRepair, rings, scans, scheduler } = parts
  const servers = new Reaction({
    clock,
    // It runs even if the catalog that clients see is unchanged: skills that wait for approval are watched too.
    on: (changed) => registry.watch(changed),
    run: async () => {
      mcp.watch()
      mcp.advance.follow()
    },
  })
  return [
    // Brings the folders of agents up to date.
    { isForAll: true, start: () => folders.follow(), part: folders },
    // Appends to the channels of this hub.
    { isForAll: true, start: () => channels.follow(), part: channels },
    // Pulls when a followed hub reports a new checkpoint.
    { isForAll: false, start: () => channelWatches.start(), part: channelWatches },
    // Looks for the first sources of a hub that is followed as a whole.
    { isForAll: false, start: () => hub.start(), part: hub },
    // Takes the lock of a repository.
    { isForAll: false, start: () => followedLock.start(), part: followedLock },
    // Promotes content from ring to ring.
    { isForAll: false, start: () => rings.start(), part: rings },
    // Pushes the marketplace to branches.
    { isForAll: false, start: () => publications.follow(), part: publications },
    // Scans what is served.
    { isForAll: false, start: () => scans.start(), part: scans },
    // Reports to followed hubs how far recalls are obeyed.
    { isForAll: false, part: recalls },
    // Repairs content that only later rings serve.
    { isForAll: false, part: ringRepair },
    // Watches the MCP servers that are sources, and fetches files that folders lack.
    { isForAll: false, start: () => servers.start(0), part: servers },
    // Pulls the sources.
    { isForAll: false, start: () => scheduler.start() },
  ]
}
