/**
 * The first that a text holds of what a reader of XML takes for markup: an opening or closing tag, a comment, a declaration, an
 * instruction. In `a < b`, in `a<b and c>d` and in `Map<K, V>` there is none: a tag has its name right behind the bracket, and
 * nothing besides but attributes with a value.
 */
export function xmlTagIn(text: string): string | undefined {
  return XML_TAG.exec(text)?.[0]
}

const NAME = String.raw`[\p{L}_:][\p{L}\p{N}_:.\-]*`

const ATTRIBUTE = String.raw`\s+${NAME}\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>=]+)`

/** What is hidden in a comment or a CDATA section may hold brackets of its own, so that they begin is enough. */
const XML_TAG = new RegExp(
  String.raw`<!--|<!\[CDATA\[|<[!?][\p{L}_:][^<>]*>|</${NAME}\s*>|<${NAME}(?:${ATTRIBUTE})*\s*/?>`,
  'u',
)
