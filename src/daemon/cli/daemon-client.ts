import { systemClock } from '../../base/async/clock.ts'
import type { Config } from '../config/config.ts'
import { withHubSources } from '../config/present-sources.ts'
import { lockHolderOf, isListening } from '../control/daemon-lock.ts'
import { followRequest } from '../control/follow-request.ts'
import { helloRequest } from '../control/process-requests.ts'
import type { RequestType } from '../control/request.ts'
import { answerIn, askRunning, eventsFor } from '../control/running-daemon.ts'
import { aboutClient } from '../control/same-config.ts'
import { HeldByOther, absenceText, silentHolderText } from '../control/write-lock.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import type { Writer } from '../writer.ts'
import { logOf } from './command.ts'
import type { Context } from './command.ts'

/** Sends a request to the process that writes the state folder. Events arrive before the answer. */
export type AskWriter = <Sent extends object, Answer, Event>(
  request: RequestType<Sent, Answer, Event>,
  params: Sent,
  onEvent?: (event: Event) => void,
) => Promise<Answer>

/** A first pull of a large repository over a slow line is silent for a long time. */
const ANSWER_MS = 3_600_000

/**
 * Works with the running daemon. Without one, this process is the writer while the work lasts. Two commands without a
 * daemon run one after the other.
 */
export async function withWriter<Whole extends ServedConfig, Result>(
  context: Context<Whole>,
  config: Whole,
  work: (ask: AskWriter) => Promise<Result>,
): Promise<Result> {
  const { signal } = context
  const startedByMs = systemClock.monotonicMs() + STARTING_MS
  for (;;) {
    await untilNoneIsAtWork(config, signal)
    const isThere = (await askRunning(config, helloRequest, {}, { signal })) !== undefined
    // A command may have begun meanwhile.
    if (isThere && (await isOneAtWork(config))) continue
    if (isThere) {
      try {
        return await work(askingDaemon(context, config))
      } catch (error) {
        // It answered, and has ended since: another command, or a daemon that stops.
        if (!(error instanceof NothingAsked)) throw error
        continue
      }
    }
    await expectOwnStore(config)
    const writer = await ownWriter(context, config, startedByMs)
    if (writer !== undefined) return byOurselves(writer, context, config, work)
  }
}

/** Throws if the content is shared with other processes: one that is no part of the hub must not publish beside its leader. */
async function expectOwnStore({ postgres, state }: Config): Promise<void> {
  if (postgres === undefined) return
  const absent = `${await absenceText(state, ` for "${state}"`)}; start it with skillsyncd start`
  throw new OperatorError(
    'no-daemon',
    `Cannot work without the daemon: the configuration has store.postgres, and only daemons take turns there; ${(await silentHolderText(await lockHolderOf(state))) ?? absent}`,
  )
}

/** The configuration with the sources that the hub has now, if it follows one as a whole. */
export async function withHubLook<Whole extends ServedConfig>(context: Context<Whole>, config: Whole): Promise<Whole> {
  if (config.follow === undefined) return config
  return withHubSources(config, await withWriter(context, config, async (ask) => ask(followRequest, {})))
}

/** The command name of this process as a writer, for other processes that find it. */
const ONE_OFF = 'sync'

/**
 * A command that writes answers requests as a daemon does, but ends together with them when its own work is done. So
 * this waits for its end.
 */
async function untilNoneIsAtWork(config: Config, signal: AbortSignal): Promise<void> {
  while (await isOneAtWork(config)) await systemClock.wait(PAUSE_MS, signal)
}

async function isOneAtWork({ state }: Config): Promise<boolean> {
  const holder = await lockHolderOf(state)
  return holder?.command === ONE_OFF && (await isListening(holder))
}

const PAUSE_MS = 100

/** A daemon takes the lock first and opens its socket last: meanwhile it is neither asked nor absent. */
const STARTING_MS = 2_000

/** `undefined` if another command was first, or a daemon that may be starting until `startedByMs`. */
async function ownWriter<Whole extends ServedConfig>(
  context: Context<Whole>,
  config: Whole,
  startedByMs: number,
): Promise<Writer | undefined> {
  const { environment, redactor, signal } = context
  // Outcomes are the command's result; its log would repeat them.
  const log = logOf({ ...context, logLevel: context.logLevel === 'debug' ? 'debug' : 'error' })
  try {
    return await context.becomeWriter({ config, environment, log, redactor, command: ONE_OFF }, signal)
  } catch (error) {
    if (!(error instanceof HeldByOther)) throw error
    const mayBeStarting = systemClock.monotonicMs() < startedByMs
    if (error.command !== ONE_OFF && !mayBeStarting) throw error
    await systemClock.wait(PAUSE_MS, signal)
    return undefined
  }
}

/** No process was there for the first request, so that nothing was asked of any. */
class NothingAsked extends Error {
  override readonly name = 'NothingAsked'
}

function askingDaemon({ signal }: Context, config: Config): AskWriter {
  let isFirst = true
  return async (request, params, onEvent) => {
    const reply = await askRunning(config, request, params, { onEvent, signal, timeoutMs: ANSWER_MS })
    if (reply === undefined && isFirst) throw new NothingAsked('No daemon runs any more')
    if (reply === undefined) throw new OperatorError('connection-lost', 'The daemon ended before it answered')
    isFirst = false
    return reply.answer
  }
}

async function byOurselves<Result>(
  own: Writer,
  { signal }: Context,
  config: Config,
  work: (ask: AskWriter) => Promise<Result>,
): Promise<Result> {
  await using writer = own
  // The writer's own disposal awaits the same end; here it makes the pulls reject.
  const stop = (): void => void writer.daemon[Symbol.asyncDispose]()
  // The signal may have been aborted while another writer ended.
  signal.throwIfAborted()
  signal.addEventListener('abort', stop)
  try {
    return await work(async (request, params, onEvent) => {
      const sent = { ...params, ...aboutClient(config) }
      const answer = await writer.answer(request.name, sent, eventsFor(request, onEvent), signal)
      return answerIn(request, answer)
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
