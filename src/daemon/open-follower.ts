import type { Clock } from '../base/async/clock.ts'
import { isCorruption } from '../sync/store/objects/database.ts'
import type { FoundHolder } from './control/daemon-lock.ts'
import { HeldByOther, processText } from './control/write-lock.ts'
import { Follower } from './follower.ts'
import type { WriterCandidate } from './writer.ts'

/**
 * Opens a follower. A damaged database, which only its writer can replace, is replaced first: by this process, or by the
 * one that has the lock, which gets half a minute for it.
 */
export async function openFollower(candidate: WriterCandidate, clock: Clock, signal: AbortSignal): Promise<Follower> {
  const { config, log } = candidate
  const endMs = clock.monotonicMs() + PREPARED_MS
  for (;;) {
    const follower = await Follower.open(config, log, clock).catch(errorThatNeedsWriter)
    if (follower instanceof Follower) return follower
    const { prepareState } = await import('./writer.ts')
    const other = await prepareState(candidate, signal)
    if (clock.monotonicMs() >= endMs) throw other === undefined ? follower : notPrepared(config.state, follower, other)
    if (other !== undefined) await clock.wait(LOOK_MS, signal)
  }
}

/** The clients of a server on stdio wait a minute or less for its first answer. */
const PREPARED_MS = 30_000
const LOOK_MS = 250

function errorThatNeedsWriter(error: unknown): Error {
  if (error instanceof Error && isCorruption(error)) return error
  throw error
}

function notPrepared(state: string, { message }: Error, { heldBy }: { readonly heldBy: FoundHolder }): HeldByOther {
  const mend = 'wait until it has made a new one, or stop it'
  return new HeldByOther(state, heldBy, `${message}; ${processText(heldBy)} has the lock: ${mend}`)
}
