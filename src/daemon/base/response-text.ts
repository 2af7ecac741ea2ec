import type { Answer } from '../../sync/upstream/http/http-exchange.ts'

/** The body as text; undefined for one of more bytes, which is given up. */
export async function textWithin(mostBytes: number, answer: Answer): Promise<string | undefined> {
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
