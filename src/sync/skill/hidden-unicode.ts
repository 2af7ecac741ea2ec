import { isAscii, isUtf8 } from 'node:buffer'
import { wideEncodingOf } from './frontmatter-fences.ts'

/** Characters of a text that people do not see but a model reads. */
export interface HiddenText {
  /** Their number, counted no further than `MOST_COUNTED`. */
  readonly count: number
  /** A few runs of them, in order. Deceptive runs take precedence, then the first ones. */
  readonly runs: readonly HiddenRun[]
  /**
   * Some of them appear in no honest text: they spell out text for models only (`smuggled`), or at least reorder or
   * conceal the text around them (`disguised`).
   */
  readonly deceit?: 'smuggled' | 'disguised'
}

/** The skills that hidden characters withhold: none, those that deceive by them, or all that contain any. */
export const HIDDEN_POLICIES = ['note', 'deceptive', 'withhold'] as const
export type HiddenPolicy = (typeof HIDDEN_POLICIES)[number]

/** Consecutive hidden characters. */
export interface HiddenRun {
  /** From 1. */
  readonly line: number
  /** From 1, in characters: a surrogate pair counts as one. */
  readonly column: number
  /** The code points of the first few. */
  readonly codePoints: readonly number[]
  readonly length: number
}

/** The hidden characters of a SKILL.md. It is searched even if it contains a NUL, since a model gets it as text. */
export function hiddenInDocument(bytes: Uint8Array): HiddenText | undefined {
  const wide = wideEncodingOf(bytes)
  // No reader of text takes UTF-32, and all of its NULs would count.
  if (wide === 'utf-32') return undefined
  return hiddenIn((wide === undefined ? LENIENT_UTF8 : new TextDecoder(wide, { ignoreBOM: true })).decode(bytes))
}

/**
 * The hidden characters of a text file; `undefined` if there are none. A file that is not UTF-8 counts as text by git's
 * rule, no NUL near its start, so that a single wrong byte hides nothing. The same rule holds for an ASCII file. If much
 * of it is not UTF-8, its controls and private characters are those of a binary, and only the others count.
 */
export function hiddenInFile(bytes: Uint8Array): HiddenText | undefined {
  // UTF-16 has NULs. Without its mark, by which editors and models go, it may be any binary.
  if ((bytes[0] ?? 0) + (bytes[1] ?? 0) === 0x1fd && wideEncodingOf(bytes) !== undefined) return hiddenInDocument(bytes)
  const isPlainText = isAscii(bytes)
  if ((isPlainText || !isUtf8(bytes)) && bytes.subarray(0, BYTES_LOOKED_AT_BY_GIT).includes(0)) return undefined
  if (!isPlainText) {
    const text = LENIENT_UTF8.decode(bytes)
    return isUtf8(bytes) || !isMostlyNoise(text) ? hiddenIn(text) : hiddenBy(text, SUSPECT_IN_NOISE, DECEITFUL_IN_NOISE)
  }
  return hiddenIn(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'))
}

/** True for a YAML file beside SKILL.md that is searched for escapes: all that agents read, and others that are small. */
export function hasYamlEscapes({ path, size }: { readonly path: string; readonly size: number }): boolean {
  return isReadByAgents(path) || (isYamlPath(path) && size <= MOST_YAML_BYTES)
}

/** True for the path of a YAML file that agents read beside SKILL.md, such as `agents/openai.yaml` of Codex. */
export function isReadByAgents(path: string): boolean {
  return /^agents\//i.test(path) && isYamlPath(path)
}

/** True for the path of a YAML file. */
export function isYamlPath(path: string): boolean {
  return /\.ya?ml$/i.test(path)
}

const MOST_YAML_BYTES = 65_536

/**
 * The hidden characters that escapes of YAML spell in a file. Escapes count wherever they are: a quotation mark in a
 * comment would mislead a search for quotes, and a YAML parser would resolve aliases.
 */
export function hiddenInEscapes(bytes: Uint8Array): HiddenText | undefined {
  const text = LENIENT_UTF8.decode(bytes)
  if (!ESCAPE.test(text)) return undefined
  const spelled = spelledOut(text)
  return spelled === text ? undefined : hiddenIn(spelled)
}

/**
 * The text with its escapes replaced by what they spell, which is never longer. It goes into one buffer: of 16 MiB of
 * escapes, a replaced string would take more memory than a thread has.
 */
function spelledOut(text: string): string {
  const spelled = Buffer.allocUnsafe(2 * text.length)
  let length = 0
  let rest = 0
  for (const { 0: escape, 1: hex, index } of text.matchAll(ESCAPES)) {
    const code = hex === undefined ? NAMED_ESCAPES[escape.charAt(1)] : Number.parseInt(hex.slice(1), 16)
    if (code === undefined || code > 0x10ffff || TERMINAL.has(code)) continue
    const piece = text.slice(rest, index) + String.fromCodePoint(code)
    length += spelled.write(piece, length, 'utf16le')
    rest = index + escape.length
  }
  length += spelled.write(text.slice(rest), length, 'utf16le')
  return spelled.toString('utf16le', 0, length)
}

/** The beginnings of commands to a terminal, which gets no escapes; programs that print them are full of these. */
const TERMINAL: ReadonlySet<number> = new Set([0x1b, 0x9b])

const ESCAPE = /\\[xuU_NLP]/
/** An escaped backslash begins no other escape. */
const ESCAPES = /\\(?:(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})|[_NLP]|\\)/g
const NAMED_ESCAPES: Readonly<Record<string, number>> = { _: 0xa0, N: 0x85, L: 0x2028, P: 0x2029 }

