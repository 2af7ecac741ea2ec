import { expectOwnEntries, expectOwnFolder } from '../../sync/store/files/folder-owner.ts'
import type { Config, Mode } from '../config/config.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { askDaemon } from './control-client.ts'
import { unlockedSocketOf } from './control-path.ts'
import { lockHolderOf, socketOf } from './daemon-lock.ts'
import { configurationRequest, helloRequest } from './process-requests.ts'
import type { RequestType } from './request.ts'
import { aboutClient } from './same-config.ts'

/** The wait for the answer to a request. */
export interface AnswerWait<Event> {
  readonly onEvent?: ((event: Event) => void) | undefined
  readonly signal: AbortSignal
  /** The longest silence of the daemon. */
  readonly timeoutMs?: number
}

/** Sends a request to the daemon of the configuration's state folder. `undefined` if none runs. */
export async function askRunning<Sent extends object, Answer, Event>(
  config: Config,
  request: RequestType<Sent, Answer, Event>,
  params: Sent,
  { onEvent, signal, timeoutMs = ANSWER_MS }: AnswerWait<Event>,
): Promise<{ readonly answer: Answer } | undefined> {
  const socket = await socketToAsk(config)
  if (socket === undefined) return undefined
  const sent = { ...params, ...aboutClient(config) }
  const reply = await askDaemon(socket, request.name, sent, {
    onEvent: eventsFor(request, onEvent),
    signal,
    timeoutMs,
  })
  return reply.kind === 'no-daemon' ? undefined : { answer: answerIn(request, reply.result) }
}

/** Reads the answer to a request. Throws `bad-answer` for one that only a daemon of another version gives. */
export function answerIn<Answer>(
  { answer: form }: Pick<RequestType<never, Answer, unknown>, 'answer'>,
  result: unknown,
): Answer {
  const { data, success, error } = form.safeParse(result)
  if (!success) throw otherVersion(error)
  return data
}

/**
 * Returns a listener that passes events on. It throws `bad-answer` for one that only a daemon of another version sends:
 * the results of a request may be events.
 */
export function eventsFor<Event>(
  { event: form }: Pick<RequestType<never, unknown, Event>, 'event'>,
  onEvent: ((event: Event) => void) | undefined,
): (event: unknown) => void {
  return (event) => {
    const known = form?.safeParse(event)
    if (known?.success === false) throw otherVersion(known.error)
    if (known !== undefined) onEvent?.(known.data)
  }
}

function otherVersion(cause: unknown): OperatorError {
  const fix = 'Use one version of skillsyncd for both'
  return new OperatorError('bad-answer', 'The daemon answers in a form that this version does not know', { cause, fix })
}

/**
 * A daemon records its socket in the lock, because its runtime folder can differ from that of the client. A daemon on a
 * disk that accepts no lock cannot do so. The client then tries the paths of its own runtime and temporary folders.
 */
async function socketToAsk({ state, runtime }: Pick<Config, 'state' | 'runtime'>): Promise<string | undefined> {
  // A lock that another user put there would name a socket of that user.
  await expectOwnFolder(state, { asReader: true })
  await expectOwnEntries(state, { asReader: true })
  const holder = await lockHolderOf(state)
  return holder === undefined ? unlockedSocketOf(state, runtime) : socketOf(holder)
}

const ANSWER_MS = 10_000

/**
 * The mode of the daemon that runs for the state folder; `undefined` if none answers. Throws if the daemon has another
 * configuration, because its state is not the requested one. If the daemon is stopped or hangs, the caller can still
 * read what it wrote.
 */
export async function agreeWithDaemon(config: Config, signal: AbortSignal): Promise<Mode | undefined> {
  try {
    return (await askRunning(config, helloRequest, {}, { signal, timeoutMs: HELLO_MS }))?.answer
  } catch (error) {
    if (!(error instanceof OperatorError) || !SAYS_NOTHING.has(error.code)) throw error
    return undefined
  }
}

/** The file of the daemon that runs for the state folder, as the daemon read it; `undefined` if none tells. */
export async function fileOfDaemon(
  place: Pick<Config, 'state' | 'runtime'>,
  signal: AbortSignal,
): Promise<{ readonly file: string; readonly text: string; readonly readAt: string } | undefined> {
  try {
    const socket = await socketToAsk(place)
    if (socket === undefined) return undefined
    const wait = { onEvent: () => {}, signal, timeoutMs: HELLO_MS }
    const reply = await askDaemon(socket, configurationRequest.name, {}, wait)
    const read = reply.kind === 'no-daemon' ? undefined : configurationRequest.answer.safeParse(reply.result).data
    return read ? { ...read, text: Buffer.from(read.text, 'base64').toString() } : undefined
  } catch (error) {
    // The daemon hangs, ends, or is of another version: what else is asked of it says so.
    if (error instanceof OperatorError) return undefined
    throw error
  }
}

const HELLO_MS = 2_000
const SAYS_NOTHING: ReadonlySet<string> = new Set(['timed-out', 'connection-lost'])
