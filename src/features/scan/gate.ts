import type { Clock } from '../../base/async/clock.ts'
import { callAfter } from '../../base/async/wait-at-most.ts'
import { codeOf } from '../../base/error-code.ts'
import { isObject } from '../../base/json-object.ts'
import { headersOf } from '../../daemon/config/auth.ts'
import type { Environment } from '../../daemon/config/environment.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import type { Redactor } from '../../daemon/runtime/log/redactor.ts'
import { textWithin } from '../../daemon/runtime/response-text.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { PLAIN_WAY } from '../../sync/upstream/http/host-access.ts'
import { exchange } from '../../sync/upstream/http/http-exchange.ts'
import type { HttpAnswer } from '../../sync/upstream/http/http-exchange.ts'
import type { GateCandidate } from './candidate.ts'
import type { GateAddress, GateConfig } from './gate-config.ts'
import { askProgram } from './program.ts'
import { askScanner } from './scanner.ts'
import type { KnownScans } from './scanner.ts'
import { GateUnansweredError } from './unanswered.ts'

/**
 * The decision about a candidate. `unanswered` is the reason why the gate gave no answer, if the operator configured to
 * publish in that case.
 */
export type GateVerdict =
  | { readonly kind: 'publish'; readonly unanswered?: string }
  | { readonly kind: 'refuse' | 'hold'; readonly reason: string }

/** A gate and its dependencies. */
export interface Gate {
  readonly config: GateConfig
  readonly environment: Environment
  readonly redactor: Redactor
  readonly clock: Clock
  /** True for work that must not take processor time from others. */
  readonly isBackground?: boolean
  /** The scans of the source of the candidate; absent to keep none. */
  readonly scans?: KnownScans
}

/**
 * Queries the gate once, within its time limit. If there is no answer, the verdict is the one that the operator
 * configured. Rejects only if the signal aborts. `docs/pinning-and-review.md` specifies the rules of both sides.
 */
export async function askGate(candidate: GateCandidate, gate: Gate, signal: AbortSignal): Promise<GateVerdict> {
  signal.throwIfAborted()
  try {
    const verdict = await withinGateTime(gate, signal, (limited) => ask(candidate, gate, limited))
    return verdict.kind === 'publish' ? verdict : { ...verdict, reason: lineOf(verdict.reason, gate.redactor) }
  } catch (error) {
    signal.throwIfAborted()
    // An unreadable secret of the gate is a SyncError: without the secret, the gate cannot be queried.
    if (!(error instanceof GateUnansweredError || error instanceof SyncError)) throw error
    const reason = `the gate gave no answer: ${lineOf(error.message, gate.redactor)}`
    return gate.config.onFailure === 'publish' ? { kind: 'publish', unanswered: reason } : { kind: 'refuse', reason }
  }
}

async function ask(candidate: GateCandidate, gate: Gate, signal: AbortSignal): Promise<GateVerdict> {
  const { asked } = gate.config
  const document = (): Uint8Array => Buffer.from(JSON.stringify(candidate))
  switch (asked.kind) {
    case 'program':
      return askProgram(document(), asked, gate, signal)
    case 'scanner':
      return askScanner(candidate, asked, gate, signal)
    case 'address':
      return askAddress(document(), asked, gate, signal)
    default:
      return asked satisfies never
  }
}

/** Runs work within the time limit of the gate; throws `GateUnansweredError` if that is over. */
export async function withinGateTime<Result>(
  { clock, config }: Pick<Gate, 'clock' | 'config'>,
  signal: AbortSignal,
  run: (limited: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const overdue = new AbortController()
  const late = new GateUnansweredError(`it took more than ${config.timeoutMs} ms`)
  using _limit = callAfter(config.timeoutMs, () => overdue.abort(late), clock)
  try {
    return await run(AbortSignal.any([signal, overdue.signal]))
  } catch (error) {
    // The timeout is the cause of any failure that follows it.
    throw overdue.signal.aborted ? late : error
  }
}

/** The beginning of a foreign text, on one line and without secrets. */
function lineOf(text: string, redactor: Redactor): string {
  const line = redactor.clean(text).trim().replaceAll(/\s+/g, ' ')
  const cut = line.length > REASON_CHARACTERS ? `${line.slice(0, REASON_CHARACTERS).toWellFormed()}…` : line
  return printableLine(cut)
}

const REASON_CHARACTERS = 500

/**
 * Posts the document. The answer is JSON with a 2xx status. Redirects are not followed, so that no secret is sent
 * elsewhere.
 */
async function askAddress(
  document: Uint8Array,
  { url, access }: GateAddress,
  gate: Gate,
  signal: AbortSignal,
): Promise<GateVerdict> {
  const credential = await headersOf(access, gate.environment, gate.redactor)
  signal.throwIfAborted()
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...credential }
  try {
    const { route } = PLAIN_WAY
    return await verdictIn(await exchange(url, { method: 'POST', headers, body: document, signal, route }))
  } catch (cause) {
    if (cause instanceof GateUnansweredError || !(cause instanceof Error)) throw cause
    throw new GateUnansweredError(`the connection failed (${codeOf(cause) ?? cause.name})`, { cause })
  }
}

async function verdictIn(answer: HttpAnswer): Promise<GateVerdict> {
  if (answer.status < 200 || answer.status > 299) {
    answer.giveUp()
    throw new GateUnansweredError(`it answers ${answer.status}`)
  }
  const said = jsonOf(await bodyOf(answer))
  const [verdict, reason] = isObject(said) ? [said['verdict'], said['reason']] : []
  if (verdict === 'publish') return { kind: 'publish' }
  if (verdict !== 'refuse' && verdict !== 'hold') throw new GateUnansweredError('its answer is not a verdict')
  return { kind: verdict, reason: typeof reason === 'string' && reason.trim() !== '' ? reason : 'it gave no reason' }
}

async function bodyOf(answer: HttpAnswer): Promise<string> {
  const text = await textWithin(MOST_BYTES, answer)
  if (text === undefined) throw new GateUnansweredError(`its answer is over ${MOST_BYTES} bytes`)
  return text
}

const MOST_BYTES = 65_536

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
