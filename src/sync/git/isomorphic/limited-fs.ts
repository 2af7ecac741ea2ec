import fs from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import type { PromiseFsClient } from 'isomorphic-git'
import { SyncError } from '../../model/sync-error.ts'
import { LargeInPack, PackReader } from '../objects/pack-reader.ts'
import { ISOMORPHIC_BYTES } from './commit-fetch.ts'

/**
 * Wraps the file system so that packed data is checked before isomorphic-git unpacks it, because isomorphic-git has no
 * limits. `scratch` is a folder for packs while they are checked, `objects` the maximum number of objects of one.
 * `place`: where the repository is that isomorphic-git reads; in scratch, it has written every pack itself.
 */
export function limitedFs(
  { scratch, objects }: { readonly scratch: string; readonly objects: number },
  place: 'remote' | 'disk',
): PromiseFsClient {
  const { promises } = fs
  return {
    promises: {
      ...promises,
      async writeFile(path: string, bytes: Uint8Array, options?: fs.WriteFileOptions) {
        if (path.endsWith('.pack')) await weighPack(bytes, scratch, objects)
        await promises.writeFile(path, bytes, options)
      },
      async readFile(path: string, options?: { readonly encoding?: BufferEncoding }) {
        if (place === 'disk') await expectSmall(path)
        const bytes = await promises.readFile(path, options ?? {})
        if (typeof bytes === 'string') return bytes
        if (path.endsWith('.pack') && place === 'disk') await weighPack(bytes, scratch, objects)
        if (LOOSE.test(path)) inflatedWithin(bytes)
        return bytes
      },
    },
  }
}

const LOOSE = /[/\\][0-9a-f]{2}[/\\][0-9a-f]{38}$/

/** isomorphic-git reads the whole of a file for any object in it. */
async function expectSmall(path: string): Promise<void> {
  const { size } = await fs.promises.stat(path)
  if (size <= ISOMORPHIC_BYTES) return
  const what = path.endsWith('.pack') ? 'a pack' : 'a file'
  const message = `${what} of the repository has ${size} bytes, and isomorphic-git is given none over ${ISOMORPHIC_BYTES}`
  throw new SyncError('limit-exceeded', message)
}

/**
 * Scans a pack in bounded memory, on behalf of a reader without limits. Throws `source-unreachable` if it is damaged,
 * `limit-exceeded` if it has more objects, or an object exceeds `MOST_BYTES`.
 */
async function weighPack(bytes: Uint8Array, scratch: string, objects: number): Promise<void> {
  const limits = { objects, objectBytes: MOST_BYTES, stopBytes: MOST_BYTES }
  const path = join(scratch, `weighed-${(weighed += 1)}`)
  try {
    using reader = await PackReader.receive(piecesOf(bytes), path, { format: 'sha1', limits })
    if (reader.mayHaveLarge) throw tooLarge()
  } catch (error) {
    throw error instanceof LargeInPack ? tooLarge() : error
  } finally {
    fs.rmSync(path, { force: true })
  }
}

/** Throws if a loose object inflates to more than `MOST_BYTES`. */
function inflatedWithin(bytes: Uint8Array): void {
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
