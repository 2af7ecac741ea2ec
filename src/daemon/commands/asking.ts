import type { Config } from '../config.ts'
import { ControlError } from '../control-client.ts'
import type { ControlHandler } from '../control.ts'
import { configDigest, request, requestHandlers } from '../requests.ts'
import { becomeWriter } from '../writer.ts'
import { logOf } from './command.ts'
import type { Context } from './command.ts'

/** Asks the one writer of the state folder for something. Events come while the answer is on its way. */
export type AskWriter = (method: string, params: object, onEvent?: (event: unknown) => void) => Promise<unknown>

/** A first pull of a large repository over a slow line says nothing for long. */
const ANSWER_MS = 3_600_000

/** Works with the running daemon; without one this process is the writer for as long as the work takes. */
export async function withWriter<Result>(
  context: Context,
  config: Config,
  work: (ask: AskWriter) => Promise<Result>,
): Promise<Result> {
  const { signal } = context
  const isThere = (await request(config, 'hello', {}, { signal })) !== undefined
  if (isThere) return work(async (method, params, onEvent) => askDaemon(context, config, method, params, onEvent))
  return byOurselves(context, config, work)
}

async function askDaemon(
  { signal }: Context,
  config: Config,
  method: string,
  params: object,
  onEvent: (event: unknown) => void = () => {},
): Promise<unknown> {
  const answer = await request(config, method, params, { onEvent, signal, timeoutMs: ANSWER_MS })
  if (answer === undefined) throw new ControlError('connection-lost', 'The daemon ended before it answered')
  return answer.result
}

async function byOurselves<Result>(
  context: Context,
  config: Config,
  work: (ask: AskWriter) => Promise<Result>,
): Promise<Result> {
  const { environment, redactor, signal } = context
  // Outcomes are the command's result; its log would say them twice.
  const log = logOf({ ...context, logLevel: context.logLevel === 'debug' ? 'debug' : 'error' })
  await using writer = await becomeWriter({ config, environment, log, redactor, command: 'sync' }, signal)
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
