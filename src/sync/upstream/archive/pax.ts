import { BadArchive } from './archive-error.ts'

/** Parses the records of a pax header: consecutive `<length of the record> <key>=<value>\n`. */
export function paxRecords(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const records = new Map<string, Buffer>()
  for (let at = 0; at < bytes.length;) {
    const [written, digits] = /^([1-9]\d{0,5}) /.exec(bytes.toString('latin1', at, at + 7)) ?? ['', '0']
    const end = at + Number(digits)
    const equals = bytes.indexOf('=', at + written.length)
    const isWhole = end <= bytes.length && equals > at + written.length && equals < end && bytes[end - 1] === NEWLINE
    if (written === '' || !isWhole) throw new BadArchive('a pax header of the tar is malformed')
    const key = bytes.toString('utf8', at + written.length, equals)
    if (records.has(key)) throw new BadArchive('a pax header of the tar says something twice')
    if (key.startsWith('GNU.sparse.')) throw new BadArchive('the tar has a file with holes')
    records.set(key, bytes.subarray(equals + 1, end - 1))
    at = end
  }
  return records
}

const NEWLINE = 10
