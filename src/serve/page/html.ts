import { splitAtHidden } from '../../sync/skill-md/hidden-unicode.ts'

/** A safe piece of HTML: what others wrote is escaped in it. */
export interface Html {
  readonly html: string
}

export type Piece = string | number | Html | readonly Html[] | undefined

export const NOTHING: Html = { html: '' }

/** Whatever is put in is escaped, but for what this function made itself. */
export function html(texts: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return { html: String.raw({ raw: texts }, ...values.map(escaped)) }
}

function escaped(value: Piece): string {
  if (typeof value === 'string') return escapedText(value)
  if (typeof value === 'number') return String(value)
  if (value === undefined) return ''
  return 'html' in value ? value.html : value.map((piece) => piece.html).join('')
}

/** What others wrote, set apart from the direction of what stands around it. Characters that nobody sees are named in it. */
export function said(text: string): Html {
  return html`<bdi>${visible(text)}</bdi>`
}

/** A text in which what steers, hides or reorders other text is seen: each such character by its number. */
export function visible(text: string): Html {
  return { html: visibleText(text) }
}

/** The same as a string, for who puts HTML together by hand. */
export function visibleText(text: string): string {
  if (isPlain(text)) return escapedText(text)
  // At its start a text of others may have a byte order mark, which a part of one has no use for.
  const [start = ''] = /^\uFEFF*/.exec(text) ?? []
  const marks = start === '' ? '' : mark('U+FEFF')
  return (
    marks +
    splitAtHidden(text.slice(start.length))
      .map((part) => ('text' in part ? escapedText(part.text) : mark(part.names)))
      .join('')
  )
}

export function escapedText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)
}

/** Most text is: no other is looked at twice. */
function isPlain(text: string): boolean {
  return /^[\t\n\r\u0020-\u007e]*$/.test(text)
}

function mark(names: string): string {
  return `<span class="unseen" title="A character that is not shown">${escapedText(names)}</span>`
}
