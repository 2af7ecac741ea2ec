import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { comparePaths, digestOf, inPathOrder, type DigestedFile } from '../../../src/sync/model/digest.ts'

interface Vector {
  readonly name: string
  readonly files: readonly { readonly path: string; readonly executable: boolean; readonly text: string }[]
  readonly digest: string
}

const DOCUMENT = await readFile(new URL('../../../docs/protocol.md', import.meta.url), 'utf8')
const VECTORS: readonly Vector[] = JSON.parse(/^```json\n(.*?)^```$/ms.exec(DOCUMENT)?.[1] ?? '[]')

/** Code points, so that no half surrogate appears: a path is valid Unicode before it gets here. */
const path = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })
const sha256 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))
const file = fc.record<DigestedFile>({ path, executable: fc.boolean(), size: fc.maxSafeNat(), sha256 })
const files = fc.uniqueArray(file, { minLength: 1, maxLength: 8, selector: (each) => each.path })

describe('the specification', () => {
  test('holds at least five vectors, a name each', () => {
    const names = new Set(VECTORS.map(({ name }) => name))

    expect(names.size).toBe(VECTORS.length)
    expect(names.size).toBeGreaterThanOrEqual(5)
  })

  test.each(VECTORS)('is met for $name', ({ files, digest }) => {
    const digested = files.map(({ path, executable, text }) => {
      const bytes = Buffer.from(text)
      return { path, executable, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
    })

    expect(digestOf(digested)).toBe(digest)
  })

  test('has a vector whose order differs between raw bytes and UTF-16', () => {
    const differs = VECTORS.filter(({ files }) => {
      const paths = files.map((each) => each.path)
      return paths.toSorted().join('\0') !== paths.toSorted(comparePaths).join('\0')
    })

    expect(differs).toHaveLength(1)
  })
})

test('paths are in the order of their UTF-8 bytes, on both sides of the surrogates and with them', () => {
  const unit = fc.constantFrom('a', 'b', '/', '\u00e9', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}')
  const path = fc.string({ unit, maxLength: 5 })

  fc.assert(
    fc.property(path, path, (a, b) => {
      expect(comparePaths(a, b)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
    }),
  )
})

describe('the digest', () => {
  test('does not depend on the order in which the files are given', () => {
    const shuffled = files.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    )

    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        expect(digestOf(other)).toBe(digestOf(list))
      }),
    )
  })

  test('changes with any path, flag, size or byte of any file', () => {
    const changed = fc.tuple(files, file, fc.nat(), fc.constantFrom('path', 'executable', 'size', 'sha256'))

    fc.assert(
      fc.property(changed, ([list, other, at, field]) => {
        const index = at % list.length
        const old = list[index]!
        const value = field === 'executable' ? !old.executable : other[field]
        fc.pre(value !== old[field] && !(field === 'path' && list.some((each) => each.path === value)))
        const next = list.with(index, { ...old, [field]: value })

        expect(digestOf(next)).not.toBe(digestOf(list))
      }),
    )
  })

  test('changes with every file that is added', () => {
    fc.assert(
      fc.property(files, file, (list, added) => {
        fc.pre(!list.some((each) => each.path === added.path))

        expect(digestOf([...list, added])).not.toBe(digestOf(list))
      }),
    )
  })

  test('is taken over bytes from which the list can be read back, so no two lists share them', () => {
    fc.assert(
      fc.property(files, (list) => {
        const input = inputOf(list)

        expect(createHash('sha256').update(input).digest('hex')).toBe(digestOf(list))
        expect(listIn(input)).toEqual(inPathOrder(list))
      }),
    )
  })

  test('orders paths as their UTF-8 bytes compare', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), path, path, (start, a, b) => {
        const [one, other] = [start + a, start + b]

        expect(comparePaths(one, other)).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)))
      }),
    )
  })
})

const DOMAIN = Buffer.from('skillsyncd skill v1\0')

function inputOf(list: readonly DigestedFile[]): Buffer {
  const entries = list
    .toSorted((a, b) => Buffer.from(a.path).compare(Buffer.from(b.path)))
    .map((each) => {
      const name = Buffer.from(each.path)
      const entry = Buffer.alloc(5 + name.length + 8)
      entry[0] = each.executable ? 1 : 0
      entry.writeUInt32BE(name.length, 1)
      name.copy(entry, 5)
      entry.writeBigUInt64BE(BigInt(each.size), 5 + name.length)
      return Buffer.concat([entry, Buffer.from(each.sha256, 'hex')])
    })
  return Buffer.concat([DOMAIN, ...entries])
}

function listIn(input: Buffer): DigestedFile[] {
  const list: DigestedFile[] = []
  for (let at = DOMAIN.length; at < input.length;) {
    const end = at + 5 + input.readUInt32BE(at + 1)
    list.push({
      path: input.toString('utf8', at + 5, end),
      executable: input[at] === 1,
      size: Number(input.readBigUInt64BE(end)),
      sha256: input.toString('hex', end + 8, end + 40),
    })
    at = end + 40
  }
  return list
}
