import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { SyncError } from '../../model/sync-error.ts'
import { LargeInPack, PackReader } from '../objects/pack-reader.ts'

/**
 * Scans a pack in bounded memory, on behalf of a reader without limits. Throws `source-unreachable` if it is damaged,
 * `limit-exceeded` if it has more objects, or an object exceeds `MOST_BYTES`.
 */
export async function weighPack(bytes: Uint8Array, scratch: string, objects: number): Promise<void> {
  const limits = { objects, objectBytes: MOST_BYTES, stopBytes: MOST_BYTES }
  const path = join(scratch, `weighed-${(weighed += 1)}`)
  try {
    using reader = await PackReader.receive(piecesOf(bytes), path, { format: 'sha1', limits })
    if (reader.mayHaveLarge) throw tooLarge()
  } catch (error) {
    throw error instanceof LargeInPack ? tooLarge() : error
  } finally {
    rmSync(path, { force: true })
  }
}

/** Throws if a loose object inflates to more than `MOST_BYTES`. */
export function inflatedWithin(bytes: Uint8Array): void {
  try {
    inflateSync(bytes, { maxOutputLength: MOST_BYTES })
  } catch (error) {
    // Any other fault is left to the reader.
    if (error instanceof RangeError) throw tooLarge()
  }
}

let weighed = 0

const MOST_BYTES = 2 ** 26

function tooLarge(): SyncError {
  return new SyncError('limit-exceeded', `an object of the repository has more than ${MOST_BYTES} bytes`)
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

const PIECE_BYTES = 2 ** 20
