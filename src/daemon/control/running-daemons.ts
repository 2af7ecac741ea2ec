import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { expectOwnEntries, expectOwnFolder } from '../../sync/store/files/folder-owner.ts'
import { ifHomeIsKnown } from '../config/environment.ts'
import type { Environment } from '../config/environment.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { askDaemon } from './control-client.ts'
import { freshSockets, whyNotOwn } from './control-path.ts'
import { lockHolderOf, socketOf } from './daemon-lock.ts'
import { placeRequest } from './process-requests.ts'

/** A daemon of this user, with its files as absolute paths. */
export interface RunningDaemon {
  /** `undefined` if its sources were named on its command line. */
  readonly config?: string | undefined
  readonly state: string
}

/**
 * Finds the daemons of this user that answer: those with a socket in the user's runtime folder, or without such a folder
 * below the temporary one, and that of the default state folder.
 */
export async function runningDaemons(environment: Environment, signal: AbortSignal): Promise<readonly RunningDaemon[]> {
  const sockets = new Set([...(await knownSockets(environment)), ...(await defaultSocket(environment))])
  const found = await Promise.all([...sockets].map(async (socket) => placeAt(socket, signal)))
  const places = found.filter((place) => place !== undefined)
  return [...new Map(places.map((place) => [place.state, place])).values()]
}

/** The sockets without a lock. Another user's folder is ignored: its daemon would choose the configuration. */
async function knownSockets({ runtime }: Environment): Promise<readonly string[]> {
  if (runtime === undefined) return (await orNone(freshSockets)).slice(0, MOST_SOCKETS)
  const folder = join(runtime, 'skillsyncd')
  return orNone(async () => {
    if (whyNotOwn(await lstat(folder)) !== undefined) return []
    const names = (await readdir(folder)).filter((name) => name.endsWith('.sock'))
    return names.slice(0, MOST_SOCKETS).map((name) => join(folder, name))
  })
}

async function defaultSocket(environment: Environment): Promise<readonly string[]> {
  const state = ifHomeIsKnown(() => environment.state)
  if (state === undefined) return []
  return orNone(async () => {
    await expectOwnFolder(state, { asReader: true })
    await expectOwnEntries(state, { asReader: true })
    const holder = await lockHolderOf(state)
    const socket = holder === undefined ? undefined : await socketOf(holder)
    return socket === undefined ? [] : [socket]
  })
}

/** A user runs few daemons. More sockets are left by processes that were killed. */
const MOST_SOCKETS = 32

async function orNone(find: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await find()
  } catch (error) {
    if (isDiskError(error) || error instanceof SyncError) return []
    throw error
  }
}

async function placeAt(socket: string, signal: AbortSignal): Promise<RunningDaemon | undefined> {
  try {
    const answer = await askDaemon(socket, placeRequest.name, {}, { onEvent: () => {}, signal, timeoutMs: ANSWER_MS })
    return answer.kind === 'no-daemon' ? undefined : placeRequest.answer.safeParse(answer.result).data
  } catch (error) {
    // Another command holds the lock, another version does not know the request, or the daemon hangs.
    if (error instanceof OperatorError) return undefined
    throw error
  }
}

const ANSWER_MS = 2_000
