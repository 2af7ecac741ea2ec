import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { ObjectId } from '../../model/revision.ts'
import { createObjectHash } from './git-object.ts'

/** Returns the SHA-256 id of a blob. A large one is hashed in pieces, so that clients are served in between. */
export async function pacedBlobId(bytes: Buffer): Promise<ObjectId> {
  const blob = createObjectHash('blob', bytes.length, 'sha256')
  await feed(bytes, (piece) => blob.update(piece))
  return blob.objectId()
}

/** Returns the SHA-256 of the bytes, also in pieces. */
export async function pacedDigest(bytes: Buffer): Promise<string> {
  const digest = createHash('sha256')
  await feed(bytes, (piece) => digest.update(piece))
  return digest.digest('hex')
}

async function feed(bytes: Buffer, update: (piece: Buffer) => void): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await setImmediate()
    update(bytes.subarray(at, at + PIECE_BYTES))
  }
}

/** Takes some milliseconds on a slow machine. */
const PIECE_BYTES = 2 ** 20
