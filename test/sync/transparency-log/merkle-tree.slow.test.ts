import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { appended, EMPTY_EDGE, pathAfter } from '../../../src/sync/transparency-log/log-edge.ts'
import {
  EMPTY_ROOT,
  consistencyProof,
  inclusionProof,
  isConsistent,
  isIncluded,
  leafHash,
  nodeHash,
  treeRoot,
} from '../../../src/sync/transparency-log/merkle-tree.ts'
import type { ReadHash } from '../../../src/sync/transparency-log/merkle-tree.ts'

/** The definition of RFC 6962, section 2.1, as it is written there. */
function definedRoot(entries: readonly Uint8Array[]): Uint8Array {
  const [only] = entries
  if (only === undefined) return createHash('sha256').digest()
  if (entries.length === 1) return leafHash(only)
  let split = 1
  while (split * 2 < entries.length) split *= 2
  return nodeHash(definedRoot(entries.slice(0, split)), definedRoot(entries.slice(split)))
}

function readerOf(entries: readonly Uint8Array[]): ReadHash {
  return async ({ level, index }) => definedRoot(entries.slice(index * 2 ** level, (index + 1) * 2 ** level))
}

/** Entries and roots of the reference tests of Certificate Transparency. */
const REFERENCE = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

test.each(ROOTS.map((root, size) => [size, root] as const))(
  'the root of %i entries is the known one',
  async (size, root) => {
    const entries = REFERENCE.slice(0, size).map((hex) => Buffer.from(hex, 'hex'))

    expect(Buffer.from(await treeRoot(size, readerOf(entries))).toString('hex')).toBe(root)
  },
)

const ENTRIES = Array.from({ length: 70 }, (_, index) => Buffer.from(`entry ${index}`))
const READ = readerOf(ENTRIES)
const root = (size: number): Uint8Array => definedRoot(ENTRIES.slice(0, size))

test('every entry of every tree is shown to be in it, and in no other place', async () => {
  for (let size = 1; size <= ENTRIES.length; size += 1) {
    for (let index = 0; index < size; index += 1) {
      const proof = await inclusionProof(index, size, READ)
      const inclusion = { leaf: leafHash(ENTRIES[index]!), index, size, root: root(size) }
      expect(isIncluded(inclusion, proof)).toBe(true)
      expect(isIncluded({ ...inclusion, index: (index + 1) % (size + 1) }, proof)).toBe(false)
      expect(isIncluded({ ...inclusion, leaf: leafHash(Buffer.from('another')) }, proof)).toBe(false)
      expect(isIncluded(inclusion, [...proof, root(1)])).toBe(false)
      expect(isIncluded(inclusion, proof.slice(0, -1))).toBe(proof.length === 0)
    }
  }
})

test('the edge before an entry is its path in the tree that ends with it', async () => {
  let edge = EMPTY_EDGE
  for (const [index, entry] of ENTRIES.entries()) {
    expect(pathAfter(edge)).toEqual(await inclusionProof(index, index + 1, READ))
    edge = appended(edge, [entry])
  }
})

test('every tree is shown to begin with every smaller one', async () => {
  for (let size = 0; size <= ENTRIES.length; size += 1) {
    for (let from = 0; from <= size; from += 1) {
      const proof = await consistencyProof(from, size, READ)
      const [old, next] = [
        { size: from, root: root(from) },
        { size, root: root(size) },
      ]
      expect(isConsistent(old, next, proof), `${from} to ${size}`).toBe(true)
      const other = { ...old, root: leafHash(Buffer.from('fork')) }
      expect(isConsistent(other, next, proof), `fork of ${from} to ${size}`).toBe(false)
      // The empty tree is the beginning of any other.
      expect(isConsistent(old, { ...next, root: leafHash(Buffer.from('fork')) }, proof)).toBe(from === 0 && size > 0)
      expect(isConsistent(next, old, proof)).toBe(from === size)
    }
  }
})

test('no proof that is changed, shortened or lengthened is accepted', async () => {
  const size = fc.integer({ min: 2, max: ENTRIES.length })
  await fc.assert(
    fc.asyncProperty(size, fc.nat(), fc.nat(), fc.nat(255), async (size, of, at, bits) => {
      const from = 1 + (of % (size - 1))
      const proof = await consistencyProof(from, size, READ)
      const [old, next] = [
        { size: from, root: root(from) },
        { size, root: root(size) },
      ]
      const changed = proof.map((hash, index) =>
        index === at % proof.length
          ? Buffer.from(hash.map((byte, place) => (place === 3 ? byte ^ (bits || 1) : byte)))
          : hash,
      )
      expect(isConsistent(old, next, changed)).toBe(false)
      expect(isConsistent(old, next, proof.slice(1))).toBe(false)
      expect(isConsistent(old, next, [...proof, EMPTY_ROOT])).toBe(false)
    }),
  )
})
