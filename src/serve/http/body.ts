import type { IncomingMessage } from 'node:http'

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
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  let bytes = 0
  // Listeners, and no iterator: that one costs as much as an answer.
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes <= maxBytes) return take(chunk)
    request.off('data', onData)
    request.pause()
    resolve(false)
  }
  request.on('data', onData)
  request.once('end', () => resolve(true))
  request.once('error', reject)
  return promise
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
