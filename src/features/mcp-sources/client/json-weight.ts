/**
 * Estimates the memory of parsed JSON before it is parsed: the larger of its bytes and of the space for its values. A
 * list of empty objects takes twenty times its text.
 */
export class JsonWeight {
  #bytes = 0
  #values = 0
  #isInText = false
  #isEscaped = false

  get bytes(): number {
    return this.#bytes
  }

  get total(): number {
    return Math.max(this.#bytes, this.#values * VALUE_BYTES)
  }

  /** Copies the fields into locals during the scan, because every byte of an answer passes here. */
  add(bytes: Uint8Array): void {
    let [isInText, isEscaped, values] = [this.#isInText, this.#isEscaped, 0]
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]
      // A JSON string cannot contain a line break, so the text before one, as in an event stream, leaves no string
      // open.
      if (byte === LINE_FEED || byte === RETURN) isInText = isEscaped = false
      else if (isEscaped) isEscaped = false
      else if (byte === QUOTE) isInText = !isInText
      else if (isInText) isEscaped = byte === BACKSLASH
      else if (byte === COMMA || byte === BRACKET || byte === BRACE) values += 1
    }
    this.#bytes += bytes.length
    this.#values += values
    ;[this.#isInText, this.#isEscaped] = [isInText, isEscaped]
  }
}

export function jsonWeightOf(text: Uint8Array): number {
  const weight = new JsonWeight()
  weight.add(text)
  return weight.total
}

/** Half of the space for an empty object in a list, which counts twice: by its brace and its comma. */
const VALUE_BYTES = 32

const [LINE_FEED, RETURN, QUOTE, COMMA, BRACKET, BACKSLASH, BRACE] = [0x0a, 0x0d, 0x22, 0x2c, 0x5b, 0x5c, 0x7b]