/** True if a tenth of a leniently decoded text is no text. */
function isMostlyNoise(text: string): boolean {
  const sample = text.slice(0, BYTES_LOOKED_AT_BY_GIT)
  return (sample.match(NOISE)?.length ?? 0) * 10 >= sample.length
}

/** The hidden characters of a text. */
export function hiddenIn(text: string): HiddenText | undefined {
  return isPlain(text) ? undefined : hiddenBy(text)
}

/** The hidden characters of a text among those that these expressions suspect. */
function hiddenBy(text: string, suspects?: RegExp, deceitful = DECEITFUL_SUSPECT): HiddenText | undefined {
  const found = new Found()
  for (const { character, index } of hiddenCharacters(text, suspects)) {
    found.add(character, index)
    if (found.isFull) break
  }
  // A text with so many is searched further only for the deceptive ones.
  if (found.isFull)
    for (const { character, index } of hiddenCharacters(text, deceitful))
      if (index >= found.end) found.add(character, index)
  return found.of(text)
}

/** The text without invisible characters. A space replaces those that separate words, such as line ends. */
export function withoutHidden(text: string): string {
  return withHidden(text, (character) => (APART.test(character) ? ' ' : ''))
}

/**
 * The text with each invisible character escaped, such as `\u{200B}`. Two skill paths never give the same text: a path
 * with a backslash is not served.
 */
export function withHiddenEscaped(text: string): string {
  return withHidden(text, escapeOf)
}

/** The text with its deceptive characters escaped, and otherwise unchanged. */
export function withDeceitEscaped(text: string): string {
  return withHidden(text, (character) => (DECEITFUL.test(character) ? escapeOf(character) : character))
}

function withHidden(text: string, inPlaceOf: (character: string) => string): string {
  if (isPlain(text)) return text
  const parts: string[] = []
  let end = 0
  for (const { character, index } of hiddenCharacters(text)) {
    parts.push(text.slice(end, index), inPlaceOf(character))
    end = index + character.length
  }
  parts.push(text.slice(end))
  return parts.join('')
}

function escapeOf(character: string): string {
  return `\\u{${hexOf(character.codePointAt(0) ?? 0)}}`
}

