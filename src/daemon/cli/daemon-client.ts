import { systemClock } from '../../base/clock.ts'
import type { Config } from '../config/config.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { ControlHandler } from '../control/control.ts'
import { holderOf, isListening } from '../control/daemon-lock.ts'
import { configDigest, request, requestHandlers } from '../control/requests.ts'
import { HeldByOther } from '../control/write-lock.ts'
import { becomeWriter, type Writer } from '../process/writer.ts'
import { logOf } from './command.ts'
import type { Context } from './command.ts'

/** Asks the one writer of the state folder for something. Events come while the answer is on its way. */
export type AskWriter = (method: string, params: object, onEvent?: (event: unknown) => void) => Promise<unknown>

/** A first pull of a large repository over a slow line says nothing for long. */
const ANSWER_MS = 3_600_000

/**
 * Works with the running daemon; without one this process is the writer for as long as the work takes. Two commands that
 * find no daemon go one after the other.
 */
export async function withWriter<Result>(
  context: Context,
  config: Config,
  work: (ask: AskWriter) => Promise<Result>,
): Promise<Result> {
  const { signal } = context
  for (;;) {
    await untilNoneIsAtWork(config, signal)
    const isThere = (await request(config, 'hello', {}, { signal })) !== undefined
    if (isThere) return work(async (method, params, onEvent) => askDaemon(context, config, method, params, onEvent))
    const writer = await ownWriter(context, config)
    if (writer !== undefined) return byOurselves(writer, context, config, work)
  }
}

/** What this process is, as a writer, for those who find it at work. */
const ONE_OFF = 'sync'

/** A command that writes by itself answers as a daemon does, and is gone with what it was asked once its own work is done. */
async function untilNoneIsAtWork(config: Config, signal: AbortSignal): Promise<void> {
  for (;;) {
    const holder = await holderOf(config.state)
    if (holder?.command !== ONE_OFF || !(await isListening(holder))) return
    await systemClock.wait(PAUSE_MS, signal)
  }
}

const PAUSE_MS = 100

/** Undefined where another command was quicker. */
async function ownWriter(context: Context, config: Config): Promise<Writer | undefined> {
  const { environment, redactor, signal } = context
  // Outcomes are the command's result; its log would say them twice.
  const log = logOf({ ...context, logLevel: context.logLevel === 'debug' ? 'debug' : 'error' })
  try {
    return await becomeWriter({ config, environment, log, redactor, command: ONE_OFF }, signal)
  } catch (error) {
    if (!(error instanceof HeldByOther) || error.command !== ONE_OFF) throw error
    await systemClock.wait(PAUSE_MS, signal)
    return undefined
  }
}

async function askDaemon(
  { signal }: Context,
  config: Config,
  method: string,
  params: object,
  onEvent: (event: unknown) => void = () => {},
): Promise<unknown> {
  const answer = await request(config, method, params, { onEvent, signal, timeoutMs: ANSWER_MS })
  if (answer === undefined) throw new OperatorError('connection-lost', 'The daemon ended before it answered')
  return answer.result
}

async function byOurselves<Result>(
  own: Writer,
  { signal }: Context,
  config: Config,
  work: (ask: AskWriter) => Promise<Result>,
): Promise<Result> {
  await using writer = own
  // The writer awaits the same end when it is disposed; here it makes the pulls reject.
  const stop = (): void => void writer.daemon[Symbol.asyncDispose]()
  // It may have been raised while somebody handed over.
  signal.throwIfAborted()
  signal.addEventListener('abort', stop)
  try {
    const handlers = requestHandlers(writer.daemon, config)
    return await work(async (method, params, onEvent = () => {}) => {
      return handlerOf(handlers, method)({ ...params, config: configDigest(config) }, onEvent, signal)
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function handlerOf(handlers: Readonly<Record<string, ControlHandler>>, method: string): ControlHandler {
  const handler = handlers[method]
  if (handler === undefined) throw new TypeError(`A writer is asked for no "${method}"`)
  return handler
}
