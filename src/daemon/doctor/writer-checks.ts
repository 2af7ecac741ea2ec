import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDiskError, unlessAbsent } from '../../sync/store/disk-error.ts'
import { SyncError, mendOf } from '../../sync/model/sync-error.ts'
import { VERSION } from '../../serve/version.ts'
import { answers, ControlError } from '../control-client.ts'
import { isFresh, socketPathOf, unlockedSocketOf, whyNotOwn } from '../control-path.ts'
import { holderOf, isListening } from '../daemon-lock.ts'
import type { Holder } from '../daemon-lock.ts'
import { whyNotUsed } from '../disk-words.ts'
import { identityOf, isAlive } from '../process-identity.ts'
import { request } from '../requests.ts'
import { verdicts } from './check.ts'
import type { Check, Checked, Ground } from './check.ts'

/** The one writer of the state folder: whether there can be one, who it is, and whether it answers. */
export function writerChecks(ground: Ground): Check[] {
  return [
    { name: 'socket', look: async () => socketChecked(ground) },
    { name: 'lock', look: async (signal) => lockChecked(ground, signal) },
  ]
}

async function socketChecked({ config, environment }: Ground): Promise<Checked[]> {
  const { ok, fail } = verdicts('socket')
  try {
    const path = socketPathOf(config.state, environment.runtime)
    const why = await whyNoSocketIn(dirname(path))
    if (why !== undefined) return [fail(why, SOCKET_MEND)]
    if (!isFresh(path)) return [ok(`the daemon is asked over ${path}`)]
    return [ok(`the daemon is asked over a folder that it makes in ${dirname(dirname(path))} and its lock names`)]
  } catch (error) {
    // The system cannot bind such a long path.
    if (!(error instanceof SyncError)) throw error
    return [fail(error.message, 'Set XDG_RUNTIME_DIR to a folder with a shorter path, or TMPDIR where that is not set')]
  }
}

async function whyNoSocketIn(folder: string): Promise<string | undefined> {
  const above = dirname(folder)
  try {
    const found = await unlessAbsent(lstat(folder))
    const why = found && whyNotOwn(found)
    if (why !== undefined) return `"${folder}" cannot be used: ${why}`
    if (found === undefined) await unlessAbsent(access(above, constants.W_OK | constants.X_OK))
    return undefined
  } catch (error) {
    if (!isDiskError(error)) throw error
    return `no folder can be made in "${above}": ${whyNotUsed(error)}`
  }
}

const SOCKET_MEND = mendOf('socket-failed')

async function lockChecked({ config, environment }: Ground, signal: AbortSignal): Promise<Checked[]> {
  const { ok, fail, warn } = verdicts('lock')
  const holder = await holderOf(config.state)
  if (holder === undefined) {
    const socket = await unlockedSocketOf(config.state, environment.runtime)
    if (socket === undefined || !(await answers(socket))) return [ok('no daemon holds it')]
    return [warn('a daemon serves what is stored, read-only: the disk took no lock', 'See what the state folder lacks')]
  }
  if (!(await isListening(holder))) return [await silent(holder)]
  try {
    await request(config, 'hello', {}, { signal, timeoutMs: ANSWER_MS })
    return [ok(`skillsyncd ${holder.command}, process ${holder.pid}, holds it and answers`)]
  } catch (error) {
    if (!(error instanceof ControlError)) throw error
    const who = `process ${holder.pid} (skillsyncd ${holder.command})`
    if (error.code === 'timed-out') return [fail(`${who} holds it and does not answer`, STOPPED_MEND)]
    return [
      fail(error.message, `Restart the daemon with the configuration and the version (${VERSION}) that are meant`),
    ]
  }
}

const STOPPED_MEND = 'It is stopped or hangs: continue it (kill -CONT), or end it and start it again'

/** A process of the machine before its last start is no process any more; one of another machine cannot be seen from here. */
async function silent(holder: Holder): Promise<Checked> {
  const { ok, warn, fail } = verdicts('lock')
  const what = `process ${holder.pid} (skillsyncd ${holder.command})`
  if (await isAlive(holder)) return fail(`${what} holds it and does not listen`, STOPPED_MEND)
  const here = await identityOf(process.pid)
  if (here.bootId === holder.bootId) return ok(`${what} left it and is gone; the next start takes it over`)
  return warn(
    `${what} of another machine, or of this one before it was started anew, has not released it`,
    'Nothing to do if this folder is on this machine alone; a folder that several machines share serves none of them',
  )
}

const ANSWER_MS = 2_000
