import { BadArchive, badMember } from './archive-error.ts'

/** The length of a header. The bytes of each member are padded to a multiple of it. */
export const BLOCK_BYTES = 512

/** The header of one member, parsed but not validated. */
export interface TarHeader {
  /** The type flag: one character. */
  readonly type: string
  readonly name: Buffer
  readonly size: number
  readonly executable: boolean
}

/** Parses a header of POSIX (ustar) or GNU. Throws if its checksum is wrong, or if its numbers are not octal. */
export function readTarHeader(block: Buffer): TarHeader {
  if (octalAt(block, 148, 8) !== sumOf(block))
    throw new BadArchive('a header of the tar file does not have the checksum that it declares')
  const magic = block.toString('latin1', 257, 263)
  if (magic !== USTAR && magic !== GNU) throw new BadArchive('a header of the tar is neither POSIX nor GNU')
  // GNU has times in the place of POSIX's prefix for long names.
  const prefix = magic === USTAR ? textAt(block, 345, 155) : NOTHING
  const name = textAt(block, 0, 100)
  const whole = prefix.length === 0 ? name : Buffer.concat([prefix, SLASH, name])
  const [mode, size] = [octalAt(block, 100, 8), octalAt(block, 124, 12)]
  if (mode === undefined) throw badMember(whole.toString(), 'has a mode that is not an octal number')
  // Sizes from 8 GiB on have another format; they exceed any limit.
  if (size === undefined) throw badMember(whole.toString(), 'has a size that is not an octal number')
  return { type: block.toString('latin1', 156, 157), name: whole, size, executable: (mode & 0o100) !== 0 }
}

const USTAR = 'ustar\0'
const GNU = 'ustar '
const NOTHING = Buffer.alloc(0)
const SLASH = Buffer.from('/')

/** The checksum field itself counts as spaces. */
function sumOf(block: Buffer): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0)
}

function octalAt(block: Buffer, at: number, length: number): number | undefined {
  const [, digits] = /^ *([0-7]+)[ \0]*$/.exec(block.toString('latin1', at, at + length)) ?? []
  return digits === undefined ? undefined : Number.parseInt(digits, 8)
}

function textAt(block: Buffer, at: number, length: number): Buffer {
  const field = block.subarray(at, at + length)
  const zero = field.indexOf(0)
  return zero === -1 ? field : field.subarray(0, zero)
}
