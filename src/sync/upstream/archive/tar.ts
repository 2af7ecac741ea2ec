import { BadArchive, badMember } from './archive-error.ts'
import type { ArchiveMembers } from './archive-members.ts'
import type { MemberKind } from './member-path.ts'

/** Reads the members of a tar archive (ustar, pax, or with GNU's long names) as its bytes arrive. */
export async function untar(pieces: AsyncGenerator<Buffer>, members: ArchiveMembers): Promise<void> {
  await using reader = new PieceReader(pieces)
  let said: Said | undefined
  for (let block = await takeBytes(reader, BLOCK_BYTES); !isZero(block); block = await takeBytes(reader, BLOCK_BYTES)) {
    const header = readTarHeader(block)
    const more = await saidBy(header, reader)
    if (more !== undefined && said !== undefined) throw new BadArchive('two headers of the tar are about one member')
    if (more === undefined && !isGlobal(header)) await takeMember(header, said ?? {}, reader, members)
    said = isGlobal(header) ? said : more
  }
  if (said !== undefined) throw new BadArchive('a header of the tar is about no member')
  await checkEnd(reader)
}

/** Extended headers for the next member. */
interface Said {
  readonly name?: Buffer
  readonly size?: number
}

/** `undefined` for a member itself, and for a pax header about the whole archive. */
async function saidBy(header: TarHeader, reader: PieceReader): Promise<Said | undefined> {
  switch (header.type) {
    case 'x':
      return saidByPax(await records(header, reader))
    case 'g':
      checkGlobal(await records(header, reader))
      return undefined
    case 'L':
      return { name: withoutZero(await extension(header, reader)) }
    default:
      return undefined
  }
}

function isGlobal({ type }: TarHeader): boolean {
  return type === 'g'
}

async function records(header: TarHeader, reader: PieceReader): Promise<ReadonlyMap<string, Buffer>> {
  return paxRecords(await extension(header, reader))
}

async function extension({ size }: TarHeader, reader: PieceReader): Promise<Buffer> {
  if (size > MAX_EXTENSION_BYTES) throw new BadArchive(`a header of the tar is over ${MAX_EXTENSION_BYTES} bytes`)
  return takePadded(reader, size)
}

/** Names are far shorter. This leaves room for the attributes that some systems add to each file. */
const MAX_EXTENSION_BYTES = 2 ** 16

function saidByPax(records: ReadonlyMap<string, Buffer>): Said {
  const [name, size] = [records.get('path'), records.get('size')?.toString('latin1')]
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw new BadArchive('a pax header of the tar has no such size')
  return { ...(name && { name }), ...(size !== undefined && { size: Number(size) }) }
}

/** Some readers would apply these keys to every later member, and others to none. */
function checkGlobal(records: ReadonlyMap<string, Buffer>): void {
  const key = ['path', 'size', 'linkpath'].find((key) => records.has(key))
  if (key !== undefined) throw new BadArchive(`the tar gives all of its members one "${key}"`)
}

function withoutZero(name: Buffer): Buffer {
  return name.at(-1) === 0 ? name.subarray(0, -1) : name
}

async function takeMember(header: TarHeader, said: Said, reader: PieceReader, members: ArchiveMembers): Promise<void> {
  const name = said.name ?? header.name
  const { size, executable } = header
  // A reader that uses the other size would find members inside a file.
  if (said.size !== undefined && said.size !== size) throw badMember(name.toString(), 'has two sizes')
  const path = members.enter(name, kindOf(header, name))
  if (header.type === FOLDER) {
    if (size !== 0) throw badMember(path, 'is a folder that has bytes')
    return
  }
  members.expect(path, size)
  members.add({ path, executable, bytes: await takePadded(reader, size) })
}

const FOLDER = '5'

function kindOf({ type }: TarHeader, name: Buffer): MemberKind {
  if (type === FOLDER) return 'folder'
  if (type === '0' || type === '\0') return 'file'
  const what = OTHERS.get(type) ?? `of the kind ${JSON.stringify(type)}`
  throw badMember(name.toString(), `is ${what}, and neither a file nor a folder`)
}

