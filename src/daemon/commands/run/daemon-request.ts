import type { Config } from '../../config/config.ts'
import { lockHolderOf } from '../../control/daemon-lock.ts'
import type { FoundHolder } from '../../control/daemon-lock.ts'
import type { RequestType } from '../../control/request.ts'
import { askRunning } from '../../control/running-daemon.ts'
import { ELSEWHERE_MEND, absenceText, processText, silentHolderText } from '../../control/write-lock.ts'
import { OperatorError } from '../../runtime/operator-error.ts'

/** A request that only a daemon answers: a process that a client started has no part in it. */
export interface DaemonRequest<Answer> {
  readonly request: RequestType<object, Answer, never>
  readonly signal: AbortSignal
  /** The longest silence of the daemon; default: as for other requests. */
  readonly timeoutMs?: number
  /** The remedy if no daemon runs. */
  readonly mend?: string
}

/** The answer of the daemon. */
export interface DaemonAnswer<Answer> {
  readonly answer: Answer
  /** The holder of the lock when the request was sent; `undefined` on a disk that accepts no lock. */
  readonly holder: FoundHolder | undefined
}

/** Sends the request to the daemon of the state folder. Throws `no-daemon` if there is none in reach. */
export async function requestDaemon<Answer>(
  config: Config,
  { request, mend, ...waiting }: DaemonRequest<Answer>,
): Promise<DaemonAnswer<Answer>> {
  const { name } = request
  const holder = await lockHolderOf(config.state)
  if (holder !== undefined && holder.command !== 'start')
    throw noDaemon(
      name,
      `process ${holder.pid} (skillsyncd ${holder.command}) is not a daemon; it ends with its client`,
    )
  const reply = await askRunning(config, request, {}, waiting)
  if (reply !== undefined) return { answer: reply.answer, holder }
  if (holder?.isElsewhere === true)
    throw noDaemon(name, `${processText(holder)} has the lock and cannot be reached from here; ${ELSEWHERE_MEND}`)
  const silent = await silentHolderText(holder)
  if (silent !== undefined) throw noDaemon(name, silent)
  throw noDaemon(
    name,
    `${await absenceText(config.state, ` for "${config.state}"`)}${mend === undefined ? '' : `; ${mend}`}`,
  )
}

function noDaemon(name: string, why: string): OperatorError {
  return new OperatorError('no-daemon', `Cannot ${name}: ${why}`)
}
