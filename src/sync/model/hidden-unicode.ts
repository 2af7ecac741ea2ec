import { isAscii, isUtf8 } from 'node:buffer'

/** Characters of a text that nobody sees and a model reads. */
export interface HiddenText {
  /** How many there are; the search ends at `MOST_COUNTED`. */
  readonly count: number
  /** The first few runs of them, in order. */
  readonly runs: readonly HiddenRun[]
}

/** Hidden characters in a row. */
export interface HiddenRun {
  /** From 1. */
  readonly line: number
  /** From 1, in characters: a pair of surrogates counts once. */
  readonly column: number
  /** The first few, as numbers. */
  readonly codePoints: readonly number[]
  readonly length: number
}

/**
 * The hidden characters of a file that is text, undefined where there are none. One that is not UTF-8 is taken for text as
 * git takes it, by the lack of a NUL near its start, so that a single wrong byte hides nothing.
 */
export function hiddenInFile(bytes: Uint8Array): HiddenText | undefined {
  if (isAscii(bytes)) return undefined
  if (!isUtf8(bytes) && bytes.subarray(0, BYTES_LOOKED_AT_BY_GIT).includes(0)) return undefined
  return hiddenIn(LENIENT_UTF8.decode(bytes))
}

/** The hidden characters of a text. */
export function hiddenIn(text: string): HiddenText | undefined {
  if (ASCII.test(text)) return undefined
  const runs: Run[] = []
  let run: Run | undefined
  let count = 0
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    if (run?.end !== index) {
      run = { start: index, end: index, codePoints: [], length: 0 }
      if (runs.length < MOST_RUNS) runs.push(run)
    }
    run.end = index + character.length
    run.length += 1
    if (run.codePoints.length < MOST_CODE_POINTS) run.codePoints.push(character.codePointAt(0) ?? 0)
    count += 1
    if (count === MOST_COUNTED) break
  }
  return count === 0 ? undefined : { count, runs: runs.map((found) => placed(found, text)) }
}

/** A piece of a text: as it stands, or the numbers of hidden characters in a row. */
export type TextPart = { readonly text: string } | { readonly names: string }

/** The text in its order, with what nobody would see of it named by number. */
export function splitAtHidden(text: string): TextPart[] {
  const parts: TextPart[] = []
  let run: number[] = []
  let end = 0
  const endRun = (): void => {
    if (run.length > 0)
      parts.push({ names: namesIn({ codePoints: run.slice(0, MOST_CODE_POINTS), length: run.length }) })
    run = []
  }
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    if (index > end) {
      endRun()
      parts.push({ text: text.slice(end, index) })
    }
    run.push(character.codePointAt(0) ?? 0)
    end = index + character.length
  }
  endRun()
  if (end < text.length) parts.push({ text: text.slice(end) })
  return parts
}

/** What is hidden, as a person reads it: named by number, since to print it would hide it again. */
export function describeHidden({ count, runs }: HiddenText): string {
  const places = runs.map((run) => `${namesIn(run)} at ${run.line}:${run.column}`)
  const shown = runs.reduce((sum, { length }) => sum + length, 0)
  if (shown < count) places.push('…')
  return `${count === MOST_COUNTED ? 'at least ' : ''}${count} in all, ${places.join('; ')}`
}

/** The characters of a run by number, as many as are known, and how many there are besides. */
export function namesIn({ codePoints, length }: Pick<HiddenRun, 'codePoints' | 'length'>): string {
  const named = codePoints.map((code) => `U+${code.toString(16).toUpperCase().padStart(4, '0')}`).join(' ')
  return length > codePoints.length ? `${named} and ${length - codePoints.length} more` : named
}

interface Run {
  readonly start: number
  end: number
  readonly codePoints: number[]
  length: number
}

function placed({ start, codePoints, length }: Run, text: string): HiddenRun {
  const before = text.slice(0, start)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: charactersIn(before.slice(lineStart)) + 1, codePoints, length }
}

function charactersIn(text: string): number {
  let characters = 0
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xff_ff ? 2 : 1) characters += 1
  return characters
}

/** Scripts that are written with joiners: Persian, Hindi and their like are misspelt without them. */
const JOINED = [
  'Arabic',
  'Syriac',
  'Nko',
  'Mongolian',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Khmer',
  'Myanmar',
]
  .map((script) => String.raw`\p{Script=${script}}`)
  .join('')

/** What is no hidden character where it stands so, and nowhere else. */
const HONEST = [
  // The byte order mark.
  String.raw`^\u{FEFF}`,
  // Text or emoji, said of the one symbol before it.
  String.raw`(?<=[\p{Emoji}\p{S}])[\u{FE0E}\u{FE0F}]`,
  String.raw`(?<=[\p{Emoji_Presentation}\p{Extended_Pictographic}\u{FE0F}\p{Emoji_Modifier}])\u{200D}(?=\p{Emoji})`,
  String.raw`(?<=[${JOINED}])[\u{200C}\u{200D}](?=[${JOINED}])`,
  String.raw`(?<=\p{Script=Mongolian})[\u{180B}-\u{180F}]`,
  // The variants of mathematical signs and of Chinese punctuation.
  String.raw`(?<=[\p{Sm}\p{Script=Han}\p{P}])[\u{FE00}-\u{FE02}]`,
  // The flags of England, Scotland and Wales.
  ...['gbeng', 'gbsct', 'gbwls'].map(flag),
]

/** A flag spelt in tag characters, of which each alone is matched: `HIDDEN` goes from one character to the next. */
function flag(region: string): string {
  const tags = Array.from(region, (letter) => String.raw`\u{${(0xe_00_00 + letter.charCodeAt(0)).toString(16)}}`)
  const sequence = [...tags, String.raw`\u{E007F}`]
  const places = sequence.map((tag, index) => {
    const [before, after] = [sequence.slice(0, index).join(''), sequence.slice(index + 1).join('')]
    return String.raw`(?<=\u{1F3F4}${before})${tag}(?=${after})`
  })
  return places.join('|')
}

/**
 * What Unicode says is not to be shown (tags, joiners, bidirectional controls, fillers, variation selectors, soft hyphens)
 * and interlinear annotations.
 */
const UNSEEN = String.raw`[\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}]`

// What is rare is asked first: most characters are not looked at a second time.
const HIDDEN = new RegExp(`(?=${UNSEEN})(?!${HONEST.join('|')})${UNSEEN}`, 'gu')

/** None of these is hidden. Most paths are of them alone, and the other expression takes ten times as long. */
const ASCII = /^[\0-\x7f]*$/

const LENIENT_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** buffer_is_binary of git. */
const BYTES_LOOKED_AT_BY_GIT = 8_000

/** One that holds more is no stranger for it. */
export const MOST_COUNTED = 10_000
const MOST_RUNS = 4
const MOST_CODE_POINTS = 8
