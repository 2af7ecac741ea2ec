import { crc32, deflateRawSync, gzipSync } from 'node:zlib'

/** One member of a tar as it is written, true or not. */
export interface TarMember {
  readonly name: string | Buffer
  readonly type?: string
  readonly content?: string | Buffer
  readonly mode?: number
  /** Without it, that of the content. */
  readonly size?: number
  readonly prefix?: string
  readonly link?: string
  readonly magic?: string
  /** Added to the right sum. */
  readonly wrongBy?: number
}

/** The end of a tar. */
export const TAR_END = Buffer.alloc(1024)

/** A gzipped tar of these members. */
export function tarGz(...members: readonly TarMember[]): Buffer {
  return gzipSync(tar(...members))
}

export function tar(...members: readonly TarMember[]): Buffer {
  return Buffer.concat([...members.map(tarMember), TAR_END])
}

export function tarMember(member: TarMember): Buffer {
  const content = Buffer.from(member.content ?? '')
  const header = Buffer.alloc(512)
  Buffer.from(member.name).copy(header, 0)
  header.write(`${(member.mode ?? 0o644).toString(8).padStart(7, '0')}\0`, 100, 'latin1')
  header.write('0001750\x000001750\0', 108, 'latin1')
  header.write(`${(member.size ?? content.length).toString(8).padStart(11, '0')}\0`, 124, 'latin1')
  header.write('14000000000\0        ', 136, 'latin1')
  header.write(member.type ?? '0', 156, 'latin1')
  header.write(member.link ?? '', 157)
  header.write(member.magic ?? 'ustar\x0000', 257, 'latin1')
  header.write(member.prefix ?? '', 345)
  const sum = header.reduce((total, byte) => total + byte, member.wrongBy ?? 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return Buffer.concat([header, content, Buffer.alloc(-content.length & 511)])
}

/** A pax header with these records, of the next member or with the type `g` of all. */
export function pax(records: Readonly<Record<string, string | number>>, type: 'x' | 'g' = 'x'): TarMember {
  const content = Object.entries(records).map(([key, value]) => paxRecord(`${key}=${value}\n`))
  return { name: 'PaxHeaders/member', type, content: content.join('') }
}

/** The length counts itself. */
function paxRecord(text: string): string {
  const length = Buffer.byteLength(text) + 1
  const digits = String(length + String(length).length).length
  return `${length + digits} ${text}`
}

/** One member of a zip as it is written, true or not. */
export interface ZipMember {
  readonly name: string | Buffer
  readonly content?: string | Buffer
  /** Unix, type and permissions. */
  readonly mode?: number
  readonly dos?: number
  readonly method?: number
  readonly flags?: number
  readonly extra?: Buffer
  /** What the directory says. */
  readonly said?: Partial<Said>
  /** What its own header says; without it, what the directory says. */
  readonly local?: Partial<Said> & { readonly name?: string; readonly flags?: number; readonly extra?: Buffer }
  /** Follows the bytes. */
  readonly after?: Buffer
  /** In place of the packed content. */
  readonly data?: Buffer
}

interface Said {
  readonly sum: number
  readonly packed: number
  readonly size: number
}

/** What is changed of the record at the end. */
export interface ZipEnd {
  readonly comment?: Buffer
  readonly count?: number
  readonly disk?: number
  readonly between?: Buffer
  /** Whether the directory begins with the last member. */
  readonly isReversed?: boolean
}

export function zip(...members: readonly ZipMember[]): Buffer {
  return zipWith({}, ...members)
}

export function zipWith(end: ZipEnd, ...members: readonly ZipMember[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const member of members) {
    const { local, central } = zipMember(member, offset)
    locals.push(local)
    directory.push(central)
    offset += local.length
  }
  if (end.isReversed) directory.reverse()
  const size = Buffer.concat(directory).length
  const count = end.count ?? members.length
  const comment = end.comment ?? Buffer.alloc(0)
  const record = [le32(0x06054b50), le16(end.disk ?? 0, 0, count, count), le32(size, offset), le16(comment.length)]
  return Buffer.concat([...locals, ...directory, end.between ?? Buffer.alloc(0), ...record, comment])
}

/** The sum and the sizes as they follow the bytes of a member whose header leaves them open. */
export function descriptorOf(content: string, packed: number, signed = true): Buffer {
  const values = le32(crc32(content), packed, Buffer.byteLength(content))
  return signed ? Buffer.concat([le32(0x08074b50), values]) : values
}

/** Two such headers say of one member what it is: this one and that in the directory. */
function zipMember(member: ZipMember, offset: number): { readonly local: Buffer; readonly central: Buffer } {
  const content = Buffer.from(member.content ?? '')
  const method = member.method ?? 8
  const data = member.data ?? (method === 0 ? content : deflateRawSync(content))
  const said = { sum: crc32(content), packed: data.length, size: content.length, ...member.said }
  const own = { ...said, ...member.local }
  const [name, ownName] = [Buffer.from(member.name), Buffer.from(member.local?.name ?? member.name)]
  const [flags, extra] = [member.flags ?? 0x0800, member.extra ?? Buffer.alloc(0)]
  const ownExtra = member.local?.extra ?? extra
  const common = (flags: number, { sum, packed, size }: Said) =>
    Buffer.concat([le16(20, flags, method, 0, 0x21), le32(sum, packed, size)])
  const attributes = ((member.mode ?? 0o100644) * 2 ** 16 + (member.dos ?? 0)) % 2 ** 32
  return {
    local: joined(
      [le32(0x04034b50), common(member.local?.flags ?? flags, own), le16(ownName.length, ownExtra.length)],
      [ownName, ownExtra, data, member.after ?? Buffer.alloc(0)],
    ),
    central: joined(
      [le32(0x02014b50), le16(0x0314), common(flags, said), le16(name.length, extra.length)],
      [le16(0, 0, 0), le32(attributes, offset), name, extra],
    ),
  }
}

function joined(...parts: readonly (readonly Buffer[])[]): Buffer {
  return Buffer.concat(parts.flat())
}

export function le16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length)
  values.forEach((value, at) => bytes.writeUInt16LE(value, 2 * at))
  return bytes
}

export function le32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => bytes.writeUInt32LE(value, 4 * at))
  return bytes
}
