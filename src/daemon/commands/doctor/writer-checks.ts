import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { VERSION } from '../../../serve/version.ts'
import { SyncError, mendOf } from '../../../sync/model/sync-error.ts'
import { isDiskError, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import { isFresh, socketPathOf, unlockedSocketOf, whyNotOwn } from '../../control/control-path.ts'
import { lockHolderOf, isAtWork, isListening } from '../../control/daemon-lock.ts'
import type { FoundHolder } from '../../control/daemon-lock.ts'
import { GLANCE_MS, TERM_MS } from '../../control/lease-renewal.ts'
import { helloRequest } from '../../control/process-requests.ts'
import { askRunning } from '../../control/running-daemon.ts'
import { ELSEWHERE_MEND, processText } from '../../control/write-lock.ts'
import { whyNotUsed } from '../../runtime/disk-error-text.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { isAlive } from '../../runtime/process-identity.ts'

/** Checks that the state folder can have a writer, and that its present writer answers. */
export function writerChecks(ground: Ground): Check[] {
  return [
    { name: 'socket', look: async () => socketChecked(ground) },
    { name: 'writer', look: async (signal) => writerChecked(ground, signal) },
  ]
}

async function socketChecked({ config, environment }: Ground): Promise<CheckResult[]> {
  const { ok, fail } = verdicts('socket')
  try {
    const path = socketPathOf(config.state, environment.runtime)
    const why = await whyNoSocketIn(dirname(path))
    if (why !== undefined) return [fail(why, SOCKET_MEND)]
    if (!isFresh(path)) return [ok(`commands reach the daemon over ${path}`)]
    return [ok(`commands reach the daemon over a folder that it makes in ${dirname(dirname(path))} and its lock names`)]
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

const SOCKET_MEND = mendOf({ code: 'socket-failed' })

async function writerChecked({ whole, environment, clock }: Ground, signal: AbortSignal): Promise<CheckResult[]> {
  const { ok, fail, warn } = verdicts('writer')
  const holder = await lockHolderOf(whole.state)
  if (holder === undefined) {
    const socket = await unlockedSocketOf(whole.state, environment.runtime)
    if (socket === undefined) return [ok('no process writes the state folder')]
    return [
      warn(
        'a daemon serves what is stored, read-only: the disk does not support locks',
        'See what the state folder lacks',
      ),
    ]
  }
  if (!(await isListening(holder))) {
    if (holder.isElsewhere !== true) return [await silent(holder)]
    return [elsewhere(holder, await isAtWork(whole.state, holder, { clock, signal, ms: GLANCE_MS }))]
  }
  try {
    await askRunning(whole, helloRequest, {}, { signal, timeoutMs: ANSWER_MS })
    return [ok(`skillsyncd ${holder.command}, process ${holder.pid}, writes the state folder and answers`)]
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    const who = processText(holder)
    if (error.code === 'timed-out') return [fail(`${who} writes the state folder and does not answer`, STOPPED_MEND)]
    return [
      fail(
        error.message,
        error.fix ?? `Restart the daemon with the configuration and the version (${VERSION}) of this command`,
      ),
    ]
  }
}

const STOPPED_MEND = 'It is stopped or hangs: continue it (kill -CONT), or end it and start it again'

async function silent(holder: FoundHolder): Promise<CheckResult> {
  const { ok, fail } = verdicts('writer')
  const who = processText(holder)
  if (await isAlive(holder)) return fail(`${who} writes the state folder and does not listen`, STOPPED_MEND)
  return ok(`${who} wrote the state folder and has ended; the next start takes it over`)
}

/** A process from before a reboot looks like one on another machine. */
function elsewhere(holder: FoundHolder, isRenewed: boolean): CheckResult {
  const { warn } = verdicts('writer')
  const who = processText(holder)
  if (isRenewed)
    return warn(
      `${who} writes the state folder and renews its lease; it cannot be reached from here`,
      `To reach it, ${ELSEWHERE_MEND}`,
    )
  return warn(
    `${who}, or a process of this machine before its restart, did not renew its lease for ${GLANCE_MS / 1000} s`,
    `Nothing, if that process has ended: the next start takes over after ${TERM_MS / 1000} s`,
  )
}

const ANSWER_MS = 2_000
