import { codeOf } from '../../base/error-code.ts'
import { isObject } from '../../base/json-object.ts'
import { headersOf, readSecret } from '../../daemon/config/auth.ts'
import { textWithin } from '../../daemon/runtime/response-text.ts'
import { PLAIN_WAY } from '../../sync/upstream/http/host-access.ts'
import { exchange } from '../../sync/upstream/http/http-exchange.ts'
import type { HttpAnswer } from '../../sync/upstream/http/http-exchange.ts'
import type { GateAccess, GateAddress } from './gate-config.ts'
import type { Gate, Verdict } from './gate.ts'
import { GateUnansweredError } from './unanswered.ts'

/**
 * Posts the document. The answer is JSON with a 2xx status. Redirects are not followed, so that no secret is sent
 * elsewhere.
 */
export async function askAddress(
  document: Uint8Array,
  { url, access }: GateAddress,
  gate: Gate,
  signal: AbortSignal,
): Promise<Verdict> {
  const credential = await credentialFor(access, gate)
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

async function credentialFor(access: GateAccess, gate: Gate): Promise<Readonly<Record<string, string>>> {
  const { environment, redactor } = gate
  if (access.kind !== 'bearer') return headersOf(access, environment, redactor)
  return { authorization: `Bearer ${await readSecret(access.token, environment, redactor)}` }
}

async function verdictIn(answer: HttpAnswer): Promise<Verdict> {
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