const OTHERS: ReadonlyMap<string, string> = new Map([
  ['1', 'a hard link'],
  ['2', 'a symbolic link'],
  ['K', 'a link'],
  ['3', 'a device'],
  ['4', 'a device'],
  ['6', 'a pipe'],
  ['S', 'a file with holes'],
])

async function takePadded(reader: PieceReader, size: number): Promise<Buffer> {
  const bytes = await takeBytes(reader, size)
  await takeBytes(reader, -size & (BLOCK_BYTES - 1))
  return bytes
}

async function takeBytes(reader: PieceReader, length: number): Promise<Buffer> {
  const bytes = await reader.take(length)
  if (bytes === undefined) throw new BadArchive('the tar ends early')
  return bytes
}

/** The end is at least two blocks of zeros, and only zeros follow the first. */
async function checkEnd(reader: PieceReader): Promise<void> {
  let zeros = 0
  for (let piece = await reader.next(); piece !== undefined; piece = await reader.next()) {
    if (!isZero(piece)) throw new BadArchive('the tar file continues after its end')
    zeros += piece.length
  }
  if (zeros < BLOCK_BYTES) throw new BadArchive('the tar ends early')
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0)
}

/** Parses the records of a pax header: consecutive `<length of the record> <key>=<value>\n`. */
function paxRecords(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const records = new Map<string, Buffer>()
  for (let at = 0; at < bytes.length;) {
    const [written, digits] = /^([1-9]\d{0,5}) /.exec(bytes.toString('latin1', at, at + 7)) ?? ['', '0']
    const end = at + Number(digits)
    const equals = bytes.indexOf('=', at + written.length)
    const isWhole = end <= bytes.length && equals > at + written.length && equals < end && bytes[end - 1] === NEWLINE
    if (written === '' || !isWhole) throw new BadArchive('a pax header of the tar is malformed')
    const key = bytes.toString('utf8', at + written.length, equals)
    if (records.has(key)) throw new BadArchive('a pax header of the tar file has a key twice')
    if (key.startsWith('GNU.sparse.')) throw new BadArchive('the tar has a file with holes')
    records.set(key, bytes.subarray(equals + 1, end - 1))
    at = end
  }
  return records
}

const NEWLINE = 10

/** Reads exact lengths from pieces of any length. Allocates nothing for bytes that did not arrive. */
class PieceReader implements AsyncDisposable {
  readonly #pieces: AsyncGenerator<Buffer>
  /** The received bytes that were not taken yet. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(pieces: AsyncGenerator<Buffer>) {
    this.#pieces = pieces
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pieces.return(undefined)
  }

  /** Returns a copy of the next bytes; `undefined` if the pieces end before. */
  async take(length: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = []
    for (let missing = length; missing > 0;) {
      const piece = await this.next()
      if (piece === undefined) return undefined
      const part = piece.subarray(0, missing)
      this.#rest = piece.subarray(part.length)
      missing -= part.length
      parts.push(part)
    }
    return Buffer.concat(parts, length)
  }

  /** Returns the available bytes; `undefined` at the end. */
  async next(): Promise<Buffer | undefined> {
    const rest = this.#rest
    this.#rest = rest.subarray(rest.length)
    if (rest.length > 0) return rest
    const next = await this.#pieces.next()
    return next.done === true ? undefined : next.value
  }
}

/** The length of a header. The bytes of each member are padded to a multiple of it. */
const BLOCK_BYTES = 512

/** The header of one member, parsed but not validated. */
interface TarHeader {
  /** The type flag: one character. */
  readonly type: string
  readonly name: Buffer
  readonly size: number
  readonly executable: boolean
}

/** Parses a header of POSIX (ustar) or GNU. Throws if its checksum is wrong, or if its numbers are not octal. */
function readTarHeader(block: Buffer): TarHeader {
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
