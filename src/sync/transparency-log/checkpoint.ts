import { HASH_BYTES } from './merkle-tree.ts'
import type { TreeHead } from './merkle-tree.ts'
import { NoteRefusedError, openNote, signNote } from './signed-note.ts'
import type { NoteSigner, NoteVerifier } from './signed-note.ts'

/** The head of a log, as a log signs it (c2sp.org/tlog-checkpoint). */
export interface Checkpoint extends TreeHead {
  /** The name of the log. */
  readonly origin: string
}

/** Signs the head of a log. */
export function signCheckpoint({ origin, size, root }: Checkpoint, signers: readonly NoteSigner[]): string {
  return signNote(`${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`, signers)
}

/** A checkpoint with the keys that have signed it. */
export interface OpenedCheckpoint extends Checkpoint {
  /** The text that they have signed. */
  readonly text: string
  /** The keys of the log. */
  readonly signers: readonly NoteVerifier[]
  /** The keys of witnesses. */
  readonly cosigners: readonly NoteVerifier[]
}

/**
 * Reads the head of a log. Throws `NoteRefusedError` if no known key of the log has signed it, if a signature of a known key is
 * invalid, if it is of another log, or if it has the wrong form. Extension lines are ignored.
 */
export function openCheckpoint(note: string, origin: string, verifiers: readonly NoteVerifier[]): OpenedCheckpoint {
  const { text, signers: all } = openNote(note, verifiers)
  const signers = all.filter(({ type }) => type === 'note')
  if (signers.length === 0) throw new NoteRefusedError('no known key of the log has signed it')
  return { ...headIn(text, origin), text, signers, cosigners: all.filter(({ type }) => type === 'cosignature') }
}

/** Reads the head of a log that its caller has itself, whatever has signed it. Throws `NoteRefusedError` for another form. */
export function readCheckpoint(note: string, origin: string): Checkpoint {
  return headIn(note, origin)
}

function headIn(text: string, origin: string): Checkpoint {
  const [named = '', size = '', hash = ''] = text.split('\n', 3)
  if (named !== origin) throw new NoteRefusedError(`it is of the log "${named}", not of "${origin}"`)
  const root = Buffer.from(hash, 'base64')
  if (!/^(?:0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size)))
    throw new NoteRefusedError('it has no valid size')
  if (root.length !== HASH_BYTES || root.toString('base64') !== hash)
    throw new NoteRefusedError('it has no valid root hash')
  return { origin, size: Number(size), root }
}
