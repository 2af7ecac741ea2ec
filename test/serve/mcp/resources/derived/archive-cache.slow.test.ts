import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gzipBytes } from '../../../../../src/serve/mcp/resources/derived/deflate.ts'
import { tarOf, ustarNameOf } from '../../../../../src/serve/mcp/resources/derived/tar.ts'
import type { ArchiveEntry } from '../../../../../src/serve/mcp/resources/derived/tar.ts'
import { zipOf } from '../../../../../src/serve/mcp/resources/derived/zip.ts'
import { untar, unzip } from '../../../../support/http/unpack.ts'
import type { Member } from '../../../../support/http/unpack.ts'

const KINDS = {
  'tar.gz': { pack: async (entries: readonly ArchiveEntry[]) => gzipBytes(tarOf(entries)), unpack: untar },
  zip: { pack: async (entries: readonly ArchiveEntry[]) => zipOf(entries, 'deflated'), unpack: unzip },
  'stored zip': { pack: async (entries: readonly ArchiveEntry[]) => zipOf(entries, 'stored'), unpack: unzip },
} as const

/** Longer than what is deflated at once, so that one block refers to what another held. */
const LONG = Buffer.from(Array.from({ length: 20_000 }, (_, index) => `line ${index} of many\n`).join(''))

const SAMPLE: readonly ArchiveEntry[] = [
  entry('SKILL.md', '---\nname: sample\n---\n'),
  entry('empty.txt', ''),
  entry('long.txt', LONG),
  entry('notes/100% ünï\u{1F600}.md', 'a name that is not ASCII\n'),
  entry('scripts/run.py', '#!/usr/bin/env python3\n', true),
]

describe.each(['tar.gz', 'zip', 'stored zip'] as const)('a %s', (format) => {
  const { pack, unpack } = KINDS[format]

  test('gives a reader that is not ours the same files, bytes and modes', async () => {
    const law = fc.asyncProperty(ENTRIES, async (entries) => {
      expect(await unpack(await pack(entries))).toEqual(new Map(entries.map(memberOf)))
    })

    await fc.assert(law, { numRuns: 15, examples: [[[...SAMPLE]], [[]]] })
  })

  // What these are on one machine they have to be on each, with whatever zlib its Node has.
  test('has the same bytes for the same files on every machine', async () => {
    const digest = createHash('sha256')
      .update(await pack(SAMPLE))
      .digest('hex')

    expect(digest).toBe(GOLDEN[format])
  })
})

test('a zip tells of no time', async () => {
  const archive = await zipOf(SAMPLE, 'deflated')

  // oxlint-disable-next-line no-control-regex -- signatures have them
  const times = [...archive.toString('latin1').matchAll(/PK(?:\x03\x04.{6}|\x01\x02.{8})(.{4})/gs)]
  expect(new Set(times.map(([, time]) => time))).toEqual(new Set(['\x00\x00\x21\x00']))
  expect(times).toHaveLength(2 * SAMPLE.length)
})

test('a tar.gz tells of no time, no user and no system', async () => {
  const archive = await gzipBytes(tarOf(SAMPLE))

  const header = gunzipSync(archive).subarray(0, 512).toString('latin1')
  expect(archive.subarray(0, 10)).toEqual(Buffer.from([31, 139, 8, 0, 0, 0, 0, 0, 0, 255]))
  expect(header.slice(108, 124)).toBe('0000000\x000000000\x00')
  expect(header.slice(136, 148)).toBe('00000000000\x00')
  expect(header.slice(257, 329)).toBe(`ustar\x0000${'\x00'.repeat(64)}`)
})

describe('the name of a file in a tar archive', () => {
  const [a, b] = [(count: number) => 'a'.repeat(count), (count: number) => 'b'.repeat(count)]

  test.each([
    ['of 100 bytes needs no prefix', b(100), '', b(100)],
    ['of 256 bytes is cut at the one slash where it can be', `${a(155)}/${b(100)}`, a(155), b(100)],
    ['is cut at the first slash that leaves a name short enough', `x/${b(60)}/${b(60)}`, `x/${b(60)}`, b(60)],
    ['is measured in bytes', `x/${'ü'.repeat(50)}`, 'x', 'ü'.repeat(50)],
  ])('%s', (_, path, prefix, name) => {
    expect(ustarNameOf(path)).toEqual({ prefix: Buffer.from(prefix), name: Buffer.from(name) })
  })

  test.each([
    ['of 101 bytes without a slash', b(101)],
    ['whose last part is too long', `a/${b(101)}`],
    ['whose folders are too long', `${a(156)}/b`],
    ['of 256 bytes without a slash in the right place', `${a(100)}/${a(60)}/${b(94)}`],
  ])('%s cannot be held', (_, path) => {
    expect(ustarNameOf(path)).toBeUndefined()
  })
})

const GOLDEN = {
  'tar.gz': '07a69137d3130fe066989b743f6407cf47c187232b853fb770f1d8b6400c6875',
  zip: 'b82cbae4137613ce05aa51066d886b46a2a8c9fc59d2d3f4e77cbe037906f59c',
  'stored zip': 'd5c3bfb23472f42a9939d8373f6e49d89bc593c3482f4aa88b7e2e083e34377f',
}

function entry(path: string, content: string | Buffer, executable = false): ArchiveEntry {
  return { path, executable, bytes: Buffer.from(content) }
}

function memberOf({ path, executable, bytes }: ArchiveEntry): [string, Member] {
  return [path, { bytes: Buffer.from(bytes), mode: executable ? '755' : '644' }]
}

/** No path lies below another, and none is too long. */
const ENTRIES = fc
  .uniqueArray(
    fc.tuple(fc.constantFrom('', 'd/', 'd/e/', `${'l'.repeat(90)}/`), fc.stringMatching(/^[a-zü ]{1,40}x$/)),
    {
      maxLength: 12,
      selector: ([, name]) => name,
    },
  )
  .chain((paths) =>
    fc.tuple(
      ...paths.map(([folder, name]) =>
        fc.record({
          path: fc.constant(`${folder}f${name}`),
          executable: fc.boolean(),
          bytes: fc.oneof(fc.uint8Array({ maxLength: 1200 }), fc.constant(LONG)).map((bytes) => Buffer.from(bytes)),
        }),
      ),
    ),
  )
