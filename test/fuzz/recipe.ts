import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { PackFile } from '../../src/sync/git/objects/pack-file.ts'
import type { ObjectFormat } from '../../src/sync/model/revision.ts'

/**
 * A pack written so that each byte of it can be changed and it still unfolds: for each object its type, a byte that is added
 * to the size it says, which object is its base, two bytes of length, and what is in it before it is packed.
 */
export function packOf(recipe: Buffer): Buffer {
  const steps = stepsOf(recipe)
  const offsets: number[] = []
  const parts: Buffer[] = [head(steps.length)]
  let at = 12
  for (const { type, lie, base, content } of steps) {
    offsets.push(at)
    // Sometimes a larger number is a base that is not there, or that comes later.
    const from = offsets[base] ?? 0
    const named = type === OFS_DELTA ? distance(at - from) : type === REF_DELTA ? idOf(steps[base]) : Buffer.alloc(0)
    const object = Buffer.concat([sized(type, Math.max(content.length + lie, 0)), named, deflateSync(content)])
    parts.push(object)
    at += object.length
  }
  return withChecksum(Buffer.concat(parts), 'sha1')
}

/** The recipe of a pack that is whole, with bases named by where they lie. */
export function recipeOf(path: string): Buffer {
  using file = new PackFile(path, 'sha1')
  const places = new Map<number, number>()
  const parts: Buffer[] = []
  for (let at = file.start, index = 0; index < file.count; index += 1) {
    const header = file.header(at)
    const { stored } = header
    const { bytes, next } = file.inflate(header)
    places.set(at, index)
    const base = stored.kind === 'delta' && typeof stored.base === 'number' ? (places.get(stored.base) ?? 0) : 0
    const type = stored.kind === 'delta' ? OFS_DELTA : TYPES.indexOf(stored.type)
    const content = bytes.subarray(0, 0xffff)
    parts.push(Buffer.from([type, 0, base, content.length >> 8, content.length & 255]), content)
    at = next
  }
  return Buffer.concat(parts)
}

/** The bytes and the checksum that a pack ends with. */
export function withChecksum(body: Buffer, format: ObjectFormat): Buffer {
  return Buffer.concat([body, createHash(format).update(body).digest()])
}

interface Step {
  readonly type: number
  readonly lie: number
  readonly base: number
  readonly content: Buffer
}

function stepsOf(recipe: Buffer): readonly Step[] {
  const steps: Step[] = []
  for (let at = 0; at + 5 <= recipe.length;) {
    const [type, lie, base, length] = [
      recipe[at]!,
      recipe.readInt8(at + 1),
      recipe[at + 2]!,
      recipe.readUInt16BE(at + 3),
    ]
    steps.push({ type: type & 7, lie, base, content: recipe.subarray(at + 5, at + 5 + length) })
    at += 5 + length
  }
  return steps
}

function head(count: number): Buffer {
  const bytes = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1')
  bytes.writeUInt32BE(count, 8)
  return bytes
}

/** Four bits and then seven a byte, lowest first. */
function sized(type: number, size: number): Buffer {
  const bytes: number[] = []
  let low = (type << 4) | (size & 15)
  for (let left = size >> 4; left > 0; left >>= 7) {
    bytes.push(low | 128)
    low = left & 127
  }
  return Buffer.from([...bytes, low])
}

/** Seven bits a byte, highest first, each byte but the last adding one. */
function distance(value: number): Buffer {
  const bytes = [value & 127]
  for (let left = (value >> 7) - 1; left >= 0; left = (left >> 7) - 1) bytes.unshift((left & 127) | 128)
  return Buffer.from(bytes)
}

/** Of an object that is stored whole. For others it is the id of something that is not there. */
function idOf(step: Step | undefined): Buffer {
  const { type = 3, content = Buffer.alloc(0) } = step ?? {}
  const name = TYPES[type] ?? 'none'
  return createHash('sha1').update(`${name} ${content.length}\0`).update(content).digest()
}

const TYPES: readonly (string | undefined)[] = [undefined, 'commit', 'tree', 'blob', 'tag']
const OFS_DELTA = 6
const REF_DELTA = 7
