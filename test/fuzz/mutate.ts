import type { Dice } from './dice.ts'

/** The bytes with one to eight changes; `others` are what pieces are taken from. */
export function mutated(bytes: Buffer, others: readonly Buffer[], dice: Dice): Buffer {
  let result: Buffer = Buffer.from(bytes)
  for (let left = 1 << dice.below(4); left > 0; left -= 1) result = dice.oneOf(CHANGES)(result, others, dice)
  return result
}

type Change = (bytes: Buffer, others: readonly Buffer[], dice: Dice) => Buffer

const CHANGES: readonly Change[] = [flip, flip, set, number, number, cut, end, duplicate, splice]

/** Numbers at which something overflows, changes its sign or has one more byte. */
const NUMBERS = [0, 1, 2, 3, 4, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 4096, 0x7fff, 0xffff, 0x10000, 0xffffff]
const LARGE = [...NUMBERS, 0x1000000, 0x7fffffff, 0x80000000, 0xffffffff]

function flip(bytes: Buffer, _: readonly Buffer[], dice: Dice): Buffer {
  if (bytes.length === 0) return bytes
  const at = dice.below(bytes.length)
  bytes[at] = bytes.readUInt8(at) ^ (1 << dice.below(8))
  return bytes
}

function set(bytes: Buffer, _: readonly Buffer[], dice: Dice): Buffer {
  if (bytes.length > 0) bytes[dice.below(bytes.length)] = dice.below(256)
  return bytes
}

/** Over what is there: of one to four bytes, in either order, or in groups of seven bits; or in hex, as lines are measured. */
function number(bytes: Buffer, _: readonly Buffer[], dice: Dice): Buffer {
  const value = dice.oneOf(LARGE)
  const written = dice.oneOf([littleEnd, bigEnd, sevenBits, hex])(value)
  written.copy(bytes, dice.below(bytes.length + 1))
  return bytes
}

function littleEnd(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; bytes.length === 0 || left > 0; left = Math.floor(left / 256)) bytes.push(left % 256)
  return Buffer.from(bytes)
}

function bigEnd(value: number): Buffer {
  return Buffer.from(littleEnd(value).toReversed())
}

function sevenBits(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; bytes.length === 0 || left > 0; left = Math.floor(left / 128)) bytes.push((left % 128) | 128)
  bytes[bytes.length - 1]! &= 127
  return Buffer.from(bytes)
}

function hex(value: number): Buffer {
  return Buffer.from((value % 0x10000).toString(16).padStart(4, '0'))
}

function cut(bytes: Buffer, _: readonly Buffer[], dice: Dice): Buffer {
  const [from, to] = stretch(bytes, dice)
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
}

function end(bytes: Buffer, _: readonly Buffer[], dice: Dice): Buffer {
  return Buffer.from(bytes.subarray(0, dice.below(bytes.length + 1)))
}

function duplicate(bytes: Buffer, _: readonly Buffer[], dice: Dice): Buffer {
  return inserted(bytes, bytes.subarray(...stretch(bytes, dice)), dice)
}

function splice(bytes: Buffer, others: readonly Buffer[], dice: Dice): Buffer {
  const other = dice.oneOf(others)
  return inserted(bytes, other.subarray(...stretch(other, dice)), dice)
}

function inserted(bytes: Buffer, piece: Buffer, dice: Dice): Buffer {
  const at = dice.below(bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)])
}

/** Short ones more often than long ones. */
function stretch(bytes: Buffer, dice: Dice): [number, number] {
  const from = dice.below(bytes.length + 1)
  return [from, from + dice.below(1 + Math.min(bytes.length - from, 1 << dice.below(12)))]
}
