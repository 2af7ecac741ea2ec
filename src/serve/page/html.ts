import { splitAtHidden } from '../../sync/skill/hidden-unicode.ts'

/** A safe piece of HTML, in which all foreign text is escaped. */
export interface Html {
  readonly html: string
}

export type HtmlPiece = string | number | Html | readonly Html[] | undefined

export const EMPTY_HTML: Html = { html: '' }

/** Escapes every inserted value, except results of this function. */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlPiece[]): Html {
  return { html: String.raw({ raw: texts }, ...values.map(escapePiece)) }
}

function escapePiece(value: HtmlPiece): string {
  if (typeof value === 'string') return escapedText(value)
  if (typeof value === 'number') return String(value)
  if (value === undefined) return ''
  return 'html' in value ? value.html : value.map((piece) => piece.html).join('')
}

/** Isolates foreign text from the writing direction around it, and names its hidden characters. */
export function isolateText(text: string): Html {
  return html`<bdi>${visible(text)}</bdi>`
}

/**
 * Renders a text so that characters that control, hide or reorder other text become visible, each by its code point.
 */
export function visible(text: string): Html {
  return { html: visibleText(text) }
}

/** Works like `visible`, but returns a string for callers that build HTML by hand. */
export function visibleText(text: string): string {
  if (isPlain(text)) return escapedText(text)
  // A foreign text may start with a byte order mark, which is redundant in a part of a text.
  const [start = ''] = /^\uFEFF*/.exec(text) ?? []
  const marks = start === '' ? '' : mark('U+FEFF')
  return (
    marks +
    splitAtHidden(text.slice(start.length))
      .map((part) => ('text' in part ? escapedText(part.text) : mark(part.names)))
      .join('')
  )
}

/** Names hidden characters in brackets, for a text that is not HTML. */
export function plainText(text: string): string {
  return splitAtHidden(text)
    .map((part) => ('text' in part ? part.text : `[${part.names}]`))
    .join('')
}

export function escapedText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)
}

/** Most text is plain, and needs no second scan. */
function isPlain(text: string): boolean {
  return /^[\t\n\r\u0020-\u007e]*$/.test(text)
}

function mark(names: string): string {
  return `<span class="unseen" title="Invisible character">${escapedText(names)}</span>`
}
