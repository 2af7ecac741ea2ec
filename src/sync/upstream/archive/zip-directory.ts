import { BadArchive, badMember } from './archive-error.ts'
import { tooMany } from './archive-members.ts'
import type { UnpackLimits } from './archive-members.ts'

/** An entry of a zip directory, parsed but not validated. */
export interface ZipEntry extends ZipFields {
  readonly name: Buffer
  /** DOS attributes in the lower half, the Unix mode in the upper. */
  readonly attributes: number
  /** The offset of its local header. */
  readonly offset: number
}

/** The fields that both the directory and the local header have. */
export interface ZipFields {
  readonly flags: number
  readonly method: number
  readonly sum: number
  readonly packed: number
  readonly size: number
  readonly nameBytes: number
  readonly extraBytes: number
}

/** The directory of an archive, in its own order, and its offset. */
export interface ZipDirectory {
  readonly entries: readonly ZipEntry[]
  readonly start: number
}

/**
 * Reads the directory at the end of the archive (APPNOTE 6.3). No bytes may be between it, its end record and the end
 * of the archive.
 */
export function readZipDirectory(archive: Buffer, limits: UnpackLimits): ZipDirectory {
  const end = endRecordOf(archive)
  const disks = [archive.readUInt16LE(end + 4), archive.readUInt16LE(end + 6)]
  const [onThisDisk, count] = [archive.readUInt16LE(end + 8), archive.readUInt16LE(end + 10)]
  const [size, start] = [archive.readUInt32LE(end + 12), archive.readUInt32LE(end + 16)]
  if (count === MAX_16 || size === MAX_32 || start === MAX_32) throw isZip64()
  if (disks.some((disk) => disk !== 0) || onThisDisk !== count) throw new BadArchive('the zip is one of several parts')
  if (start + size !== end) throw new BadArchive('the zip has something between its directory and its end')
  if (count > limits.entries) throw tooMany(limits)
  const entries: ZipEntry[] = []
  let at = start
  for (let index = 0; index < count; index += 1) {
    const { entry, next } = entryAt(archive, at, end)
    if (entry.offset >= start) throw malformedDirectory()
    entries.push(entry)
    at = next
  }
  if (at !== end) throw new BadArchive('the zip file does not have the number of members that it declares')
  return { entries, start }
}

/** Reads the fields that begin with the flags. */
export function zipFieldsAt(archive: Buffer, at: number): ZipFields {
  return {
    flags: archive.readUInt16LE(at),
    method: archive.readUInt16LE(at + 2),
    sum: archive.readUInt32LE(at + 8),
    packed: archive.readUInt32LE(at + 12),
    size: archive.readUInt32LE(at + 16),
    nameBytes: archive.readUInt16LE(at + 20),
    extraBytes: archive.readUInt16LE(at + 22),
  }
}

/** Throws if an extra field would change the sizes or the name. */
export function checkExtra(extra: Buffer, name: string): void {
  for (let at = 0; at < extra.length;) {
    const next = at + 4 <= extra.length ? at + 4 + extra.readUInt16LE(at + 2) : Infinity
    if (next > extra.length) throw badMember(name, 'has malformed extra fields')
    const id = extra.readUInt16LE(at)
    if (id === ZIP64) throw isZip64()
    if (id === SECOND_NAME) throw badMember(name, 'has a second name')
    at = next
  }
}

const ZIP64 = 0x0001
const SECOND_NAME = 0x7075
const MAX_16 = 0xffff
const MAX_32 = 0xffff_ffff
const END_BYTES = 22
const ENTRY_BYTES = 46

/**
 * Finds the end record. There must be exactly one, because two readers could choose different ones. Its comment may
 * contain any bytes, and ends the archive.
 */
function endRecordOf(archive: Buffer): number {
  const found: number[] = []
  const lowest = Math.max(0, archive.length - END_BYTES - MAX_16)
  for (let at = archive.indexOf(END, lowest, 'latin1'); at !== -1; at = archive.indexOf(END, at + 1, 'latin1')) {
    const after = at + END_BYTES
    if (after <= archive.length && after + archive.readUInt16LE(at + 20) === archive.length) found.push(at)
  }
  const [end, second] = found
  if (end === undefined) throw new BadArchive('it is not a zip file, or it is cut off')
  if (second !== undefined) throw new BadArchive('the zip has two ends')
  return end
}

const END = 'PK\x05\x06'

function entryAt(archive: Buffer, at: number, end: number): { readonly entry: ZipEntry; readonly next: number } {
  const name = at + ENTRY_BYTES
  if (name > end || archive.toString('latin1', at, at + 4) !== 'PK\x01\x02') throw malformedDirectory()
  const fields = zipFieldsAt(archive, at + 8)
  const extra = name + fields.nameBytes
  const comment = extra + fields.extraBytes
  const next = comment + archive.readUInt16LE(at + 32)
  if (next > end) throw malformedDirectory()
  const [disk, attributes, offset] = [
    archive.readUInt16LE(at + 34),
    archive.readUInt32LE(at + 38),
    archive.readUInt32LE(at + 42),
  ]
  const entry = { ...fields, name: archive.subarray(name, extra), attributes, offset }
  checkExtra(archive.subarray(extra, comment), entry.name.toString())
  if ([fields.packed, fields.size, offset].includes(MAX_32)) throw isZip64()
  if (disk !== 0) throw new BadArchive('the zip is one of several parts')
  return { entry, next }
}

function malformedDirectory(): BadArchive {
  return new BadArchive('the directory of the zip is malformed')
}

function isZip64(): BadArchive {
  return new BadArchive('the zip is of the form for sizes over 4 GiB')
}
