import type { IncomingMessage } from 'node:http'
import { ClientGone } from './disconnected.ts'

/** A body of a request, or why it was not read to its end. */
export type Body =
  | { readonly ok: true; readonly json: unknown }
  | { readonly ok: false; readonly why: 'too-large' | 'not-json' }

/** Reads a JSON body of at most `maxBytes`. */
export async function jsonBody(request: IncomingMessage, maxBytes: number): Promise<Body> {
  const chunks: Buffer[] = []
  if (!(await readBody(request, maxBytes, (bytes) => chunks.push(bytes)))) return { ok: false, why: 'too-large' }
  return parsed(Buffer.concat(chunks).toString('utf8'))
}

/** Hands a body over as it comes. False for one over `maxBytes`; the declared length is looked at before the first byte. */
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
    // A request closes at its end, before who waits for it is told: an error for nobody, at the price of its stack.
    request.off('close', onClose)
    resolve(true)
  }
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes <= maxBytes) return take(chunk)
    request.pause()
    resolve(false)
  }
  // Listeners, since an iterator costs as much as an answer. A stream outlives its request: they must not keep the body.
  request.on('data', onData).on('end', onEnd).on('error', reject).on('close', onClose)
  try {
    return await promise
  } finally {
    request.off('data', onData).off('end', onEnd).off('error', reject).off('close', onClose)
  }
}

function parsed(text: string): Body {
  try {
    const json: unknown = JSON.parse(text)
    return { ok: true, json }
  } catch (error) {
    if (error instanceof SyntaxError) return { ok: false, why: 'not-json' }
    throw error
  }
}
