import { createHash, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Malformed } from '../../src/base/malformed.ts'
import { readPushEnd } from '../../src/features/marketplace/git/receive-pack.ts'
import { applyDelta } from '../../src/sync/git/objects/pack-objects.ts'
import { PackReader } from '../../src/sync/git/objects/pack-reader.ts'
import { guardAnswer, packets } from '../../src/sync/git/smart-http/pkt-line.ts'
import type { ObjectFormat, ObjectId } from '../../src/sync/model/revision.ts'
import { Unproven } from '../../src/sync/model/signers.ts'
import { SyncError } from '../../src/sync/model/sync-error.ts'
import { BadArchive } from '../../src/sync/upstream/archive/archive-error.ts'
import type { GitObject } from '../../src/sync/upstream/objects/git-object.ts'
import { parseTree } from '../../src/sync/upstream/objects/tree-object.ts'
import { ARCHIVES } from './archives.ts'
import { DOCUMENTS } from './documents.ts'
import { GIT_REQUESTS } from './git-requests.ts'
import { MESSAGES } from './messages.ts'
import { PROOFS } from './proofs.ts'
import { packOf } from './recipe.ts'
import { SETTINGS } from './settings.ts'
import { SIGNATURES } from './signatures.ts'
import { expect } from './target.ts'
import type { Target } from './target.ts'

/** Readers of what git servers send. */
const GIT = {
  pack: (bytes, scratch) => readPack(bytes, scratch, 'sha1'),
  'sha256-pack': (bytes, scratch) => readPack(bytes, scratch, 'sha256'),
  recipe: (bytes, scratch) => readPack(packOf(bytes), scratch, 'sha1'),
  delta: async (bytes) => {
    const length = bytes.length < 2 ? 0 : bytes.readUInt16BE(0)
    const [base, delta] = [bytes.subarray(2, 2 + length), bytes.subarray(2 + length)]
    const result = applyDelta(delta, base, OBJECT_BYTES)
    expect(result === undefined || result.length <= OBJECT_BYTES, 'the result of a delta is over the limit')
  },
  answer: async (bytes) => {
    let carried = 0
    for await (const line of packets(guardAnswer(pieces(bytes), 'Cannot read'))) carried += line.length
    expect(carried <= bytes.length * 3, 'more came out than went in')
  },
  report: async (bytes) => {
    for (const hasSideBand of [true, false]) {
      const end = await readPushEnd(guardAnswer(pieces(bytes), 'Cannot push'), hasSideBand, 'refs/heads/main')
      const why = end?.kind === 'refused' ? end.why : ''
      expect(!/\p{Cc}/u.test(why) && why.length <= 300, 'a refusal is not printable')
      expect(end?.kind !== 'taken' || bytes.includes('ok refs/heads/main'), 'a push is taken without a report')
    }
  },
  tree: async (bytes) => {
    const entries = parseTree(bytes, 'sha1', 200)
    const names = entries.flatMap(({ kind, name }) => (kind.startsWith('unusable') ? [] : [name]))
    expect(new Set(names).size === names.length, 'a name is there twice')
    expect(!names.some((name) => name.includes('/') || name === '..'), 'a name leads elsewhere')
  },
} as const satisfies Readonly<Record<string, Target>>

const TARGETS = {
  ...GIT,
  ...DOCUMENTS,
  ...SIGNATURES,
  ...ARCHIVES,
  ...MESSAGES,
  ...GIT_REQUESTS,
  ...SETTINGS,
  ...PROOFS,
}

export type TargetKind = keyof typeof TARGETS

function isTargetKind(text: string): text is TargetKind {
  return Object.hasOwn(TARGETS, text)
}

/** All of them. */
export const KINDS: readonly TargetKind[] = Object.keys(TARGETS).filter(isTargetKind)

/** Reads the bytes as what they pretend to be. Throws if that went wrong in any way but by saying no. */
export async function readHostile(kind: TargetKind, bytes: Buffer, scratch: string): Promise<'read' | 'refused'> {
  try {
    await TARGETS[kind](bytes, scratch)
    return 'read'
  } catch (error) {
    if (isRefusal(error)) return 'refused'
    throw error
  }
}

const OBJECT_BYTES = 2 ** 20

async function readPack(bytes: Buffer, scratch: string, format: ObjectFormat): Promise<void> {
  const file = join(scratch, `${randomUUID()}.pack`)
  const found = new Map<ObjectId, number>()
  try {
    const note = (id: ObjectId, object: GitObject) => {
      expect(hashOf(object, format) === id, 'an object came under the id of another')
      expect(/^(?:commit|tree|blob|tag)$/.test(object.type), 'an object is of no type')
      found.set(id, object.bytes.length)
    }
    // Half of them with objects that are too large to be held.
    const limits = { objects: 10_000, objectBytes: bytes.length % 2 === 0 ? OBJECT_BYTES : 400 }
    using reader = await PackReader.receive(pieces(bytes), file, { format, limits }, note)
    for (const [id, length] of found) {
      expect(reader.read(id)?.bytes.length === length, 'an object is lost')
      expect(!reader.isTooLarge(id), 'an object is there and too large')
    }
  } finally {
    rmSync(file, { force: true })
  }
}

/** In pieces of a size that differs from input to input, but not from time to time. */
async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  const size = 1 + ((bytes.length * 7919) % 5000)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function hashOf({ type, bytes }: GitObject, format: ObjectFormat): string {
  return createHash(format).update(`${type} ${bytes.length}\0`).update(bytes).digest('hex')
}

/** An error of ours, for a reason that lies in the bytes: not one that hides a fault of the program, as what the engine throws. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof Malformed || error instanceof BadArchive || error instanceof Unproven) return true
  if (!(error instanceof SyncError)) return false
  const { cause } = error
  if (cause === undefined || cause instanceof Malformed || cause instanceof SyncError) return true
  return cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_')
}
