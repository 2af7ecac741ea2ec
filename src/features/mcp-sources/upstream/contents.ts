import { isMapping, parseJson } from '../../../base/json-value.ts'

/** The bytes of a resource, or why the answer is unusable. */
export type ResourceContents = { readonly bytes: Uint8Array } | UnusableAnswer

/** `came`: the size of the unusable answer in bytes. */
export interface UnusableAnswer {
  readonly why: string
  readonly came: number
  readonly isTooLarge?: true
}

/**
 * Returns the bytes of the one resource in a `resources/read` result: the text as UTF-8, or the decoded base64. Sizes
 * are checked before decoding.
 */
export function contentsOf(result: Readonly<Record<string, unknown>>, mostBytes: number): ResourceContents {
  const { contents } = result
  const first: unknown = Array.isArray(contents) && contents.length === 1 ? contents[0] : undefined
  const { text, blob }: Readonly<Record<string, unknown>> = isMapping(first) ? first : {}
  if (typeof text === 'string') return inText(text, mostBytes)
  if (typeof blob === 'string') return inBlob(blob, mostBytes)
  return { why: 'the server does not answer with one text or one blob', came: bytesIn(result) }
}

/** Parses the document; `undefined` if it is not JSON. */
export function jsonIn(bytes: Uint8Array): unknown {
  return parseJson(Buffer.from(bytes).toString())
}

function inText(text: string, mostBytes: number): ResourceContents {
  const came = Buffer.byteLength(text)
  if (came > mostBytes) return tooLarge(mostBytes, came)
  if (!text.isWellFormed()) return { why: 'its text holds half of a surrogate pair', came }
  return { bytes: Buffer.from(text) }
}

function inBlob(blob: string, mostBytes: number): ResourceContents {
  // Four characters encode three bytes, of which the last two may be padding.
  const least = Math.floor(blob.length / 4) * 3 - 2
  if (least > mostBytes) return tooLarge(mostBytes, least)
  const bytes = Buffer.from(blob, 'base64')
  if (bytes.toString('base64') !== blob) return { why: 'its blob is not base64', came: blob.length }
  return bytes.length > mostBytes ? tooLarge(mostBytes, bytes.length) : { bytes }
}

/** Iterative, because `JSON.parse` accepts values nested more deeply than the stack. */
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

function tooLarge(mostBytes: number, came: number): UnusableAnswer {
  return { why: `it is larger than the ${mostBytes} bytes that it may have`, isTooLarge: true, came }
}
