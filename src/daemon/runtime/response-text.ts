import type { HttpAnswer } from '../../sync/upstream/http/http-exchange.ts'

/** The body as text; `undefined` if it is larger than the limit. The rest of a larger body is not read. */
export async function textWithin(mostBytes: number, answer: HttpAnswer): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of answer.body) {
    size += piece.length
    if (size > mostBytes) {
      answer.giveUp()
      return undefined
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
