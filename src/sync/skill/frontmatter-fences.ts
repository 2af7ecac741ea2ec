import { Buffer } from 'node:buffer'
import type { SkillCode } from './skill-diagnostic.ts'

/** Names what stands in place of the line that opens a frontmatter, and the mend. */
export function openingFault(bytes: Uint8Array): { readonly rule: SkillCode; readonly message: string } {
  const encoding = wideEncodingOf(bytes)
  if (encoding !== undefined)
    return {
      rule: 'encoding-invalid',
      message: `The file is ${encoding.toUpperCase()} and not UTF-8; save it as UTF-8`,
    }
  const text = Buffer.from(bytes.subarray(0, MOST_LOOKED_AT))
    .toString()
    .replace(/^\uFEFF/, '')
  const why = openingLook(text) ?? 'put name and description between two of them'
  return { rule: 'frontmatter-missing', message: `The file does not begin with a line "---"; ${why}` }
}

const MOST_LOOKED_AT = 1_024

/** The encoding of a text in UTF-16 or UTF-32 whose first character is ASCII or a mark; `undefined` for other bytes. */
export function wideEncodingOf(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | 'utf-32' | undefined {
  const [a, b, c, d] = bytes
  if (a === undefined || b === undefined) return undefined
  const isLittle = (a === 0xff && b === 0xfe) || (a !== 0 && a < 0x80 && b === 0)
  const isBig = (a === 0xfe && b === 0xff) || (a === 0 && b !== 0 && b < 0x80)
  if ((isLittle && c === 0 && d === 0) || (a === 0 && b === 0 && (c !== 0 || d !== 0))) return 'utf-32'
  return isLittle ? 'utf-16le' : isBig ? 'utf-16be' : undefined
}

function openingLook(text: string): string | undefined {
  if (text === '') return 'the file is empty'
  const unseen = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\0\u{2028}\u{2029}]/u.exec(text)?.[0]
  if (unseen === '\uFEFF') return 'it begins with two byte order marks: save it without one'
  if (unseen !== undefined) {
    const code = (unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return `an invisible character (U+${code}) is before it: remove it`
  }
  if (text.startsWith('\u00EF\u00BB\u00BF')) return 'it begins with a byte order mark that was encoded twice: remove it'
  const [line = ''] = text.split(/\r?\n/, 1)
  if (/^-{3}\r./s.test(line)) return 'the lines end with a carriage return alone (CR): save it with line feeds (LF)'
  if (line.trim() === '') return `line 1 is ${line === '' ? 'empty' : 'blank'}: remove what is before "---"`
  const look = fenceLook(line) ?? OPENINGS.find(({ form }) => form.test(line))?.look
  return look && `line 1 ${look}`
}

/** Lines that are almost a fence, with the mend. */
function fenceLook(line: string): string | undefined {
  if (/^---\s+$/.test(line)) return 'has white space behind "---": remove it'
  if (/^\s+---\s*$/.test(line)) return 'has white space before "---": remove it'
  if (/^---\s/.test(line)) return 'has more than "---": put the rest on a line of its own'
  if (/^\s*-{2,}\s*$/.test(line)) return `has ${line.trim().length} hyphens: write three`
  if (/^\s*[\p{Pd}\u2212\u2500\u2501\u00AD]+\s*$/u.test(line) && /[^\s-]/.test(line))
    return 'has the dashes of a word processor: write three hyphens, "---"'
  if (/^\\-+\s*$/.test(line)) return 'has a backslash before the hyphens: remove it'
  if (/^\s*["']---["']\s*$/.test(line)) return 'has quotes around "---": remove them'
  return undefined
}

const OPENINGS: readonly { readonly form: RegExp; readonly look: string }[] = [
  { form: /^\s*(?:`{3}|~{3})/, look: 'opens a code block: remove it, and the line that closes it' },
  { form: /^\s*(?:<!--|\/\*|\/\/|%)/, look: 'is a comment: move it below the frontmatter' },
  { form: /^#!/, look: 'names a program: remove it' },
  {
    form: /^\s*#/,
    look: 'is a heading or a comment: put the frontmatter above it, name and description between two lines "---"',
  },
  { form: /^\s*\+{3}\s*$/, look: 'begins TOML: write name and description as YAML between two lines "---"' },
  { form: /^\s*(?:\*{3,}|_{3,}|={3,})\s*$/, look: 'is a line of another sign: write three hyphens, "---"' },
  { form: /^\s*[\w-]+\s*:(?:\s|$)/, look: 'is a field already: put a line "---" above it' },
]

/** Names what stands in place of the line that closes a frontmatter, and the mend. `bytes` begin after the first line. */
export function closingFault(bytes: Uint8Array): string {
  const lines = Buffer.from(bytes.subarray(0, MOST_SEARCHED)).toString().split(/\r?\n/)
  const at = lines.findIndex((line) => closingLook(line) !== undefined)
  const missing = 'The frontmatter has no last line "---"'
  if (at !== -1) return `${missing}; line ${at + 2} ${closingLook(lines[at] ?? '')}`
  const last = lines.findIndex((line) => !/^(?:[ \t]+\S|- |[\w .-]+:)/.test(line))
  return last > 0 ? `${missing}; put it below line ${last + 1}` : missing
}

const MOST_SEARCHED = 65_536

function closingLook(line: string): string | undefined {
  if (/^\s*\.{3}\s*$/.test(line)) return 'has three dots: write three hyphens, "---"'
  return fenceLook(line)
}
