import { closeSync, fstatSync, readSync } from 'node:fs'
import { constants, inflateSync } from 'node:zlib'
import { Malformed } from '../../../base/malformed.ts'
import type { GitObject, ObjectType } from '../../upstream/objects/git-object.ts'
import { inflatedObject, mostBytes, openedToRead } from './pack-file.ts'

/** A loose object whose header was read. */
export interface LooseObject extends Disposable {
  readonly size: number
  read(): GitObject
}

/** Opens a loose object; `undefined` if there is none. Throws `Malformed` if the bytes are not an object. */
export function openLoose(path: string): LooseObject | undefined {
  const handle = openedIfThere(path)
  if (handle === undefined) return undefined
  const close = (): void => closeSync(handle)
  try {
    const { type, size, length } = headerOf(handle)
    return { size, read: () => ({ type, bytes: contentOf(handle, length, size) }), [Symbol.dispose]: close }
  } catch (cause) {
    close()
    throw cause
  }
}

function openedIfThere(path: string): number | undefined {
  try {
    return openedToRead(path)
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR'))
      return undefined
    throw cause
  }
}

/** Parses `<type> <size>` and a NUL, which are compressed together with the content. */
function headerOf(handle: number): { readonly type: ObjectType; readonly size: number; readonly length: number } {
  const packed = Buffer.alloc(PEEK_BYTES)
  const read = readSync(handle, packed, 0, packed.length, 0)
  const start = inflateSync(packed.subarray(0, read), { finishFlush: constants.Z_SYNC_FLUSH })
  const [header, type, digits] =
    /^(commit|tree|blob|tag) (0|[1-9]\d{0,14})\0/.exec(start.toString('latin1', 0, 32)) ?? []
  if (header === undefined || !isType(type)) throw new Malformed('a loose object has no header')
  return { type, size: Number(digits), length: header.length }
}

/** Enough for the tables of a deflate block and the header. */
const PEEK_BYTES = 1024

function contentOf(handle: number, headerBytes: number, size: number): Buffer {
  const whole = headerBytes + size
  const length = fstatSync(handle).size
  if (length > mostBytes(whole)) throw new Malformed('a loose object is larger than it declares')
  const packed = Buffer.allocUnsafe(length)
  for (let at = 0; at < length;) {
    const read = readSync(handle, packed, at, length - at, at)
    if (read === 0) throw new Malformed('a loose object ends early')
    at += read
  }
  const result = inflatedObject(packed, whole)
  if (result === undefined) throw new Malformed('a loose object ends early')
  return result.bytes.subarray(headerBytes)
}

function isType(text: string | undefined): text is ObjectType {
  return text === 'commit' || text === 'tree' || text === 'blob' || text === 'tag'
}
