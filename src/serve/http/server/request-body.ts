import type { IncomingMessage } from 'node:http'
import { ClientGone } from './client-gone.ts'

/** A parsed request body, or the reason why it was not accepted. */
export type RequestBody =
  | { readonly ok: true; readonly json: unknown }
  | { readonly ok: false; readonly why: 'too-large' | 'not-json' | 'too-deep' }

/** Reads a JSON body of at most `maxBytes`. */
export async function jsonBody(request: IncomingMessage, maxBytes: number): Promise<RequestBody> {
  const chunks: Buffer[] = []
  if (!(await readBody(request, maxBytes, (bytes) => chunks.push(bytes)))) return { ok: false, why: 'too-large' }
  return parsedBody(Buffer.concat(chunks))
}

/** Parses a JSON body that was read. */
export function parsedBody(body: Buffer): RequestBody {
  const text = body.toString('utf8')
  return isTooDeep(text) ? { ok: false, why: 'too-deep' } : parseBody(text)
}

/**
 * Passes the body to `take` as it arrives. Returns false if the body exceeds `maxBytes`; the declared length is checked
 * before the first byte.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  take: (bytes: Buffer) => void,
): Promise<boolean> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return false
  if (request.destroyed) throw new ClientGone()
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  let bytes = 0
  const onClose = (): void => reject(new ClientGone())
  const onEnd = (): void => {
    // A request emits `close` at its end, before the awaiting code resumes. The late rejection would only cost an error
    // with a stack.
    request.off('close', onClose)
    resolve(true)
  }
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes <= maxBytes) return take(chunk)
    request.pause()
    resolve(false)
  }
  // Uses listeners, because an iterator costs as much as a response. A stream outlives its request, so its listeners
  // must not keep the body.
  request.on('data', onData).on('end', onEnd).on('error', reject).on('close', onClose)
  try {
    return await promise
  } finally {
    request.off('data', onData).off('end', onEnd).off('error', reject).off('close', onClose)
  }
}

/**
 * True if the nesting exceeds `MAX_DEPTH`: recursive code would overflow the stack. For text that is not JSON the
 * result does not matter.
 */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isInString = !isInString
    else if (isInString) at += code === BACKSLASH ? 1 : 0
    else if (code === BRACE || code === BRACKET) depth += 1
    else if (code === BRACE_END || code === BRACKET_END) depth -= 1
    if (depth > MAX_DEPTH) return true
  }
  return false
}

export const MAX_DEPTH = 64

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x7b, 0x7d, 0x5b, 0x5d]

function parseBody(text: string): RequestBody {
  try {
    const json: unknown = JSON.parse(text)
    return { ok: true, json }
  } catch (error) {
    if (error instanceof SyntaxError) return { ok: false, why: 'not-json' }
    throw error
  }
}
