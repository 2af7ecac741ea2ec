import { HASH_BYTES } from '../../../sync/transparency-log/merkle-tree.ts'

/** A request to a witness: a checkpoint that continues the one of `oldSize` entries (c2sp.org/tlog-witness). */
export interface AddCheckpoint {
  readonly oldSize: number
  readonly proof: readonly Uint8Array[]
  /** The signed checkpoint. */
  readonly note: string
}

/** The most bytes of a request: a checkpoint, with the longest proof. */
export const MOST_REQUEST_BYTES = 2 ** 16 + 2 ** 12

/** Writes the body of a request. */
export function addCheckpointBody({ oldSize, proof, note }: AddCheckpoint): string {
  const lines = [`old ${oldSize}`, ...proof.map((hash) => Buffer.from(hash).toString('base64'))]
  return `${lines.join('\n')}\n\n${note}`
}

/** Parses the body of a request. `undefined` if it has another form; the checkpoint is not parsed. */
export function parseAddCheckpoint(body: string): AddCheckpoint | undefined {
  const end = body.indexOf('\n\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = body.slice(0, end).split('\n', MOST_PROOF_LINES + 2)
  const [, digits] = /^old (0|[1-9]\d{0,15})$/.exec(first) ?? []
  const oldSize = Number(digits)
  if (!Number.isSafeInteger(oldSize) || lines.length > MOST_PROOF_LINES) return undefined
  const proof: Buffer[] = []
  for (const line of lines) {
    const hash = Buffer.from(line, 'base64')
    if (hash.length !== HASH_BYTES || hash.toString('base64') !== line) return undefined
    proof.push(hash)
  }
  return { oldSize, proof, note: body.slice(end + 2) }
}

const MOST_PROOF_LINES = 63

/** The type of the answer of a witness that has cosigned another size: that size, in decimal. */
export const SIZE_TYPE = 'text/x.tlog.size'

/** Parses such an answer. */
export function parseTreeSize(body: string): number | undefined {
  const [, digits] = /^(0|[1-9]\d{0,15})\n$/.exec(body) ?? []
  const size = Number(digits)
  return Number.isSafeInteger(size) ? size : undefined
}
