import { isMapping, parseJson } from '../../../base/json-value.ts'

/** The bytes of a resource, or why what the server sent is none that was asked for. */
export type Contents = { readonly bytes: Uint8Array } | Unwanted

/** `came`: bytes that came in place of those that were asked for. */
export interface Unwanted {
  readonly why: string
  readonly came: number
  readonly isTooLarge?: true
}

/**
 * The bytes of the one resource that `resources/read` answered with: those of the text as UTF-8, or those that the base64
 * stands for. Measured before anything is decoded.
 */
export function contentsOf(result: Readonly<Record<string, unknown>>, mostBytes: number): Contents {
  const { contents } = result
  const first: unknown = Array.isArray(contents) && contents.length === 1 ? contents[0] : undefined
  const { text, blob }: Readonly<Record<string, unknown>> = isMapping(first) ? first : {}
  if (typeof text === 'string') return inText(text, mostBytes)
  if (typeof blob === 'string') return inBlob(blob, mostBytes)
  return { why: 'the server does not answer with one text or one blob', came: bytesIn(result) }
}

/** What the text of a document stands for; undefined where it is not JSON. */
export function jsonIn(bytes: Uint8Array): unknown {
  return parseJson(Buffer.from(bytes).toString())
}

function inText(text: string, mostBytes: number): Contents {
  const came = Buffer.byteLength(text)
  if (came > mostBytes) return tooLarge(mostBytes, came)
  if (!text.isWellFormed()) return { why: 'its text holds half of a surrogate pair', came }
  return { bytes: Buffer.from(text) }
}

function inBlob(blob: string, mostBytes: number): Contents {
  // Four characters stand for three bytes, of which two may be missing at the end.
  const least = Math.floor(blob.length / 4) * 3 - 2
  if (least > mostBytes) return tooLarge(mostBytes, least)
  const bytes = Buffer.from(blob, 'base64')
  if (bytes.toString('base64') !== blob) return { why: 'its blob is not base64', came: blob.length }
  return bytes.length > mostBytes ? tooLarge(mostBytes, bytes.length) : { bytes }
}

/** At any depth: what is nested deeper than the stack is parsed all the same. */
function bytesIn(answer: unknown): number {
  const left = [answer]
  let bytes = 0
  while (left.length > 0) {
    const value = left.pop()
    bytes += typeof value === 'string' ? Buffer.byteLength(value) : 1
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) {
      bytes += name.length
      left.push(inner)
    }
  }
  return bytes
}

function tooLarge(mostBytes: number, came: number): Unwanted {
  return { why: `it is larger than the ${mostBytes} bytes that it may have`, isTooLarge: true, came }
}
