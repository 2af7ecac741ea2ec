import { Buffer, isUtf8 } from 'node:buffer'

/** A file as an editor shows it: bytes that are not UTF-8 become U+FFFD. */
export interface LenientText {
  readonly text: string
  /** The first byte that is not UTF-8, with its offset in the text; `undefined` if all are valid. */
  readonly fault: { readonly offset: number; readonly byte: number } | undefined
}

/** Decodes the bytes leniently. Keeps a byte order mark. */
export function lenientText(bytes: Uint8Array): LenientText {
  const text = LENIENT_UTF8.decode(bytes)
  return { text, fault: isUtf8(bytes) ? undefined : faultIn(bytes, text) }
}

const LENIENT_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The file itself may contain the character that the decoder inserts for a fault. */
function faultIn(bytes: Uint8Array, text: string): LenientText['fault'] {
  let [at, from] = [0, 0]
  for (let offset = text.indexOf(STAND_IN); offset !== -1; offset = text.indexOf(STAND_IN, offset + 1)) {
    at += Buffer.byteLength(text.slice(from, offset))
    from = offset
    if (!STAND_IN_BYTES.equals(bytes.subarray(at, at + STAND_IN_BYTES.length))) return { offset, byte: bytes[at] ?? 0 }
  }
  return undefined
}

const STAND_IN = '\uFFFD'
const STAND_IN_BYTES = Buffer.from(STAND_IN)
