import type { IncomingMessage } from 'node:http'

/** A body of a request, or why it was not read to its end. */
export type Body =
  | { readonly ok: true; readonly json: unknown }
  | { readonly ok: false; readonly why: 'too-large' | 'not-json' }

/** Reads a JSON body of at most `maxBytes`; the declared length is looked at before the first byte. */
export async function jsonBody(request: IncomingMessage, maxBytes: number): Promise<Body> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return { ok: false, why: 'too-large' }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) return { ok: false, why: 'too-large' }
    chunks.push(chunk)
  }
  return parsed(Buffer.concat(chunks).toString('utf8'))
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