/** The result of a search. It keeps few runs, and other runs do not push out deceptive ones. */
class Found {
  readonly #deceitful: Run[] = []
  readonly #others: Run[] = []
  #run: Run | undefined
  #count = 0
  #deceit: HiddenText['deceit']

  get isFull(): boolean {
    return this.#count >= MOST_COUNTED
  }

  /** The end of the last character. */
  get end(): number {
    return this.#run?.end ?? 0
  }

  add(character: string, index: number): void {
    const isDeceitful = DECEITFUL.test(character)
    if (isDeceitful && this.#deceit !== 'smuggled') this.#deceit = SMUGGLING.test(character) ? 'smuggled' : 'disguised'
    const run = this.#runAt(index, isDeceitful)
    run.end = index + character.length
    if (run.codePoints.length < MOST_CODE_POINTS) run.codePoints.push(character.codePointAt(0) ?? 0)
    run.length += 1
    this.#count += 1
  }

  /** Deceptive characters form a run of their own, so that they are named. */
  #runAt(index: number, isDeceitful: boolean): Run {
    const last = this.#run
    if (last?.end === index && last.isDeceitful === isDeceitful) return last
    this.#endRun()
    const run = { start: index, end: index, codePoints: [], length: 0, isDeceitful }
    this.#run = run
    return run
  }

