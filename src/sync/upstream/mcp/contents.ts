import { isMapping, parseJson } from '../../model/json-value.ts'

/** The bytes of a resource, or why what the server sent is none that was asked for. */
export type Contents = { readonly bytes: Uint8Array } | { readonly why: string; readonly isTooLarge?: true }

/**
 * The bytes of the one resource that `resources/read` answered with: those of the text as UTF-8, or those that the base64
 * stands for. Measured before anything is decoded.
 */
export function contentsOf(result: Readonly<Record<string, unknown>>, mostBytes: number): Contents {
  const { contents } = result
  const first: unknown = Array.isArray(contents) && contents.length === 1 ? contents[0] : undefined
  const { text, blob }: Readonly<Record<string, unknown>> = isMapping(first) ? first : {}
  if (typeof text === 'string') {
    if (text.length > mostBytes || Buffer.byteLength(text) > mostBytes) return tooLarge(mostBytes)
    if (!text.isWellFormed()) return { why: 'its text holds half of a surrogate pair' }
    return { bytes: Buffer.from(text) }
  }
  if (typeof blob !== 'string') return { why: 'the server does not answer with one text or one blob' }
  // Four characters stand for three bytes, of which two may be missing at the end.
  if (Math.floor(blob.length / 4) * 3 - 2 > mostBytes) return tooLarge(mostBytes)
  const bytes = Buffer.from(blob, 'base64')
  if (bytes.toString('base64') !== blob) return { why: 'its blob is not base64' }
  return bytes.length > mostBytes ? tooLarge(mostBytes) : { bytes }
}

/** What the text of a document stands for; undefined where it is not JSON. */
export function jsonIn(bytes: Uint8Array): unknown {
  return parseJson(Buffer.from(bytes).toString())
}

function tooLarge(mostBytes: number): Contents {
  return { why: `it is larger than the ${mostBytes} bytes that it may have`, isTooLarge: true }
}
