import { tagAt } from './html-tag.ts'

/** An HTML block in a Markdown text. */
export interface HtmlBlock {
  /** A pattern in its last line; `undefined` if an empty line ends it. */
  readonly closing: RegExp | undefined
}

/**
 * The block that a line begins, by the tags that CommonMark names. Any other tag begins one only if it is alone on the
 * line.
 */
export function htmlBlockAt(line: string, mayBeAnyTag: boolean): HtmlBlock | undefined {
  const named = HTML.find(({ opening }) => opening.test(line))
  if (named !== undefined || !mayBeAnyTag) return named
  const tag = tagAt(line, 0, line.length)
  return tag !== undefined && /^\s*$/.test(line.slice(tag.end)) ? { closing: undefined } : undefined
}

const HTML: readonly (HtmlBlock & { readonly opening: RegExp })[] = [
  { opening: /^<(?:script|pre|style|textarea)(?:\s|>|$)/i, closing: /<\/(?:script|pre|style|textarea)>/i },
  { opening: /^<!--/, closing: /-->/ },
  { opening: /^<\?/, closing: /\?>/ },
  { opening: /^<![A-Za-z]/, closing: />/ },
  { opening: /^<!\[CDATA\[/, closing: /\]\]>/ },
  {
    opening:
      /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|\/?>|$)/i,
    closing: undefined,
  },
]
