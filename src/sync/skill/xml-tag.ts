/**
 * The first piece of a text that an XML reader takes for markup: an opening or closing tag, a comment, a declaration or
 * an instruction. `a < b`, `a<b and c>d` and `Map<K, V>` contain none: a tag has its name directly after the bracket,
 * and then only attributes with a value.
 */
export function xmlTagIn(text: string): string | undefined {
  return XML_TAG.exec(text)?.[0]
}

const NAME = String.raw`[\p{L}_:][\p{L}\p{N}_:.\-]*`

const ATTRIBUTE = String.raw`\s+${NAME}\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>=]+)`

/** A comment or a CDATA section may contain brackets, so its beginning alone is matched. */
const XML_TAG = new RegExp(
  String.raw`<!--|<!\[CDATA\[|<[!?][\p{L}_:][^<>]*>|</${NAME}\s*>|<${NAME}(?:${ATTRIBUTE})*\s*/?>`,
  'u',
)