  of(text: string): HiddenText | undefined {
    this.#endRun()
    if (this.#count === 0) return undefined
    const told = [...this.#deceitful, ...this.#others].slice(0, MOST_RUNS).toSorted((a, b) => a.start - b.start)
    return {
      count: Math.min(this.#count, MOST_COUNTED),
      runs: told.map((run) => placeRun(run, text)),
      ...(this.#deceit !== undefined && { deceit: this.#deceit }),
    }
  }

  #endRun(): void {
    if (this.#run === undefined) return
    const kind = this.#run.isDeceitful ? this.#deceitful : this.#others
    if (kind.length < MOST_RUNS) kind.push(this.#run)
    this.#run = undefined
  }
}

function isPlain(text: string): boolean {
  return PLAIN.test(text) && !(text.includes('\r') && LONE_RETURN.test(text))
}

interface HiddenCharacter {
  readonly character: string
  readonly index: number
}

/** The hidden characters in order. A simple expression without Unicode classes skips all other characters but a few. */
function* hiddenCharacters(
  text: string,
  suspects = text.isWellFormed() ? SUSPECT : SUSPECT_OR_HALF,
): Generator<HiddenCharacter> {
  for (const { index } of text.matchAll(suspects)) {
    HIDDEN.lastIndex = index
    const character = HIDDEN.exec(text)?.[0]
    if (character !== undefined) yield { character, index }
  }
}

/** A piece of a text: unchanged text, or the code points of consecutive hidden characters. */
export type TextPart = { readonly text: string } | { readonly names: string }

/** Splits a text in order, with the invisible parts named by code point. */
export function splitAtHidden(text: string): TextPart[] {
  const parts: TextPart[] = []
  let run: number[] = []
  let end = 0
  const endRun = (): void => {
    if (run.length > 0)
      parts.push({ names: codePointNames({ codePoints: run.slice(0, MOST_CODE_POINTS), length: run.length }) })
    run = []
  }
  for (const { character, index } of hiddenCharacters(text)) {
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

/**
 * A description for people. It names the hidden characters by code point, since printing them would hide them again.
 */
export function describeHidden({ count, runs }: HiddenText): string {
  const places = runs.map((run) => `${codePointNames(run)} at ${run.line}:${run.column}`)
  const shown = runs.reduce((sum, { length }) => sum + length, 0)
  if (shown < count) places.push('…')
  return `${count === MOST_COUNTED ? 'at least ' : ''}${count} in all, ${places.join('; ')}`
}

/** The known code points of a run, and the number of the remaining ones. */
export function codePointNames({ codePoints, length }: Pick<HiddenRun, 'codePoints' | 'length'>): string {
  const named = codePoints.map((code) => `U+${hexOf(code)}`).join(' ')
  return length > codePoints.length ? `${named} and ${length - codePoints.length} more` : named
}

function hexOf(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0')
}

interface Run {
  readonly start: number
  end: number
  readonly codePoints: number[]
  length: number
  readonly isDeceitful: boolean
}

function placeRun({ start, codePoints, length }: Run, text: string): HiddenRun {
  const before = text.slice(0, start)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: charactersIn(before.slice(lineStart)) + 1, codePoints, length }
}

function charactersIn(text: string): number {
  let characters = 0
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xff_ff ? 2 : 1) characters += 1
  return characters
}

/** Scripts that are written with joiners: Persian, Hindi and similar languages are misspelled without them. */
const JOINED = scripts(
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
)

/** Scripts without spaces between words, in which a zero-width space marks a possible line break. */
const UNSPACED = scripts('Thai', 'Lao', 'Khmer', 'Myanmar', 'Tibetan')

/** Scripts from right to left. A direction mark beside them puts punctuation and numbers in their place. */
const FROM_RIGHT = scripts('Arabic', 'Hebrew', 'Syriac', 'Thaana', 'Nko')

function scripts(...names: readonly string[]): string {
  return names.map((script) => String.raw`\p{Script=${script}}`).join('')
}

/**
 * A letter of such a script, and a character that may stand between it and a mark. The Arabic mark itself is of the
 * script.
 */
const LETTER_FROM_RIGHT = String.raw`(?!\u{061C})[${FROM_RIGHT}]`
const BESIDE_IT = String.raw`[\p{P}\p{N} ]?`

/** A carriage return after which text overwrites the beginning of its line. */
const RETURN_OVER = String.raw`\r(?!\r?\r?(?:\n|$))`

/** Characters that do not count as hidden in these contexts, and only there. */
const HONEST = [
  // The byte order mark.
  String.raw`^\u{FEFF}`,
  // A page break between lines.
  String.raw`(?<=^|\n)\f`,
  // Text or emoji presentation of the one symbol before it; after digits, only as keycaps.
  String.raw`(?<=[\p{Emoji}\p{S}])(?<![\0-\x7f])[\u{FE0E}\u{FE0F}]`,
  String.raw`(?<=[0-9#*])\u{FE0F}(?=\u{20E3})`,
  String.raw`(?<=[\p{Emoji_Presentation}\p{Extended_Pictographic}\u{FE0F}\p{Emoji_Modifier}])\u{200D}(?=\p{Extended_Pictographic})`,
  String.raw`(?<=[${JOINED}])[\u{200C}\u{200D}](?=[${JOINED}\s\p{P}]|$)`,
  String.raw`(?<=[${UNSPACED}])\u{200B}(?=[${UNSPACED}])`,
  String.raw`(?<=${LETTER_FROM_RIGHT}${BESIDE_IT})[\u{200E}\u{200F}\u{061C}]|[\u{200E}\u{200F}\u{061C}](?=${BESIDE_IT}${LETTER_FROM_RIGHT})`,
  String.raw`(?<=\p{Script=Mongolian})[\u{180B}-\u{180F}]`,
  // The variants of mathematical signs and of Chinese characters and punctuation.
  String.raw`(?<=[\p{Sm}\p{Script=Han}\u{3000}-\u{303F}\u{FF00}-\u{FF65}])(?<![\0-\x7f])[\u{FE00}-\u{FE02}]`,
  // The registered variants of Chinese characters for names of people and places.
  String.raw`(?<=\p{Script=Han})[\u{E0100}-\u{E011F}]`,
  // The blank in a picture that is drawn in Braille.
  String.raw`(?<=[\u{2801}-\u{28FF}]\u{2800}{0,16})\u{2800}|\u{2800}(?=\u{2800}{0,16}[\u{2801}-\u{28FF}])`,
  // The flags of England, Scotland and Wales.
  ...['gbeng', 'gbsct', 'gbwls'].map(flag),
]

/**
 * A flag spelled in tag characters. Each of them is matched alone, since `HIDDEN` goes from one character to the next.
 */
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
 * Characters that Unicode does not show (tags, joiners, bidirectional controls, fillers, variation selectors, soft
 * hyphens), and those that most programs show as nothing or arbitrarily: controls, line and paragraph separators,
 * private use, noncharacters, annotations, blanks that are not spaces.
 */
const UNSEEN = String.raw`[\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u{2028}\u{2029}\u{2800}\u{FFF9}-\u{FFFC}\u{1D159}]`

const HIDDEN = new RegExp(`(?!${HONEST.join('|')})${UNSEEN}|${RETURN_OVER}`, 'uy')

/** Controls and private characters, of which a binary that is decoded as text is full. */
const NOISE_UNITS = String.raw`\0-\x08\v\f\x0e-\x1f\x7f-\x9f\xad\ue000-\uf8ff`

/**
 * The other UTF-16 units that unseen characters begin with, and few more. Unicode guarantees that no other characters
 * become ignorable.
 */
const OTHER_UNITS = [
  String.raw`\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e`,
  String.raw`\u2060-\u206f\u2800\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff`,
  // Surrogates of pairs: signs of shorthand and music, planes 14 to 16, and the end of each other plane.
  String.raw`\ud82f\ud834\ud83f\ud87f\ud8bf\ud8ff\ud93f\ud97f\ud9bf\ud9ff\uda3f\uda7f\udabf\udaff\udb3f-\udbff`,
].join('')

const SUSPECT = suspectOf(NOISE_UNITS + OTHER_UNITS)
const SUSPECT_OR_HALF = suspectOf(String.raw`${NOISE_UNITS}${OTHER_UNITS}\ud800-\udfff`)
const NOISE = new RegExp(String.raw`[${NOISE_UNITS}\r\ufffd]`, 'g')
const SUSPECT_IN_NOISE = new RegExp(`[${OTHER_UNITS}]`, 'g')

/** Most characters of most texts are passed by the first class, which takes a tenth of the time of the second. */
function suspectOf(units: string): RegExp {
  return new RegExp(String.raw`[^\t\n -~](?<=[${units}]|\r(?!\n))`, 'g')
}

/** Hidden characters that spell out text for models only: tags, and the variation selectors that stand for bytes. */
const SMUGGLERS = String.raw`\u{E0000}-\u{E007F}\u{E0100}-\u{E01EF}`
const SMUGGLING = new RegExp(`[${SMUGGLERS}]`, 'u')

/**
 * The smuggling characters, embeddings, overrides and isolates, which change the displayed order of a line, and
 * terminal escapes, which color, erase and conceal.
 */
const DECEITFUL = new RegExp(String.raw`[${SMUGGLERS}\u202A-\u202E\u2066-\u2069\u001B\u009B]`, 'u')

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const DECEITFUL_SUSPECT = /[\x1b\x9b\u202a-\u202e\u2066-\u2069\udb40]/g
const DECEITFUL_IN_NOISE = /[\u202a-\u202e\u2066-\u2069\udb40]/g

const APART = /[\p{Cc}\u2028\u2029]/u

/**
 * None of these is hidden. Most paths and texts consist only of them, and the other expression takes ten times as long.
 */
const PLAIN = /^[\t\n\r -~]*$/
const LONE_RETURN = new RegExp(RETURN_OVER)

const LENIENT_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The limit of git's buffer_is_binary. */
const BYTES_LOOKED_AT_BY_GIT = 8_000

/** A text with more is not more suspicious. */
export const MOST_COUNTED = 10_000
const MOST_RUNS = 4
const MOST_CODE_POINTS = 8
