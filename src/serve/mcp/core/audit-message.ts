import { isObject } from '../../../base/json-object.ts'
import type { Audit, AuditEvent } from '../../audit.ts'
import { auditText, auditUri } from '../../audit.ts'
import { METERED_METHODS } from '../../meter.ts'
import type { MessageEnd, MeteredMethod } from '../../meter.ts'
import type { AnsweredMessage, Serving } from './methods.ts'

/** The parts of a client message that the audit needs. */
interface Asking {
  readonly method: string
  readonly params?: unknown
}

/** The known identity of the caller. */
export type Asker = Pick<AuditEvent, 'principal' | 'address' | 'client' | 'trace_id' | 'span_id'>

/** Result of a message: a JSON-RPC response, or the reason why there is none. */
export type End =
  | { readonly result: unknown }
  | { readonly error: { readonly code?: number; readonly message: string } }
  | { readonly refused: string }

/** Reports the result of a message; calls after the first are ignored. */
export type Tell = (end: End) => void

/** Returns the result in the terms of the metrics. */
export function messageEndOf(end: End): MessageEnd {
  if ('refused' in end) return end.refused === UNWAITED ? 'left' : end.refused === FAULT ? 'error' : 'refused'
  return refusalIn(end) === undefined ? 'ok' : 'error'
}

/** The error of a message that was answered with one. */
export function answeredErrorOf(end: End): AnsweredMessage['error'] {
  if ('refused' in end || refusalIn(end) === undefined) return undefined
  return { code: 'error' in end ? end.error.code : undefined }
}

/** The result of a message that was answered normally. */
export const ANSWERED: End = { result: undefined }

/**
 * Records a message once; a method that reveals nothing is recorded only if it is refused. Call it right before the
 * response is built: the response uses the catalog of that moment. A tool or a prompt may first wait for a newer
 * catalog.
 */
export function auditMessage(
  { audit, registry }: Pick<Serving, 'audit' | 'registry'>,
  asking: Asking,
  asker: Asker,
): Tell {
  const { method } = asking
  if (audit === undefined) return NOTHING_TOLD
  const { generation } = registry.catalog
  let isTold = false
  return (end) => {
    if (isTold) return
    isTold = true
    const from = LOOKING.has(method) ? registry.catalog.generation : generation
    tell(audit, asking, { ...asker, generation: from }, end)
  }
}

const LOOKING: ReadonlySet<string> = new Set(['tools/call', 'prompts/list', 'prompts/get'])

/** Serves a message until the signal aborts, and reports the result. */
export async function servedTo<Answer extends End>(
  tell: Tell,
  signal: AbortSignal,
  serve: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  try {
    const answer = await serve(signal)
    tell(answer)
    return answer
  } catch (error) {
    const isLeft = signal.aborted && error === signal.reason
    tell({ refused: isLeft ? UNWAITED : FAULT })
    throw error
  }
}

/** The reason if the server fails. */
const FAULT = 'internal error'

/** The reason if the client left. */
export const UNWAITED = 'the client no longer waited for the answer'

const NOTHING_TOLD: Tell = () => {}

/** Methods for the handshake and for completion: they list, read or call no skill, and reveal none. */
const UNAUDITED: ReadonlySet<MeteredMethod> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'completion/complete',
  'other',
])
const AUDITED: ReadonlySet<string> = new Set(METERED_METHODS.filter((method) => !UNAUDITED.has(method)))

function tell(audit: Audit, { method, params }: Asking, asker: Asker & Pick<AuditEvent, 'generation'>, end: End): void {
  const why = refusalIn(end)
  if (why === undefined && !AUDITED.has(method)) return
  const of = isObject(params) ? subjectOf(method, params) : undefined
  audit({
    asked: AUDITED.has(method) ? method : auditText(method),
    ...(of !== undefined && { of }),
    ...asker,
    allowed: why === undefined,
    ...(why !== undefined && { why: auditText(why) }),
  })
}

function subjectOf(method: string, params: Readonly<Record<string, unknown>>): string | undefined {
  const { uri, name, arguments: given, notifications } = params
  switch (method) {
    case 'tools/call': {
      const words = isObject(given) ? [given['id'], given['path']].filter((word) => typeof word === 'string') : []
      return typeof name === 'string' ? auditText([name, ...words].join(' ')) : undefined
    }
    case 'prompts/get':
      return typeof name === 'string' ? auditText(name) : undefined
    case 'subscriptions/listen':
      return listenedTo(isObject(notifications) ? notifications['resourceSubscriptions'] : undefined)
    default:
      return typeof uri === 'string' ? auditUri(uri) : undefined
  }
}

function listenedTo(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0) return undefined
  const some = uris.slice(0, MOST_URIS).filter((uri) => typeof uri === 'string')
  const more = uris.length > MOST_URIS ? [`and ${uris.length - MOST_URIS} more`] : []
  return auditText([...some.map(auditUri), ...more].join(' '))
}

const MOST_URIS = 8

function refusalIn(end: End): string | undefined {
  if ('refused' in end) return end.refused
  if ('error' in end) return end.error.message
  // A tool reports its error in the result, in words for the model.
  return isObject(end.result) && end.result['isError'] === true ? 'the tool answered with an error' : undefined
}
