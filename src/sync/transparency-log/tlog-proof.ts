import { openCheckpoint } from './checkpoint.ts'
import type { OpenedCheckpoint } from './checkpoint.ts'
import { HASH_BYTES, isIncluded, leafHash } from './merkle-tree.ts'
import { NoteRefusedError } from './signed-note.ts'
import type { NoteVerifier } from './signed-note.ts'

/** A proof that a log has an entry, which needs nothing but the keys of the log (c2sp.org/tlog-proof). */
export interface LogProof {
  /** The index of the entry in the log. */
  readonly index: number
  /** The audit path of the entry, from the entry up. */
  readonly hashes: readonly Uint8Array[]
  /** The signed head of the log, as the log has signed it. */
  readonly checkpoint: string
  /** Further bytes. Nothing vouches for them, unless the hash of the entry is computed from them. */
  readonly extra?: Uint8Array
}

/** The reason why a proof is not accepted. */
export class ProofRefusedError extends Error {}

/** Writes the proof in its text form. */
export function encodeProof({ index, hashes, checkpoint, extra }: LogProof): string {
  const lines = [
    FIRST_LINE,
    ...(extra === undefined ? [] : [`${EXTRA}${base64Of(extra)}`]),
    `${INDEX}${index}`,
    ...hashes.map(base64Of),
  ]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Reads a proof in its text form. Throws `ProofRefusedError` for any other text; the checkpoint is not read. */
export function parseProof(text: string): LogProof {
  if (text.length > MOST_PROOF_CHARACTERS)
    throw new ProofRefusedError(`it has over ${MOST_PROOF_CHARACTERS} characters`)
  const end = text.indexOf('\n\n')
  if (end === -1) throw new ProofRefusedError('it has no checkpoint')
  const [first, ...rest] = text.slice(0, end).split('\n')
  if (first !== FIRST_LINE) throw new ProofRefusedError(`it does not begin with "${FIRST_LINE}"`)
  const extra = rest[0]?.startsWith(EXTRA) === true ? bytesIn(rest[0].slice(EXTRA.length)) : undefined
  const [second = '', ...path] = extra === undefined ? rest : rest.slice(1)
  const number = second.startsWith(INDEX) ? second.slice(INDEX.length) : ''
  if (!/^(?:0|[1-9]\d{0,15})$/.test(number) || !Number.isSafeInteger(Number(number)))
    throw new ProofRefusedError('it has no valid index')
  if (path.length > MOST_HASHES) throw new ProofRefusedError(`it has over ${MOST_HASHES} hashes`)
  const hashes = path.map(bytesIn)
  if (hashes.some(({ length }) => length !== HASH_BYTES)) throw new ProofRefusedError('it has a line that is no hash')
  return { index: Number(number), hashes, checkpoint: text.slice(end + 2), ...(extra && { extra }) }
}

/**
 * Returns the checkpoint of the proof, once one of the keys has signed it and it is shown to cover the entry. Throws
 * `ProofRefusedError` otherwise.
 */
export function openProof(
  proof: LogProof,
  entry: Uint8Array,
  origin: string,
  verifiers: readonly NoteVerifier[],
): OpenedCheckpoint {
  const checkpoint = opened(proof.checkpoint, origin, verifiers)
  const { size, root } = checkpoint
  if (isIncluded({ leaf: leafHash(entry), index: proof.index, size, root }, proof.hashes)) return checkpoint
  throw new ProofRefusedError(`it does not show that the entry is at ${proof.index} of a log of ${size}`)
}

function opened(note: string, origin: string, verifiers: readonly NoteVerifier[]): OpenedCheckpoint {
  try {
    return openCheckpoint(note, origin, verifiers)
  } catch (error) {
    if (error instanceof NoteRefusedError) throw new ProofRefusedError(`of its checkpoint, ${error.message}`)
    throw error
  }
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function bytesIn(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64')
  if (base64 === '' || base64Of(bytes) !== base64) throw new ProofRefusedError('it has a line that is no base64')
  return bytes
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
const EXTRA = 'extra '
const INDEX = 'index '

/** A tree whose size is a safe integer has no longer path. */
const MOST_HASHES = 53

/** Room for the longest note, the longest path, and some kilobytes of further bytes. */
const MOST_PROOF_CHARACTERS = 2 ** 17
