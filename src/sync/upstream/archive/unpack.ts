import { crc32 } from 'node:zlib'
import { BadArchive, TooLargeArchive } from './archive-error.ts'
import { ArchiveMembers } from './archive-members.ts'
import type { UnpackedFile, UnpackLimits } from './archive-members.ts'
import { inflatedStream } from './inflate.ts'
import { untar } from './tar.ts'
import { unzip } from './zip.ts'

/** The archive formats of skills before July 2026. */
export type ArchiveForm = 'tar.gz' | 'zip'

/**
 * The files of an archive, sorted by raw path bytes, and their total size; or the reason for its refusal, and the bytes
 * that were unpacked until then.
 */
export type Unpacked =
  | { readonly ok: true; readonly files: readonly UnpackedFile[]; readonly bytes: number }
  | { readonly ok: false; readonly why: string; readonly bytes: number; readonly isTooLarge?: true }

/** The default limits. */
export const UNPACK_LIMITS: UnpackLimits = {
  bytes: 50 * 2 ** 20,
  entries: 1024,
  depth: 32,
  pathBytes: 1024,
  segmentBytes: 200,
}

/** Returns the form by the declared type; if that is not an archive's, by the suffix of the URI. */
export function archiveFormOf(mimeType: string | undefined, uri: string): ArchiveForm | undefined {
  const essence = mimeType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const end = uri.slice(-8).toLowerCase()
  return MIME_TYPES.get(essence) ?? [...SUFFIXES].find(([suffix]) => end.endsWith(suffix))?.[1]
}

/**
 * Unpacks an archive of one skill in memory. One bad member refuses the whole archive. Every link is refused, and so is
 * everything that two readers could interpret differently. Rejects only with the signal's reason.
 */
export async function unpack(
  archive: Uint8Array,
  form: ArchiveForm,
  limits: UnpackLimits,
  signal: AbortSignal,
): Promise<Unpacked> {
  const members = new ArchiveMembers(limits)
  try {
    await take(Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength), form, members, signal)
    return { ok: true, ...members.all() }
  } catch (error) {
    if (!(error instanceof BadArchive)) throw error
    const isTooLarge = error instanceof TooLargeArchive
    // A header can declare bytes that do not exist.
    const bytes = Math.min(members.reached, archive.byteLength * MOST_INFLATED)
    return { ok: false, why: error.message, bytes, ...(isTooLarge && { isTooLarge }) }
  }
}

async function take(archive: Buffer, form: ArchiveForm, members: ArchiveMembers, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  switch (form) {
    case 'tar.gz': {
      const { bytes, entries } = members.limits
      return untar(gunzipStream(archive, bytes + TAR_END_BYTES + entries * TAR_MEMBER_BYTES, signal), members)
    }
    case 'zip':
      return unzip(archive, members, signal)
  }
}

/** The maximum inflated bytes per compressed byte. */
const MOST_INFLATED = 1032

/** The overhead of a tar in addition to its files: the headers and padding of each member, and the zeros at the end. */
const TAR_MEMBER_BYTES = 2 ** 13
const TAR_END_BYTES = 2 ** 16

const MIME_TYPES: ReadonlyMap<string, ArchiveForm> = new Map([
  ['application/gzip', 'tar.gz'],
  ['application/x-gzip', 'tar.gz'],
  ['application/x-compressed-tar', 'tar.gz'],
  ['application/zip', 'zip'],
  ['application/x-zip-compressed', 'zip'],
])

const SUFFIXES: ReadonlyMap<string, ArchiveForm> = new Map([
  ['.tar.gz', 'tar.gz'],
  ['.tgz', 'tar.gz'],
  ['.zip', 'zip'],
])

/**
 * Yields the bytes of a gzip file (RFC 1952) on demand, at most `most`. The checksum is verified at the end. The file
 * must have exactly one member: Node's own reader joins several, and ignores trailing data.
 */
export async function* gunzipStream(file: Buffer, most: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const start = startOf(file)
  const { used, size, sum } = yield* inflatedStream(file.subarray(start), most, 'the archive', signal)
  const end = start + used
  if (file.length < end + TRAILER_BYTES) throw new BadArchive('the gzip file ends early')
  if (file.readUInt32LE(end) !== sum) throw new BadArchive('the gzip file does not have the checksum that it declares')
  if (file.readUInt32LE(end + 4) !== size % 2 ** 32)
    throw new BadArchive('the gzip file does not have the size that it declares')
  if (file.length > end + TRAILER_BYTES) throw new BadArchive('the gzip file continues after its first member')
}

const HEADER_BYTES = 10
const TRAILER_BYTES = 8

/** Returns the start of the deflate stream. */
function startOf(file: Buffer): number {
  const isGzip = file.length >= HEADER_BYTES && file.readUInt16BE(0) === 0x1f8b && file.readUInt8(2) === 8
  if (!isGzip) throw new BadArchive('it is not a gzip file')
  const flags = file.readUInt8(3)
  if (flags > 31) throw new BadArchive('the gzip file has unknown flags')
  let at = HEADER_BYTES
  if ((flags & EXTRA) !== 0) at = within(file, at + 2) + file.readUInt16LE(at)
  if ((flags & NAME) !== 0) at = afterZero(file, at)
  if ((flags & COMMENT) !== 0) at = afterZero(file, at)
  if ((flags & HEADER_SUM) === 0) return within(file, at)
  const sum = crc32(file.subarray(0, at)) & 0xffff
  if (file.readUInt16LE(within(file, at + 2) - 2) !== sum) throw new BadArchive('the gzip file has a damaged header')
  return at + 2
}

const HEADER_SUM = 2
const EXTRA = 4
const NAME = 8
const COMMENT = 16

function within(file: Buffer, at: number): number {
  if (at > file.length) throw new BadArchive('the gzip file ends early')
  return at
}

function afterZero(file: Buffer, at: number): number {
  const zero = file.indexOf(0, within(file, at))
  if (zero === -1) throw new BadArchive('the gzip file ends early')
  return zero + 1
}
