/** The size of a text. */
export interface TextSize {
  /** Unicode code points. */
  readonly characters: number
  /** UTF-8 bytes. */
  readonly bytes: number
}

/** The unit of an allowance. */
export type BudgetUnit = 'characters' | 'tokens'

export function sizeOf(text: string): TextSize {
  const bytes = Buffer.byteLength(text)
  // Counting code points takes much longer, and ASCII is the usual case.
  return { characters: bytes === text.length ? bytes : Array.from(text).length, bytes }
}

export function joinSizes({ characters, bytes }: TextSize, other: TextSize): TextSize {
  return { characters: characters + other.characters, bytes: bytes + other.bytes }
}

/** An estimate: four bytes of UTF-8 make a token, rounded up, as Codex counts. Tokenizers of models differ from it. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

const BYTES_PER_TOKEN = 4

/** The part of an allowance that one line takes. */
export function costOf(size: TextSize, unit: BudgetUnit): number {
  return unit === 'tokens' ? tokensOfBytes(size.bytes) : size.characters
}

/** The first characters of a text. Never cuts a code point in two. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text
  // A code point has at most two code units.
  const start = Array.from(text.slice(0, count * 2 + 1))
  return start.length <= count ? text : start.slice(0, count).join('')
}
