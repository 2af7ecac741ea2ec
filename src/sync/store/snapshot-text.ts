import { createHash } from 'node:crypto'
import { inSlices } from '../model/slices.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { canonicalPieces, isObject, jsonOf, type Item } from './json.ts'

/** Where the text of something lies: in the file of which snapshot, from which byte to which. */
interface Span {
  readonly file: string
  readonly start: number
  readonly end: number
}

/**
 * Writes snapshots, in which there may be tens of thousands of skills. What an earlier one of them had too, as the same object, is
 * copied from its file: so it takes what copying takes, and only what changed is written.
 */
export class SnapshotText {
  readonly #spans = new WeakMap<object, Span>()

  /** `bytesOf`: what lies in the file of an earlier one. It is used where it is what was written, by its digest. */
  async write(
    snapshot: Snapshot,
    bytesOf: (digest: string) => Promise<Buffer | undefined>,
    signal: AbortSignal,
  ): Promise<{ readonly digest: string; readonly bytes: Buffer }> {
    const file = this.#fileOf(snapshot)
    const earlier = file === undefined ? undefined : await unharmed(await bytesOf(file), file, signal)
    const pieces: Buffer[] = []
    const written: (readonly [item: object, start: number, end: number])[] = []
    let end = 0
    const write = (piece: string | Item): void => {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : this.#bytesOf(piece.item, file, earlier)
      pieces.push(bytes)
      const start = end
      end += bytes.length
      if (typeof piece !== 'string' && isObject(piece.item)) written.push([piece.item, start, end])
    }
    await inSlices(canonicalPieces(snapshot), write, signal)
    const bytes = Buffer.concat(pieces)
    const digest = await digestOf(bytes, signal)
    for (const [item, start, end] of written) this.#spans.set(item, { file: digest, start, end })
    return { digest, bytes }
  }

  #bytesOf(item: unknown, file: string | undefined, earlier: Buffer | undefined): Buffer {
    const span = isObject(item) ? this.#spans.get(item) : undefined
    if (earlier === undefined || span === undefined || span.file !== file) return Buffer.from(jsonOf(item))
    return earlier.subarray(span.start, span.end)
  }

  /** The file that has most of it, most likely: each one is written from the one before it. */
  #fileOf({ skills }: Snapshot): string | undefined {
    for (const skill of skills) {
      const span = this.#spans.get(skill)
      if (span !== undefined) return span.file
    }
    return undefined
  }
}

async function unharmed(bytes: Buffer | undefined, digest: string, signal: AbortSignal): Promise<Buffer | undefined> {
  return bytes !== undefined && (await digestOf(bytes, signal)) === digest ? bytes : undefined
}

/** Piece by piece: clients are answered in between. */
async function digestOf(bytes: Buffer, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  const update = (at: number): void => void hash.update(bytes.subarray(at, at + PIECE_BYTES))
  await inSlices(
    Array.from({ length: Math.ceil(bytes.length / PIECE_BYTES) }, (_, index) => index * PIECE_BYTES),
    update,
    signal,
  )
  return hash.digest('hex')
}

const PIECE_BYTES = 2 ** 20
